"""`jnp.pad` by any widths, of axes of any size.

JAX's modes that repeat what an array holds distinguish cases by its size. Here each element of
the result is looked up where it comes from, by a formula that holds for every size.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic

Widths = Sequence[tuple[Any, Any]]
"""How many elements before and after, for each axis."""


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


def _pad_edge(table: DimensionTable, original: Original, array: Any, widths: Widths) -> Any:
    if not _is_any_symbolic(array, widths):
        return original(array, widths)
    return _looked_up(table, array, widths, _edge)


def _pad_wrap(table: DimensionTable, original: Original, array: Any, widths: Widths) -> Any:
    if not _is_any_symbolic(array, widths):
        return original(array, widths)
    return _looked_up(table, array, widths, _around)


def _pad_mirrored(
    table: DimensionTable,
    original: Original,
    array: Any,
    widths: Widths,
    mode: str,
    reflect_type: str,
) -> Any:
    """`symmetric` and `reflect`; with signs changed (`odd`) only as JAX has it."""
    if reflect_type != "even" or not _is_any_symbolic(array, widths):
        return original(array, widths, mode, reflect_type)
    return _looked_up(table, array, widths, _reflected if mode == "reflect" else _mirrored)


def _is_any_symbolic(array: Any, widths: Widths) -> bool:
    return any(is_symbolic(size) for size in (*array.shape, *(w for pair in widths for w in pair)))


def _looked_up(
    table: DimensionTable,
    array: Any,
    widths: Widths,
    source: Callable[[jax.Array, jax.Array], jax.Array],
) -> Any:
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
    "pad": _pad,
    "pad_edge": _pad_edge,
    "pad_wrap": _pad_wrap,
    "pad_mirrored": _pad_mirrored,
}
