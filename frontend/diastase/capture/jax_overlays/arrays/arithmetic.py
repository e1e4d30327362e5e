"""Arithmetic of integers that may become sizes, and what JAX's own code does with sizes."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from jax.core import max_dim, min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlay, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _division(symbol: Callable[[Any, Any], Any]) -> Overlay:
    def overlay(
        table: DimensionTable,
        original: Original,
        left: Any,
        right: Any,
        *args: Any,
        **keywords: Any,
    ) -> Any:
        result = original(left, right, *args, **keywords)
        if is_size_like(result):
            table.note_division(result, symbol, left, right)
        return result

    return overlay


def _length(_: DimensionTable, original: Original, sequence: Any) -> Any:
    """`len(array)` in JAX's own code; Python allows only numbers as a `len`."""
    shape: Sequence[Any] = getattr(sequence, "shape", ())
    return shape[0] if shape and is_symbolic(shape[0]) else original(sequence)


def _extreme(of_sizes: Callable[[Any, Any], Any]) -> Overlay:
    """`max` and `min` of Python in JAX's own code, which would choose while tracing."""

    def overlay(_: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
        sizes = args if len(args) > 1 else tuple(*args)
        if any(is_symbolic(size) for size in sizes):
            return functools.reduce(of_sizes, sizes)
        if len(args) == 1:  # perhaps an iterator, and used up
            return original(sizes, **keywords)
        return original(*args, **keywords)

    return overlay


OVERLAYS: Overlays = {
    "floor_divide": _division(operator.floordiv),
    "remainder": _division(operator.mod),
    "length": _length,
    "largest": _extreme(max_dim),
    "smallest": _extreme(min_dim),
}
