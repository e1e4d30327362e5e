"""Arrays whose elements are arranged anew: squeezed, repeated, tiled, padded.

JAX's modes of `jnp.pad` that repeat what an array holds distinguish cases by its size. Here each
element of the result is looked up where it comes from, by a formula that holds for every size.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import min_dim

from diastase.capture.jax_overlays.overlay import (
    Original,
    Overlay,
    Overlays,
    along,
    is_dynamic,
    with_sizes,
)
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _squeeze(table: DimensionTable, original: Original, a: Any, axis: Any = None) -> Any:
    """Without an axis the rank of the result depends on which sizes are 1: assumed."""
    if axis is None and is_dynamic(a.shape):
        axis = tuple(number for number, size in enumerate(a.shape) if table.is_equal(size, 1))
    return original(a, axis)


def _packbits(
    _: DimensionTable, original: Original, a: Any, axis: int | None = None, bitorder: str = "big"
) -> Any:
    """The last byte is filled up with zeros, for which JAX asks whether there is a rest."""
    if not is_dynamic(np.shape(a)):
        return original(a, axis, bitorder)
    a, axis = along(a, axis)
    size = a.shape[axis]
    a = jnp.moveaxis(a, axis, -1)
    widths = [(0, 0, 0)] * (a.ndim - 1) + [(0, 8 * ((size + 7) // 8) - size, 0)]
    a = jax.lax.pad(a, jnp.zeros((), a.dtype), widths)
    return jnp.moveaxis(original(a, -1, bitorder), -1, axis)


def _tile_to_size(_: DimensionTable, original: Original, values: Any, size: Any) -> Any:
    """The first `size` of the values, repeated as often as needed."""
    if not (is_symbolic(size) or is_symbolic(values.shape[0])):
        return original(values, size)
    length = jnp.maximum(jnp.asarray(values.shape[0]), 1)
    return values[jnp.arange(size) % length]


def _resize(table: DimensionTable, original: Original, a: Any, new_shape: Any) -> Any:
    """The elements repeated as often as a shape needs; of an empty array, zeros."""
    array = jnp.ravel(jnp.asarray(a))
    sizes = with_sizes(table, new_shape if isinstance(new_shape, Sequence) else (new_shape,))
    if not is_dynamic((*array.shape, *sizes)):
        return original(a, sizes)
    length = jnp.asarray(array.shape[0])
    padded = jnp.concatenate([array, jnp.zeros(1, array.dtype)])
    return padded[jnp.arange(math.prod(sizes)) % jnp.maximum(length, 1)].reshape(sizes)


def _tile(table: DimensionTable, original: Original, operand: Any, repeats: Any) -> Any:
    """Traced numbers of repeats are sizes."""
    return original(operand, with_sizes(table, repeats))


Widths = Sequence[tuple[Any, Any]]
"""How many elements before and after, for each axis."""
Source = Callable[[jax.Array, jax.Array], jax.Array]
"""From positions in the result, the first of the array being 0, and its size to positions there."""


def _pad(
    table: DimensionTable,
    original: Original,
    array: Any,
    pad_width: Any,
    *args: Any,
    **options: Any,
) -> Any:
    """Traced widths are sizes."""
    widths = jax.tree.map(lambda w: table.size(w) if is_size_like(w) else w, pad_width)
    return original(array, widths, *args, **options)


def _edge(positions: jax.Array, size: jax.Array) -> jax.Array:
    return jnp.clip(positions, 0, size - 1)


def _around(positions: jax.Array, size: jax.Array) -> jax.Array:
    return positions % size


def _mirrored(positions: jax.Array, size: jax.Array) -> jax.Array:
    """The last element stands beside itself: 2 1 0 | 0 1 2 | 2 1 0."""
    there_and_back = positions % (2 * size)
    return jnp.minimum(there_and_back, 2 * size - 1 - there_and_back)


def _reflected(positions: jax.Array, size: jax.Array) -> jax.Array:
    """The last element stands once: 2 1 | 0 1 2 | 1 0; an only element is repeated."""
    period = jnp.maximum(2 * (size - 1), 1)
    there_and_back = positions % period
    return jnp.minimum(there_and_back, 2 * (size - 1) - there_and_back)


def _padded_by(source: Source) -> Overlay:
    """`edge` and `wrap`."""

    def overlay(table: DimensionTable, original: Original, array: Any, widths: Widths) -> Any:
        if not is_dynamic((*array.shape, *itertools.chain(*widths))):
            return original(array, widths)
        return _looked_up(table, array, widths, source)

    return overlay


def _pad_mirrored(
    table: DimensionTable,
    original: Original,
    array: Any,
    widths: Widths,
    mode: str,
    reflect_type: str,
) -> Any:
    """`symmetric` and `reflect`; with signs changed (`odd`) only as JAX has it."""
    if reflect_type != "even" or not is_dynamic((*array.shape, *itertools.chain(*widths))):
        return original(array, widths, mode, reflect_type)
    return _looked_up(table, array, widths, _reflected if mode == "reflect" else _mirrored)


def _looked_up(table: DimensionTable, array: Any, widths: Widths, source: Source) -> Any:
    """Pad each axis with the elements at `source(positions, size)`; positions start below 0."""
    for axis, (before, after) in enumerate(widths):
        if not is_symbolic(before + after) and before + after == 0:
            continue
        size = array.shape[axis]
        if is_symbolic(size):  # there must be something to repeat
            table.demand(size, min_dim(1, before + after))
        positions = jnp.arange(before + size + after) - jnp.asarray(before)
        array = jnp.take(array, source(positions, jnp.asarray(size)), axis=axis, mode="clip")
    return array


OVERLAYS: Overlays = {
    "squeeze": _squeeze,
    "resize": _resize,
    "packbits": _packbits,
    "tile": _tile,
    "tile_to_size": _tile_to_size,
    "pad": _pad,
    "pad_edge": _padded_by(_edge),
    "pad_wrap": _padded_by(_around),
    "pad_mirrored": _pad_mirrored,
}
