"""Arrays whose elements are arranged anew: squeezed, repeated, tiled."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from diastase.errors import UndecidableDimensionError
from diastase.tracing.dimensions import DimensionTable, is_size_like
from diastase.tracing.hooks.found import is_dynamic, number_of
from diastase.tracing.hooks.overlay import Original, Overlay
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import HookPoint, is_symbolic


def _squeeze(_: DimensionTable, original: Original, a: Any, axis: Any = None) -> Any:
    """Without an axis the rank of the result would depend on which sizes are 1."""
    if axis is None and any(is_symbolic(size) for size in a.shape):
        raise UndecidableDimensionError(
            comparison=f"squeeze without an axis asks which of the sizes {a.shape} are 1",
            span=user_span(),
        )
    return original(a, axis)


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


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "squeeze": _squeeze,
    "resize": _resize,
    "tile": _tile,
    "tile_to_size": _tile_to_size,
}
