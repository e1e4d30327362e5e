"""Vectors made of elements of others, whose places are known now: a few slices, or a table.

Places that follow each other in equal steps are one slice. `put_into_places` is the way back, all
at once: to transpose the reading of each element would be an array of zeros for each.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

MOST_SLICES = 4
"""Of a vector; what would need more is read by a table."""
_MOST_LAYERS = 4
"""Numbers for one element; what has more is added up by a table."""


def _runs(places: np.ndarray) -> list[tuple[int, int, int]]:
    """`(first, step, length)` of stretches in equal steps; a place of -1 stands by itself."""
    steps = np.diff(places)
    runs: list[tuple[int, int, int]] = []
    begin, count = 0, len(places)
    changes = np.flatnonzero(np.diff(steps)) + 1
    borders = np.flatnonzero(np.diff(places < 0)) + 1  # 2, 1, 0, -1 is in equal steps, too.
    while begin < count:
        if begin == count - 1:
            runs.append((int(places[begin]), 1, 1))
            break
        later = changes[np.searchsorted(changes, begin, side="right") :]
        end = int(later[0]) + 1 if len(later) else count
        step = int(steps[begin])
        near = borders[np.searchsorted(borders, begin, side="right") :]
        if len(near) and near[0] < end:
            end = int(near[0])
        elif end - begin == 2 and end < count and int(steps[begin + 1]) != step:
            end, step = begin + 1, 1  # Two are no stretch yet: the next one may begin here.
        runs.append((int(places[begin]), step, end - begin))
        begin = end
    return runs


def picked(vector: Any, places: np.ndarray) -> Any:
    """`vector[places]`, zero where a place is negative; a few slices, or a table of places."""
    runs = _runs(places)
    if len(runs) > MOST_SLICES:
        return _by_table(vector, places)
    pieces = [_piece(vector, *run) for run in runs]
    return pieces[0] if len(pieces) == 1 else lax.concatenate(pieces, 0)


def _by_table(vector: Any, places: np.ndarray) -> Any:
    found = elements_at(vector, np.maximum(places, 0))
    if (places >= 0).all():
        return found
    return lax.select(jnp.asarray(places >= 0), found, jnp.zeros(len(places), vector.dtype))


def elements_at(vector: Any, places: Any) -> Any:
    """The elements at places, none of which is out of bounds: a table, or computed ones."""
    axes = lax.GatherDimensionNumbers((), (0,), (0,))
    indices = lax.expand_dims(places, (1,))
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.gather(vector, indices, axes, slice_sizes=(1,), mode=mode)


def added_at(total: Any, places: Any, values: Any, *, is_sorted: bool = False) -> Any:
    """A vector with values added to its elements at such places."""
    axes = lax.ScatterDimensionNumbers((), (0,), (0,))
    indices = lax.expand_dims(places, (1,))
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.scatter_add(total, indices, values, axes, indices_are_sorted=is_sorted, mode=mode)


def _piece(vector: Any, first: int, step: int, length: int) -> Any:
    if first < 0:
        return jnp.zeros(length, vector.dtype)
    if length == vector.size and step == 1:
        return vector
    if step == 0:
        return jnp.broadcast_to(lax.slice(vector, (first,), (first + 1,)), (length,))
    last = first + step * (length - 1)
    if step > 0:
        return lax.slice(vector, (first,), (last + 1,), (step,))
    return lax.rev(lax.slice(vector, (last,), (first + 1,), (-step,)), (0,))


def put_into_places(size: int, pieces: Sequence[tuple[np.ndarray, np.ndarray]], vector: Any) -> Any:
    """A vector of zeros to which elements of another are added: `(targets, sources)` of each."""
    targets = np.concatenate([target for target, _ in pieces])
    sources = np.concatenate([source for _, source in pieces])
    order = np.argsort(targets, kind="stable")
    targets, sources = targets[order], sources[order]
    counts = np.bincount(targets, minlength=size)
    most = int(counts.max())
    starts = np.cumsum(counts) - counts
    if size == 1:
        return jnp.sum(picked(vector, sources), keepdims=True)
    if most > _MOST_LAYERS:
        zeros = jnp.zeros(size, vector.dtype)
        return added_at(zeros, targets, picked(vector, sources), is_sorted=True)
    total = None
    for layer in range(most):
        has = counts > layer
        places = np.full(size, -1)
        places[has] = sources[starts[has] + layer]
        found = picked(vector, places)
        total = found if total is None else total + found
    return total
