"""Data-dependent output shapes: `bincount`, `repeat`, `delete`, `trim_zeros`, `split`."""

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from numpy.lib.array_utils import normalize_axis_tuple

from diastase.capture.jax_overlays.masks import positions_of
from diastase.capture.jax_overlays.overlay import (
    Original,
    Overlays,
    along,
    demand_inside,
    fit_axis,
    is_dynamic,
    require_equal,
)
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _bincount(
    table: DimensionTable,
    original: Original,
    x: Any,
    weights: Any = None,
    minlength: Any = 0,
    *,
    length: Any = None,
    **keywords: Any,
) -> Any:
    """Without a `length`, as long as the largest number needs."""
    x = jnp.asarray(x)
    if length is not None or x.ndim != 1 or not _is_integral(x):
        return original(x, weights, minlength, length=length, **keywords)
    if not isinstance(x, Tracer) and not is_size_like(minlength):
        return original(x, weights, minlength, **keywords)
    largest = jnp.max(x.astype(int), initial=-1)
    needed = jnp.where(jnp.asarray(x.shape[0]) > 0, jnp.maximum(largest, 0) + 1, 0)
    length = table.size(jnp.maximum(needed, jnp.asarray(minlength)))
    return original(x, weights, length=length, **keywords)


def _is_integral(x: Any) -> bool:
    return x.dtype == bool or jnp.issubdtype(x.dtype, jnp.integer)


def _repeat(
    table: DimensionTable, original: Original, repeats: Any, array: Any, **keywords: Any
) -> Any:
    """A traced number of repeats, the same for all elements, is a size; or the sum of several."""
    if is_size_like(repeats):
        return original(table.size(repeats), array, **keywords)
    axis, total = keywords["axis"], keywords.get("total_repeat_length")
    dynamic = isinstance(repeats, Tracer) or is_dynamic(np.shape(array))
    if np.ndim(repeats) == 0 or np.ndim(array) == 0 or total is not None or not dynamic:
        return original(repeats, array, **keywords)
    array, axis = along(array, axis)
    repeats = fit_axis(table, jnp.ravel(jnp.asarray(repeats)), 0, array.shape[axis])
    repeats = jnp.broadcast_to(repeats, array.shape[axis : axis + 1]).astype(int)
    table.demand(table.of(jnp.min(repeats, initial=0)), 0)
    ends = jnp.cumsum(repeats)
    total = table.size(jnp.sum(repeats))
    starts = jnp.zeros(total, int).at[ends - repeats].add(1, mode="drop")
    return array[(slice(None),) * axis + (jnp.cumsum(starts) - 1,)]


def _delete(
    table: DimensionTable,
    original: Original,
    arr: Any,
    obj: Any,
    axis: Any = None,
    *,
    assume_unique_indices: bool = False,
) -> Any:
    """An array without what an integer, a slice, some integers or a mask name."""
    if not (_is_traced(obj) or is_dynamic(np.shape(arr))):
        return original(arr, obj, axis, assume_unique_indices=assume_unique_indices)
    array, axis = along(arr, axis)
    size = array.shape[axis]
    if isinstance(obj, slice):
        obj, assume_unique_indices = jnp.arange(size)[obj], True
    indices = jnp.asarray(obj)
    if indices.dtype == bool:
        if indices.ndim != 1:
            raise ValueError("np.delete(arr, obj): a boolean obj must be one-dimensional")
        require_equal(table, indices.shape[0], size)
        left = positions_of(table, ~indices)
    elif not jnp.issubdtype(indices.dtype, jnp.integer):
        if indices.size != 0:
            raise ValueError(f"np.delete(arr, obj): got {indices.dtype}; must be integer or bool")
        return array
    elif indices.ndim == 0:
        left = _all_but_one(table, indices, size)
    else:
        left = _all_but(table, indices.ravel(), size, assume_unique_indices)
    return array[(slice(None),) * axis + (left,)]


def _is_traced(obj: Any) -> bool:
    parts = (obj.start, obj.stop, obj.step) if isinstance(obj, slice) else (obj,)
    return any(isinstance(part, Tracer) or is_symbolic(part) for part in parts)


def _all_but_one(table: DimensionTable, index: Any, size: Any) -> Any:
    index = jnp.where(index < 0, index + size, index)
    table.demand(table.of(index), 0)
    table.demand(size - 1, table.of(index))
    positions = jnp.arange(table.size(size - 1))
    return positions + (positions >= index)


def _all_but(table: DimensionTable, indices: Any, size: Any, unique: bool) -> Any:
    indices = indices.astype(int)
    indices = jnp.where(indices < 0, indices + size, indices)
    if not unique:  # of unique ones, JAX takes those out of bounds to be inside
        demand_inside(table, indices, size)
    left = jnp.ones(size, bool).at[indices].set(False, mode="drop")
    return positions_of(table, left)


def _trim_zeros(
    _: DimensionTable, original: Original, filt: Any, trim: str = "fb", axis: Any = None
) -> Any:
    """An array without what is zero at the ends of its axes."""
    array = jnp.asarray(filt)
    chosen = range(array.ndim) if axis is None else normalize_axis_tuple(axis, array.ndim)
    for one in chosen:
        others = tuple(other for other in range(array.ndim) if other != one)
        some = jnp.any(array != 0, axis=others)
        positions, size = jnp.arange(some.shape[0]), some.shape[0]
        start = jnp.min(jnp.where(some, positions, size), initial=size)
        stop = jnp.max(jnp.where(some, positions + 1, 0), initial=0)
        bounds = slice(
            start if "f" in trim.lower() else None, stop if "b" in trim.lower() else None
        )
        array = array[(slice(None),) * one + (bounds,)]
    return array


def _split_array(
    table: DimensionTable,
    original: Original,
    op: str,
    ary: Any,
    indices_or_sections: Any,
    axis: Any = 0,
) -> list[Any]:
    """`split` and `array_split` along an axis of any size, or at traced positions."""
    array = jnp.asarray(ary)
    size = array.shape[operator.index(axis)]
    if not _is_listed(indices_or_sections):
        if not is_symbolic(size):
            return original(op, ary, indices_or_sections, axis=axis)
        starts = _starts_of_sections(table, op, size, operator.index(indices_or_sections))
    else:
        starts = [0, *(table.of(index) for index in indices_or_sections), size]
        if not is_dynamic(starts):
            return original(op, ary, indices_or_sections, axis=axis)
    parts: list[Any] = []
    for start, stop in itertools.pairwise(starts):
        length = table.size(stop - start)
        parts.append(lax.slice_in_dim(array, start, start + length, axis=operator.index(axis)))
    return parts


def _is_listed(indices_or_sections: Any) -> bool:
    return isinstance(indices_or_sections, list | tuple) or np.ndim(indices_or_sections) > 0


def _starts_of_sections(table: DimensionTable, op: str, size: Any, number: int) -> Sequence[Any]:
    if number <= 0:
        raise ValueError("number of sections must be larger than 0")
    if op != "array_split":
        require_equal(table, number * (size // number), size)
    lengths = [(size + number - 1 - section) // number for section in range(number)]
    if op != "array_split":
        lengths = [size // number] * number
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return starts


OVERLAYS: Overlays = {
    "bincount": _bincount,
    "repeat": _repeat,
    "delete": _delete,
    "trim_zeros": _trim_zeros,
    "split_array": _split_array,
}
