"""Index expressions `a[...]` with traced bounds."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax.core import max_dim, min_dim

from diastase.tracing.dimensions import DimensionTable, is_size_like
from diastase.tracing.hooks.overlay import Original, Overlay
from diastase_mlir.jax_internals import HookPoint, is_symbolic, lower_bound


def _indices(table: DimensionTable, original: Original, indices: Sequence[Any], shape: Any) -> Any:
    """The index expressions of `a[...]`: traced slice bounds become expressions over sizes."""
    return original(tuple(_over_sizes(table, index) for index in indices), shape)


def _over_sizes(table: DimensionTable, index: Any) -> Any:
    if not isinstance(index, slice):
        return index
    parts = (index.start, index.stop, index.step)
    return slice(*(table.of(part) if is_size_like(part) else part for part in parts))


def _slice(table: DimensionTable, original: Original, index: slice, size: Any) -> Any:
    """Python's slice bounds over a size, as `(start, step, size of the result)`.

    `a[k:]` and `a[:-k]` both have the size `max(0, n - k)`, so that they can be subtracted.
    """
    step = 1 if index.step is None else index.step
    symbolic = any(is_symbolic(part) for part in (index.start, index.stop, size))
    if not symbolic or is_symbolic(step) or step <= 0:
        return original(index, size)
    start, stop = _bound(table, index.start, 0, size), _bound(table, index.stop, size, size)
    length = max_dim(0, stop - start)
    # The start of an empty result must lie inside the array, too.
    return min_dim(start, size), step, (length + step - 1) // step


def _bound(table: DimensionTable, bound: Any, default: Any, size: Any) -> Any:
    """A slice bound counted from the front: from 0 to `size`, a constant start unlimited."""
    if bound is None:
        return default
    if not is_symbolic(bound):
        bound = operator.index(bound)
    if lower_bound(bound) >= 0:
        unlimited = default == 0 and not is_symbolic(bound)
        return bound if unlimited else min_dim(bound, size)
    if lower_bound(-bound) > 0:
        return max_dim(0, size + bound)
    # The sign is not known, so Python's rule is computed at run time.
    value, length = jnp.asarray(bound), jnp.asarray(size)
    counted = jnp.clip(jnp.where(value < 0, value + length, value), 0, length)
    return table.of(counted)


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "indices": _indices,
    "slice": _slice,
}
