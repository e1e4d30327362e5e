"""Arrays whose elements are arranged anew: squeezed, repeated, tiled."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.capture.jax_overlays.data_dependent.compaction import along, is_dynamic, number_of
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _squeeze(table: DimensionTable, original: Original, a: Any, axis: Any = None) -> Any:
    """Without an axis the rank of the result depends on which sizes are 1: assumed."""
    if axis is None and any(is_symbolic(size) for size in a.shape):
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
    sizes = tuple(new_shape) if isinstance(new_shape, Sequence) else (new_shape,)
    sizes = tuple(table.size(size) if is_size_like(size) else size for size in sizes)
    if not is_dynamic((*array.shape, *sizes)):
        return original(a, sizes)
    length = jnp.asarray(array.shape[0])
    padded = jnp.concatenate([array, jnp.zeros(1, array.dtype)])
    return padded[jnp.arange(number_of(sizes)) % jnp.maximum(length, 1)].reshape(sizes)


def _tile(table: DimensionTable, original: Original, operand: Any, repeats: Any) -> Any:
    """Traced numbers of repeats are sizes."""
    return original(operand, [table.size(r) if is_size_like(r) else r for r in repeats])


OVERLAYS: Overlays = {
    "squeeze": _squeeze,
    "resize": _resize,
    "packbits": _packbits,
    "tile": _tile,
    "tile_to_size": _tile_to_size,
}
