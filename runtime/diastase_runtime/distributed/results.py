"""Results of chunks, as one: each array joined to the next along the first axis.

In: the parts that chunks have given, in their order. Out: the pytree of a result with one more
axis; with two, of elements and repetitions, where there are repetitions. Counts of circuits are
lists, of lists where there are repetitions. Named tuples are of the user's classes, where whoever
waits for the results knows them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_runtime.distributed.elements import Part, Work, unequal
from diastase_runtime.saved.pytrees import builder


def joined(work: Work, parts: Sequence[Part], classes: Sequence[Callable[..., Any]] = ()) -> Any:
    """The results of all elements."""
    leaves = [_joined(work, number, parts) for number in range(len(parts[0].leaves))]
    if work.repeats > 1:
        leaves = [leaf.reshape(-1, work.repeats, *leaf.shape[1:]) for leaf in leaves]
    return builder(work.results, classes)(leaves)


def _joined(work: Work, number: int, parts: Sequence[Part]) -> np.ndarray:
    first = parts[0].leaves[number]
    if len(parts) == 1:
        return first
    for part in parts:
        other = part.leaves[number]
        if (other.dtype, other.shape[1:]) != (first.dtype, first.shape[1:]):
            raise unequal(work, number, part.first // work.repeats, first, other[0])
    return np.concatenate([part.leaves[number] for part in parts])
