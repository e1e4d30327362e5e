"""Index expressions `a[...]` with traced bounds and steps, and writing at such places."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import ShapedArray, Tracer, max_dim, min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays, fit_axis, is_dynamic
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import deciding, is_symbolic, lower_bound, nesting_depth


def _index(_: DimensionTable, original: Original, array: Any, index: Any, **keywords: Any) -> Any:
    """`a[3, -1]`: the equations that JAX makes, without the search for them.

    Circuits written out have thousands of such positions; anything else is JAX's.
    """
    positions = index if type(index) is tuple else (index,)
    if keywords or not _are_plain(array, positions):
        return original(array, index, **keywords)
    rest = array.shape[len(positions) :]
    starts = [
        position + size if position < 0 else position
        for position, size in zip(positions, array.shape, strict=False)
    ]
    part = array
    if any(size != 1 for size in array.shape[: len(positions)]):
        part = lax.slice_p.bind(
            array,
            start_indices=(*starts, *(0 for _ in rest)),
            limit_indices=(*(start + 1 for start in starts), *rest),
            strides=None,
        )
    return lax.squeeze_p.bind(part, dimensions=tuple(range(len(starts))))


def _are_plain(array: Any, positions: Sequence[Any]) -> bool:
    """Whether an array that is traced is read at numbers that lie inside of it."""
    if not isinstance(array, Tracer) or type(array.aval) is not ShapedArray:
        return False
    shape = array.aval.shape
    return (
        0 < len(positions) <= len(shape)
        and isinstance(array.aval.dtype, np.dtype)
        and array.aval.sharding.mesh.empty
        and all(type(size) is int for size in shape)
        and all(
            type(position) is int and -size <= position < size
            for position, size in zip(positions, shape, strict=False)
        )
    )


def _indices(table: DimensionTable, original: Original, indices: Sequence[Any], shape: Any) -> Any:
    """The index expressions of `a[...]`: sizes are positions, traced slice bounds are sizes."""
    return original(tuple(_over_sizes(table, index) for index in indices), shape)


def _over_sizes(table: DimensionTable, index: Any) -> Any:
    if is_symbolic(index) or _is_list_of_traced(index):
        return jnp.asarray(index)
    if not isinstance(index, slice):
        return index
    parts = (index.start, index.stop, index.step)
    return slice(*(table.of(part) if is_size_like(part) else part for part in parts))


def _is_list_of_traced(index: Any) -> bool:
    """Whether an index is a list, in any nesting, with traced numbers in it: an array."""
    is_list = isinstance(index, list | tuple)
    return is_list and any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(index))


def _slice(table: DimensionTable, original: Original, index: slice, size: Any) -> Any:
    """Python's slice bounds over a size, as `(start, step, size of the result)`.

    `a[k:]` and `a[:-k]` both have the size `max(0, n - k)`, so that they can be subtracted.
    """
    step = 1 if index.step is None else index.step
    if not is_dynamic((index.start, index.stop, step, size)):
        return original(index, size)
    if is_symbolic(step):
        return _slice_of_any_step(table, index, step, size)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        start, stop = _bound(table, index.start, 0, size), _bound(table, index.stop, size, size)
        length = _length(table, start, stop)
        # The start of an empty result must lie inside the array, too.
        return min_dim(start, size), step, (length + step - 1) // step
    # Bounds count one more than the positions, from 0 (before the first) to the size.
    start = size if index.start is None else _bound_backwards(table, index.start, size)
    stop = 0 if index.stop is None else _bound_backwards(table, index.stop, size)
    length = _length(table, stop, start)
    return start - 1, step, (length - step - 1) // -step


MOST_DEEP = 2
"""`max`, `min` and divisions inside of one another in a size. To decide about it takes a time that
is a power of their number; beyond, the run says what the size is, and a symbol stands for it."""


def _bound(table: DimensionTable, bound: Any, default: Any, size: Any) -> Any:
    """A slice bound counted from the front: from 0 to `size`, a constant start unlimited."""
    if bound is None:
        return default
    if not is_symbolic(bound):
        bound = operator.index(bound)
    if default == 0 and not is_symbolic(bound) and bound >= 0:
        return bound
    if max(map(nesting_depth, (bound, size))) >= MOST_DEEP:
        return _counted(table, bound, size)
    if lower_bound(bound) >= 0:
        return min_dim(bound, size)
    if lower_bound(-bound) > 0:
        return max_dim(0, size + bound)
    # The sign is not known, so Python's rule is computed at run time.
    value, length = jnp.asarray(bound), jnp.asarray(size)
    counted = jnp.clip(jnp.where(value < 0, value + length, value), 0, length)
    return table.of(counted)


def _counted(table: DimensionTable, bound: Any, size: Any, more: int = 0) -> Any:
    """A symbol for a slice bound and `more`, of which nothing is known but that it is a size."""
    value, length = jnp.asarray(bound), jnp.asarray(size)
    value = jnp.where(value < 0, value + length, value) + more
    return _symbol(table, jnp.where(value < length, value, length))


def _length(table: DimensionTable, first: Any, beyond: Any) -> Any:
    """The size of a slice between two bounds, which are sizes."""
    distance = beyond - first
    if nesting_depth(distance) < MOST_DEEP:
        return max_dim(0, distance)
    is_all = not is_symbolic(first) and first == 0
    return beyond if is_all else _symbol(table, jnp.asarray(distance))


def _symbol(table: DimensionTable, value: Any) -> Any:
    """A symbol for a number, or for 0 where it is negative."""
    symbol = table.of(jnp.where(value < 0, 0, value))  # to which `where` is not followed
    table.scope.learn_not_negative(symbol, everywhere=True)
    return symbol


def _bound_backwards(table: DimensionTable, bound: Any, size: Any) -> Any:
    """A bound of a slice with a negative step, plus one: from 0 to `size`."""
    if not is_symbolic(bound):
        bound = operator.index(bound)
    if max(map(nesting_depth, (bound, size))) >= MOST_DEEP:
        return _counted(table, bound, size, more=1)
    if lower_bound(bound) >= 0:
        return min_dim(bound + 1, size)
    if lower_bound(-bound) > 0:
        return max_dim(0, size + bound + 1)
    value, length = jnp.asarray(bound), jnp.asarray(size)
    return table.of(jnp.clip(jnp.where(value < 0, value + length, value) + 1, 0, length))


def _slice_of_any_step(table: DimensionTable, index: slice, step: Any, size: Any) -> Any:
    """A step whose sign only the run knows: Python's rules, computed there."""
    stride, length = jnp.asarray(step), jnp.asarray(size)
    table.demand(table.of(jnp.abs(stride)), 1)
    forwards = stride > 0

    def bound(given: Any, first: Any, last: Any) -> Any:
        if given is None:
            return jnp.where(forwards, first, last)
        value = jnp.asarray(given)
        value = jnp.where(value < 0, value + length, value)
        return jnp.where(forwards, jnp.clip(value, 0, length), jnp.clip(value, -1, length - 1))

    start, stop = bound(index.start, 0, length - 1), bound(index.stop, length, -1)
    distance = jnp.where(forwards, stop - start, start - stop)
    pace = jnp.maximum(jnp.abs(stride), 1)
    count = (jnp.maximum(distance, 0) + pace - 1) // pace
    return table.of(start), step, table.size(count)


def _index_to_gather(
    _: DimensionTable, original: Original, indexer: Any, *args: Any, **keywords: Any
) -> Any:
    """Positions of a traced step are gathered as they come, whatever its sign."""
    slices = [entry.index for entry in indexer.indices if isinstance(entry.index, slice)]
    steps = [index.step for index in slices if is_symbolic(index.step)]
    if not steps:
        return original(indexer, *args, **keywords)
    with deciding(lambda left, right: True):
        gather = original(indexer, *args, **keywords)
    return gather._replace(indices_are_sorted=False)


@dataclass(frozen=True)
class _Prepared:
    """What `_scatter_impl` builds from its indices, built before: in the place of a tree."""

    gather: Any

    def unflatten(self, _: Any) -> "_Prepared":
        return self

    def to_gather(self, *_: Any, **__: Any) -> Any:
        return self.gather


def _scatter(
    table: DimensionTable,
    original: Original,
    x: Any,
    y: Any,
    dynamic_idx: Any,
    *,
    treedef: Any,
    normalize_indices: bool,
    **keywords: Any,
) -> Any:
    """`a.at[...].set(y)`: that `y` has the size of the place is checked at run time."""
    indexer = treedef.unflatten(dynamic_idx)
    gather = indexer.to_gather(x.aval.sharding, normalize_indices=normalize_indices)
    shape = tuple(gather.slice_shape)
    if is_dynamic((*shape, *y.shape)) and y.ndim <= len(shape):
        for axis in range(-y.ndim, 0):
            y = fit_axis(table, y, axis, shape[axis])
    return original(
        x, y, dynamic_idx, treedef=_Prepared(gather), normalize_indices=normalize_indices,
        **keywords,
    )  # fmt: skip


OVERLAYS: Overlays = {
    "index": _index,
    "indices": _indices,
    "slice": _slice,
    "index_to_gather": _index_to_gather,
    "scatter": _scatter,
}
