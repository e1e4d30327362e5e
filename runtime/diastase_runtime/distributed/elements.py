"""A function on a range of elements, one after the other: each by a call of its own.

In: a loaded function, the columns of the range, and what there is to do. Out: for each result an
array with one more axis. An element is computed as it is by itself, by the same code from the same
bits; how elements are put together in ranges changes nothing.

Why no batched program: sums of vectors and of products of matrices are rounded by how many elements
there are and where in a vector they stand, so that results would depend on how the batch is cut.
A call takes some microseconds, of which docs/cluster.md has the figures.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from diastase_runtime.distributed.batches import Leaves, element
from diastase_runtime.distributed.errors import MappedElementError, UnequalResultsError
from diastase_runtime.distributed.seeds import element_seed
from diastase_runtime.distributed.threads import threads_at_once
from diastase_runtime.saved.function import Guarded, SavedFunction
from diastase_runtime.saved.manifest import LeafType
from diastase_runtime.saved.pytrees import Structure, builder, leaf_names


class Part(NamedTuple):
    """Results of consecutive calls: what the task of a chunk gives."""

    first: int
    """The number of the first call."""
    structure: Structure
    leaves: list[np.ndarray]
    """Each with one more axis than the result of a call has."""
    seconds: float
    """How long a call took."""

    def tree(self) -> Any:
        """The pytree of results, with one more axis; counts are lists, an entry for each call."""
        return builder(self.structure)(self.leaves)


class Work(NamedTuple):
    """What is to be done with each element; small, and sent with every chunk."""

    name: str
    """Of the function, in the user's words."""
    checksum: str
    """Of the function's file."""
    programs: tuple[int, ...]
    """Which serve the elements."""
    results: Structure
    seed: int
    repeats: int
    threads: int
    version: str
    """Of this package, where the work is given out."""


def run_range(
    function: SavedFunction,
    work: Work,
    columns: Leaves,
    first: int,
    count: int,
    *,
    told: Callable[[int], None] | None = None,
) -> Part:
    """Results of calls `first` to `first + count - 1`, stacked; `repeats` calls are of one element.

    The first entry of the columns is the element of the first call. `told` is called after each
    call with how many there have been.
    """
    calls = function.calls(work.programs)
    call = calls[0] if len(calls) == 1 else Guarded(calls)
    stack = _Stack(work, count)
    began = time.perf_counter()
    skipped = first // work.repeats
    with threads_at_once(work.threads, [each.executable.artifact for each in calls]):
        for number in range(first, first + count):
            index = number // work.repeats
            try:
                leaves = call.flat_results(
                    element(columns, index - skipped), element_seed(work.seed, number)
                )
            except Exception as error:
                raise MappedElementError(index=index, function=work.name, error=error) from error
            stack.put(number - first, index, leaves)
            if told is not None:
                told(number - first + 1)
    seconds = (time.perf_counter() - began) / count
    return Part(first, work.results, stack.columns, seconds)


class _Stack:
    """Results of the calls, one array for each."""

    def __init__(self, work: Work, count: int) -> None:
        self._work, self._count = work, count
        self.columns: list[np.ndarray] = []

    def put(self, place: int, index: int, leaves: Sequence[np.ndarray]) -> None:
        """Copy the results of a call to its place; the first call says how large they are."""
        if not self.columns:
            self.columns = [np.empty((self._count, *leaf.shape), leaf.dtype) for leaf in leaves]
        for number, leaf in enumerate(leaves):
            column = self.columns[number]
            if (column.dtype, column.shape[1:]) != (leaf.dtype, leaf.shape):
                raise unequal(self._work, number, index, column, leaf)
            column[place] = leaf


def unequal(
    work: Work, number: int, index: int, column: np.ndarray, other: np.ndarray
) -> UnequalResultsError:
    """The error of an element whose result is of another type than those before, in a column."""
    return UnequalResultsError(
        function=work.name,
        result=leaf_names("the result", work.results)[number],
        index=index,
        first=str(LeafType(str(column.dtype), column.shape[1:])),
        other=str(LeafType(str(other.dtype), other.shape)),
    )
