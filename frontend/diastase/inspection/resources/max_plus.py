"""Matrices over (max, +): how long what follows depends on what comes before.

Rows and columns are lanes, on which operations wait for each other; an entry is the longest way
from the lane of its column, before, to that of its row, after, or `NEVER` where there is no way.
Lane 0, the beginning of the circuit, is one that nothing happens on. A composition is a product of
matrices and a loop a power, by repeated squaring: a loop of 10^9 turns takes 30 products.

    F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, "Synchronization and Linearity", Wiley 1992

Entries are 64-bit integers, or objects where they may be longer, or have symbols (`lengths`).

The n-th power, for a symbol n, is found where the growth is uniform: where M^(k+1) = M^k + d for a
small k, in each group of lanes that wait for each other, M^n = M^k + (n - k) d.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from diastase.inspection.resources.interpretation.exact import Number
from diastase.inspection.resources.lengths import Length, longest, number_of, times

NEVER = -(2**62)
_LIMIT = 2**60
"""Lengths of ways from which on numbers of Python's are needed."""
_TRANSIENT = 4
"""Powers that are looked at for uniform growth."""

Matrix = np.ndarray[Any, Any]
Entry = Length | int


def identity(size: int) -> Matrix:
    """Nothing happens."""
    matrix = np.full((size, size), NEVER, np.int64)
    np.fill_diagonal(matrix, 0)
    return matrix


def grown(matrix: Matrix, size: int) -> Matrix:
    """A matrix for more lanes, to which nothing happens."""
    wider = identity(size).astype(matrix.dtype)
    wider[: len(matrix), : len(matrix)] = matrix
    return wider


def product(later: Matrix, earlier: Matrix) -> Matrix:
    """What happens in one region and then in another one."""
    if object not in (later.dtype, earlier.dtype):
        found = np.stack([(row[:, None] + earlier).max(axis=0) for row in later])
        return np.where(found < -_LIMIT, NEVER, found)
    found = np.full((len(later), earlier.shape[1]), NEVER, object)
    sources = [_ways(row) for row in earlier]
    for place, row in enumerate(later):
        best: dict[int, list[Entry]] = {}
        for middle, length in _ways(row):
            for column, before in sources[middle]:
                best.setdefault(column, []).append(length + before)
        for column, lengths in best.items():
            found[place, column] = longest(lengths)
    return found


def _ways(row: Iterable[Any]) -> list[tuple[int, Entry]]:
    """Where there are ways, and how long."""
    return [(place, _plain(each)) for place, each in enumerate(row) if not _is_never(each)]


def ways(matrix: Matrix) -> list[Entry]:
    """All lengths of a matrix."""
    return [length for _, length in _ways(matrix.flat)]


def _plain(entry: Any) -> Entry:
    return int(entry) if isinstance(entry, np.integer) else entry


def _is_never(entry: Any) -> bool:
    return not isinstance(entry, Length) and entry <= -_LIMIT


def maximum(matrices: Sequence[Matrix]) -> Matrix:
    """The longest ways of several regions."""
    if all(matrix.dtype != object for matrix in matrices):
        return np.maximum.reduce(list(matrices))
    found = np.full(matrices[0].shape, NEVER, object)
    for place in np.ndindex(*found.shape):
        lengths = [length for _, length in _ways(matrix[place] for matrix in matrices)]
        found[place] = longest(lengths) if lengths else NEVER
    return found


def minimum(matrices: Sequence[Matrix]) -> Matrix:
    """The shortest ways of several regions, or no longer ones."""
    found = matrices[0]
    for matrix in matrices[1:]:
        if object not in (found.dtype, matrix.dtype):
            found = np.minimum(found, matrix)
        else:  # of lengths that nothing orders, those that have none in common are left out
            found = np.where(found == matrix, found, identity(len(matrix)))
    return found


def lengthened(matrix: Matrix, length: int) -> Matrix:
    """All ways longer."""
    return matrix + length if matrix.dtype != object else _mapped(matrix, lambda e: e + length)


def power(matrix: Matrix, count: int) -> Matrix:
    """A region as many times."""
    if matrix.dtype != object and int(matrix.max(initial=0)) * count >= _LIMIT:
        matrix = matrix.astype(object)
    result = identity(len(matrix)).astype(matrix.dtype)
    while count:
        if count & 1:
            result = product(matrix, result)
        count >>= 1
        if count:
            matrix = product(matrix, matrix)
    return result


def symbolic_power(matrix: Matrix, count: Number) -> tuple[Matrix, int | None]:
    """A region `count` times, where only a symbol is known of it.

    Second, from which count on that is exact; of smaller ones, or where that is None of all, it is
    an upper bound.
    """
    found, start = identity(len(matrix)).astype(object), 0
    for group in _groups(matrix):
        places = np.ix_([0, *group], [0, *group])
        found[places], own = _power_of_group(matrix[places], count)
        start = None if start is None or own is None else max(start, own)
    return found, start


def _power_of_group(matrix: Matrix, count: Number) -> tuple[Matrix, int | None]:
    before = identity(len(matrix)).astype(matrix.dtype)
    powers = [before]
    for k in range(_TRANSIENT + 1):
        present = product(matrix, before)
        growth = _uniform_growth(before, present)
        if growth is not None:
            added = times(growth, count, k)
            many = _mapped(before, lambda e, more=added: e + more)
            return at_least_nothing(maximum([many, *powers[1:k]])), k
        before = present
        powers.append(before)
    # No turn is longer than the longest way through one.
    return spread(before, times(longest(ways(matrix)), count)), None


def _uniform_growth(before: Matrix, after: Matrix) -> Entry | None:
    """By how much all ways grow, but for that of the beginning; None where they differ."""
    growths = set[Entry]()
    for one, other in zip(before[1:].flat, after[1:].flat, strict=True):
        if _is_never(one) != _is_never(other):
            return None
        if not _is_never(one):
            growths.add(Length.of(number_of(_plain(other)) - number_of(_plain(one))))
    return growths.pop() if len(growths) == 1 else None


def spread(matrix: Matrix, length: Entry) -> Matrix:
    """The ways of a matrix, each as long as that."""
    return at_least_nothing(_mapped(matrix, lambda entry: length))


def at_least_nothing(matrix: Matrix) -> Matrix:
    """A matrix in which no lane goes back, and nothing happens to the beginning."""
    matrix[0] = identity(len(matrix))[0]
    for place in range(1, len(matrix)):
        own = matrix[place, place]
        matrix[place, place] = 0 if _is_never(own) else longest([0, own])
    return matrix


def _mapped(matrix: Matrix, function: Callable[[Entry], Entry]) -> Matrix:
    found = np.full(matrix.shape, NEVER, object)
    for place in np.ndindex(*matrix.shape):
        if not _is_never(matrix[place]):
            found[place] = function(_plain(matrix[place]))
    return found


def _groups(matrix: Matrix) -> list[list[int]]:
    """Lanes that wait for each other, in one direction at least."""
    linked = np.array([[not _is_never(entry) for entry in row] for row in matrix])
    linked |= linked.T
    left, groups = set(range(1, len(matrix))), list[list[int]]()
    while left:
        group, waiting = set[int](), [min(left)]
        while waiting:
            lane = waiting.pop()
            if lane and lane not in group:
                group.add(lane)
                waiting += [int(other) for other in np.flatnonzero(linked[lane])]
        left -= group
        groups.append(sorted(group))
    return groups
