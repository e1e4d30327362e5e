"""Arrays whose elements are arranged anew: squeezed, repeated, tiled."""

from collections.abc import Mapping
from typing import Any

from diastase.errors import UndecidableDimensionError
from diastase.tracing.dimensions import DimensionTable, is_size_like
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


def _repeat(
    table: DimensionTable, original: Original, repeats: Any, array: Any, **keywords: Any
) -> Any:
    """A traced number of repeats, the same for all elements, is a size."""
    repeats = table.size(repeats) if is_size_like(repeats) else repeats
    return original(repeats, array, **keywords)


def _tile(table: DimensionTable, original: Original, operand: Any, repeats: Any) -> Any:
    """Traced numbers of repeats are sizes."""
    return original(operand, [table.size(r) if is_size_like(r) else r for r in repeats])


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "squeeze": _squeeze,
    "repeat": _repeat,
    "tile": _tile,
}
