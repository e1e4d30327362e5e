"""Batches: pytrees of arrays whose first axes are equally long.

In: the batches of a call of `map`, one for each argument of the function. Out: a `Batch`: the
structure of the function's arguments, and a column for each leaf, whose entries are the leaf's
values. Arrays of JAX's become NumPy's without a copy where they are on the CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diastase_runtime.distributed.errors import BatchError
from diastase_runtime.saved.pytrees import Structure, flatten, leaf_names
from diastase_runtime.saved.serving import as_array

_NO_NUMBERS = "OUSMm"
"""Kinds of dtypes: objects, texts, bytes, times."""

Leaves = Sequence[np.ndarray]


@dataclass(frozen=True)
class Batch:
    """What the elements are."""

    structure: Structure
    """Of `(args, kwargs)` of one call."""
    columns: tuple[np.ndarray, ...]
    length: int

    def element(self, index: int) -> list[np.ndarray]:
        """The leaves of one element, as views."""
        return element(self.columns, index)

    def copied(self) -> "Batch":
        """The same on memory of its own, which nobody writes."""
        return Batch(self.structure, tuple(map(_copied, self.columns)), self.length)

    def of_dtypes(self, convert: Callable[[np.dtype], Any]) -> "Batch":
        """The same with other dtypes, where `convert` has others."""
        columns = [column.astype(convert(column.dtype), copy=False) for column in self.columns]
        return Batch(self.structure, tuple(columns), self.length)


def element(columns: Leaves, index: int) -> list[np.ndarray]:
    """One entry of each column; of columns of numbers, arrays of rank 0."""
    return [column[index, ...] for column in columns]


def read_batch(batches: Sequence[Any]) -> Batch:
    """Look at what `map` was given."""
    leaves: list[Any] = []
    try:
        structure = flatten((tuple(batches), {}), leaves)
    except TypeError as error:
        raise BatchError(reason=f"its dictionaries have keys without an order: {error}") from None
    words = [f"batch {number}" for number in range(1, len(batches) + 1)]
    if len(words) == 1:
        words = ["the batch"]
    names = [
        name
        for word, part in zip(words, structure[-1][0][-1], strict=True)
        for name in leaf_names(word, part)
    ]
    columns = tuple(map(_column, names, leaves))
    if not columns:
        raise BatchError(reason="there is no array in it, so nothing says how many elements it has")
    length = columns[0].shape[0]
    for name, column in zip(names, columns, strict=True):
        if column.shape[0] != length:
            first = f"{names[0]} has {length} elements"
            raise BatchError(reason=f"{first}, {name} has {column.shape[0]}")
    if length == 0:
        raise BatchError(reason="it has no elements, so nothing says what the results are")
    return Batch(structure, columns, length)


def _copied(column: np.ndarray) -> np.ndarray:
    """A column that repeats one entry (`numpy.broadcast_to`) still takes the memory of one."""
    if column.strides[0] == 0:
        return np.broadcast_to(column[:1].copy(), column.shape)
    return column.copy()


def _column(name: str, leaf: Any) -> np.ndarray:
    if isinstance(leaf, np.ma.MaskedArray):
        raise BatchError(reason=f"{name} is a masked array, whose mask no program sees")
    try:
        column = as_array(leaf)
    except (TypeError, ValueError) as error:
        raise BatchError(reason=f"{name} is no array: {error}") from None
    kind: Any = column.dtype
    if kind.kind in _NO_NUMBERS:
        what = f"an array of {kind}" if column.shape else f"a {type(leaf).__name__}"
        raise BatchError(reason=f"{name} is {what}, not an array of numbers")
    if kind.char in "gG" or not kind.isnative or kind.type is np.void:
        raise BatchError(reason=f"{name} has dtype {kind}, which no program has: use .astype(...)")
    if not column.shape:
        raise BatchError(
            reason=f"{name} is a {type(leaf).__name__} without a first axis; what all elements "
            "share is bound, qjit(lambda x: f(x, 2)), and a list of numbers becomes an array, "
            "numpy.array(numbers)"
        )
    return column
