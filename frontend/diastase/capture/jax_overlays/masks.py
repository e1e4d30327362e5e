"""Masks, as an index in `a[mask]` and `a.at[mask]`, and positions where one is True.

A mask whose values only the run knows selects as many elements as it has Trues: a sum that the
program computes, and a size like any other. One mask has one such size, however often it is used
(`SameValues`). Everything that returns what it finds is made of `positions_of`; where the caller
gives a size, of `compact`. NumPy's rules; that a mask has the size of what it indexes is checked at
run time where it is not known.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer, min_dim
from jax.extend.core import Var

from diastase.capture.jax_overlays.overlay import (
    Original,
    Overlays,
    fit_axis,
    is_dynamic,
    require_equal,
)
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase.dynamic_shapes.value_numbering import SameValues
from diastase_mlir.jax_compat import (
    current_trace,
    enclosing_traces,
    is_recorded,
    is_recorded_variable,
    is_symbolic,
    least_everywhere,
    tracer_trace,
    unwrap_tracer,
)


@dataclass
class _Found:
    """What has been found in one trace, by mask."""

    values: SameValues = field(default_factory=SameValues)
    positions: dict[Var, Any] = field(default_factory=dict)


_found: WeakKeyDictionary[DimensionTable, _Found] = WeakKeyDictionary()


def positions_of(table: DimensionTable, mask: Any) -> Any:
    """The positions of a one-dimensional mask that are True, in order."""
    if not is_symbolic(mask.shape[0]) and mask.shape[0] == 0:
        return jnp.arange(0)  # JAX must see that nothing can be found: it refuses to look
    mask = unwrap_tracer(mask)
    if not is_recorded(mask) or not is_recorded_variable(mask):
        return _find(table, mask)
    found = _found.setdefault(table, _Found())
    variable = found.values.representative(mask)
    before = found.positions.get(variable)
    if before is not None and tracer_trace(before) in enclosing_traces(current_trace()):
        return before
    positions = unwrap_tracer(_find(table, mask))
    if is_recorded(positions):
        found.positions[variable] = positions
    return positions


def _find(table: DimensionTable, mask: Any) -> Any:
    size = table.of(jnp.sum(mask, dtype=int))
    if is_symbolic(size):
        is_size = least_everywhere(mask.shape[0]) >= 0
        table.scope.learn_not_negative(size, everywhere=True)
        table.scope.learn_not_negative(mask.shape[0] - size, everywhere=is_size)
    return compact(jnp.arange(mask.shape[0]), mask, size, 0)


def compact(values: Any, mask: Any, size: Any, fill: Any) -> Any:
    """The first `size` values along the first axis whose mask is True, then `fill`."""
    ranks = jnp.cumsum(mask, dtype=int) - 1
    start = jnp.full((size, *values.shape[1:]), fill, values.dtype)
    return start.at[jnp.where(mask, ranks, size)].set(values, mode="drop")


def unravelled(positions: Any, shape: Sequence[Any]) -> tuple[Any, ...]:
    """Positions in a flattened array as one array for each axis."""
    indices: list[Any] = []
    for size in reversed(shape[1:]):
        divisor = lax.full_like(positions, jnp.maximum(jnp.asarray(size), 1))
        indices.append(lax.rem(positions, divisor))
        positions = lax.div(positions, divisor)
    return tuple(reversed([*indices, positions]))


def _expand_masks(table: DimensionTable, original: Original, indexer: Any) -> Any:
    """Each mask among the indices of `a[...]` as arrays of positions, one for each of its axes."""
    expanded: list[Any] = []
    for entry in indexer.indices:
        if entry.typ.name != "BOOLEAN" or np.ndim(entry.index) == 0:
            expanded.append(entry)
        elif isinstance(entry.index, Tracer) or is_dynamic(indexer.shape):
            expanded.extend(_positions(table, indexer, entry))
        else:
            known = type(indexer)(shape=indexer.shape, indices=[entry])
            expanded.extend(original(known).indices)
    return type(indexer)(shape=indexer.shape, indices=_of_one_size(table, expanded))


def _positions(table: DimensionTable, indexer: Any, entry: Any) -> list[Any]:
    mask = jnp.asarray(entry.index)
    sizes = [indexer.shape[axis] for axis in entry.consumed_axes]
    for own, size in zip(mask.shape, sizes, strict=True):
        if is_symbolic(own - size):
            require_equal(table, own, size)
        elif own not in (0, size):  # JAX has an empty mask select nothing
            raise IndexError(
                f"boolean index of shape {mask.shape} did not match indexed axes of sizes {sizes}"
            )
    array = type(entry.typ).ARRAY
    indices = unravelled(positions_of(table, mask.ravel()), mask.shape)
    return [
        entry._replace(index=index, typ=array, consumed_axes=(axis,))
        for index, axis in zip(indices, entry.consumed_axes, strict=True)
    ]


def _of_one_size(table: DimensionTable, entries: Sequence[Any]) -> list[Any]:
    """Index arrays are broadcast against each other: of a mask's, the size is known at run time."""
    sizes = [_last_size(entry) for entry in entries]
    counted = next((size for size in sizes if is_symbolic(size)), None)
    if counted is None:
        return list(entries)
    return [
        entry if size is None else entry._replace(index=fit_axis(table, entry.index, -1, counted))
        for entry, size in zip(entries, sizes, strict=True)
    ]


def _last_size(entry: Any) -> Any:
    if entry.typ.name != "ARRAY" or np.ndim(entry.index) == 0:
        return None
    return np.shape(entry.index)[-1]


def _expand_flags(
    table: DimensionTable, original: Original, indexer: Any, *args: Any, **keywords: Any
) -> Any:
    """A boolean scalar as an index: a new axis, of size 0 or 1."""
    flags = {
        position: entry.index
        for position, entry in enumerate(indexer.indices)
        if entry.typ.name == "BOOLEAN" and isinstance(entry.index, Tracer)
    }
    if not flags:
        return original(indexer, *args, **keywords)
    known = [
        entry._replace(index=True) if position in flags else entry
        for position, entry in enumerate(indexer.indices)
    ]
    indexer = type(indexer)(shape=indexer.shape, indices=known)
    expanded, sharding = original(indexer, *args, **keywords)
    indices = [
        entry._replace(index=positions_of(table, flags[position].reshape(1)))
        if position in flags
        else entry
        for position, entry in enumerate(expanded.indices)
    ]
    return type(expanded)(shape=expanded.shape, indices=indices), sharding


def _nonzero(
    table: DimensionTable, original: Original, a: Any, *, size: Any = None, fill_value: Any = None
) -> tuple[Any, ...]:
    """Positions of what is not zero; of `size`, as many, padded as JAX does."""
    array = jnp.asarray(a)
    if array.ndim == 0 or not (size is None or is_dynamic(array.shape) or is_size_like(size)):
        return original(a, size=size, fill_value=fill_value)
    mask = (array if array.dtype == bool else array != 0).ravel()
    if size is None:
        return _filled(unravelled(positions_of(table, mask), array.shape), fill_value, False)
    size = table.size(size)
    everywhere = jnp.arange(mask.shape[0])
    indices = unravelled(compact(everywhere, mask, size, 0), array.shape)
    # Of an empty array JAX gives zeros, whatever the filler.
    some = jnp.asarray(math.prod(array.shape)) > 0
    padding = (jnp.arange(size) >= jnp.sum(mask, dtype=int)) & some
    return _filled(indices, fill_value, padding)


def _filled(indices: tuple[Any, ...], fill_value: Any, padding: Any) -> tuple[Any, ...]:
    if fill_value is None:
        return indices
    fills = fill_value if isinstance(fill_value, tuple) else len(indices) * (fill_value,)
    if len(fills) != len(indices) or any(np.shape(fill) for fill in fills):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {len(indices)}; got {fill_value}"
        )
    return tuple(
        jnp.where(padding, fill, index) for fill, index in zip(fills, indices, strict=True)
    )


def _compress(
    table: DimensionTable,
    original: Original,
    condition: Any,
    a: Any,
    axis: Any = None,
    *,
    size: Any = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """The slices of an array whose condition is True."""
    mask, array = jnp.asarray(condition).astype(bool), jnp.asarray(a)
    known = size is not None and not is_dynamic((*mask.shape, *array.shape))
    if known or out is not None or mask.ndim != 1:
        return original(condition, a, axis, size=size, fill_value=fill_value, out=out)
    array = array.ravel() if axis is None else jnp.moveaxis(array, axis, 0)
    length = min_dim(mask.shape[0], array.shape[0])
    beyond = mask[array.shape[0] :]
    mask, array = mask[:length], array[:length]
    if size is None:
        table.demand(0, table.of(jnp.sum(beyond, dtype=int)))
        chosen = array[positions_of(table, mask)]
    else:
        size = table.size(size)
        table.demand(length, size)
        chosen = compact(array, mask, size, fill_value)
    return jnp.moveaxis(chosen, 0, 0 if axis is None else axis)


OVERLAYS: Overlays = {
    "expand_masks": _expand_masks,
    "expand_flags": _expand_flags,
    "nonzero": _nonzero,
    "compress": _compress,
}
