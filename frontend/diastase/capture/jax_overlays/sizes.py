"""Traced integers where JAX takes a size: shapes, arguments like `num`, and arithmetic with them.

What JAX asks whether it is a concrete number, a traced integer may be: it becomes a symbolic
dimension (`DimensionTable.size`). Of an integer division, which JAX records as a dozen equations,
the table is told, so that its result may become a size. `len`, `max` and `min` are Python's inside
of JAX's modules, where they would ask a symbolic dimension for its value.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from jax.core import max_dim, min_dim

from diastase.capture.jax_overlays.overlay import (
    Original,
    Overlay,
    Overlays,
    is_dynamic,
    with_sizes,
)
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic

_PARTS_OF_SLICES = ("start", "stop", "step")
_GRIDS = ("mgrid", "ogrid")

_NUMBERS_THAT_ARE_SIZES = frozenset(
    {
        "'n' argument of jnp.diag_indices()",
        "'num' argument of jnp.logspace",
        "'num' argument of jnp.geomspace",
        "argument 'N' to jnp.vander()",
        "argument x of jax.random.permutation()",
        "The error occurred in jax.random.choice()",
        "bins argument of histogram_bin_edges",
        "dimensions argument of jnp.indices",
        *(
            f"M argument of jnp.{window}"
            for window in ("bartlett", "blackman", "hamming", "hanning", "kaiser")
        ),
        "The error occurred because of argument 'minlength' of jnp.bincount.",
        *(f"slice {part} of jnp.{grid}" for part in _PARTS_OF_SLICES for grid in _GRIDS),
    }
)
"""Arguments for which JAX asks for a concrete integer, though a symbolic size would do."""

_VALUES_OF_ANY_KIND = (
    "The error arose for the first argument of jnp.unique().",
    "The error arose in union1d()",
)
"""Beginnings of what JAX says of arrays that it wants concrete, though a traced one would do."""


def _dimension(table: DimensionTable, original: Original, dimension: Any) -> Any:
    """An entry of any shape, given by the user or by JAX."""
    if is_size_like(dimension) or is_symbolic(dimension):
        return table.size(dimension)
    return original(dimension)


def _shape_check(
    _: DimensionTable,
    original: Original,
    function: str,
    argument: str,
    sizes: Any,
    non_zero_shape: bool = False,
) -> Any:
    """Sizes must not be negative: of the symbolic ones, that is checked at run time."""
    if not non_zero_shape:
        sizes = [size for size in sizes if not is_symbolic(size)]
    return original(function, argument, sizes, non_zero_shape)


def _size_argument(
    table: DimensionTable, original: Original, value: Any, *args: Any, **keywords: Any
) -> Any:
    """`num`, `length`, `num_classes`, ... of many functions."""
    return table.size(value) if is_size_like(value) else original(value, *args, **keywords)


def _number_argument(
    table: DimensionTable, original: Original, force: Any, value: Any, context: str = ""
) -> Any:
    """An argument that JAX wants as a concrete Python number."""
    if context in _NUMBERS_THAT_ARE_SIZES and (is_size_like(value) or is_symbolic(value)):
        return table.of(value) if context.startswith("slice") else table.size(value)
    if force is None and context.startswith(_VALUES_OF_ANY_KIND):
        return value
    if context.startswith("The error arose for the size argument") and is_symbolic(value):
        return value
    return original(force, value, context)


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
        if is_dynamic(sizes):
            return functools.reduce(of_sizes, sizes)
        if len(args) == 1:  # perhaps an iterator, and used up
            return original(sizes, **keywords)
        return original(*args, **keywords)

    return overlay


def _sizes_second(
    table: DimensionTable, original: Original, operand: Any, sizes: Any, *args: Any, **options: Any
) -> Any:
    """`broadcast(x, sizes)`, `broadcast_in_dim(x, shape, …)`, `split(x, sizes)`."""
    return original(operand, with_sizes(table, sizes), *args, **options)


def _lax_slice(
    table: DimensionTable,
    original: Original,
    operand: Any,
    start_indices: Sequence[Any],
    limit_indices: Sequence[Any],
    strides: Any = None,
) -> Any:
    """Bounds that are not in order, or beyond the array, are an error when the program runs."""
    starts, limits = with_sizes(table, start_indices), with_sizes(table, limit_indices)
    for start, limit, size in zip(starts, limits, operand.shape, strict=True):
        for least, most in ((start, limit), (limit, size)):
            if is_symbolic(most - least):
                table.demand(most, least)
    return original(operand, starts, limits, strides)


def _lax_pad(
    table: DimensionTable, original: Original, operand: Any, padding_value: Any, config: Any
) -> Any:
    """Widths may be negative; the size of the result may not."""
    config = [
        tuple(table.of(width) if is_size_like(width) else width for width in widths)
        for widths in config
    ]
    return original(operand, padding_value, config)


OVERLAYS: Overlays = {
    "dimension": _dimension,
    "size_argument": _size_argument,
    "number_argument": _number_argument,
    "shape_check": _shape_check,
    "floor_divide": _division(operator.floordiv),
    "remainder": _division(operator.mod),
    "length": _length,
    "largest": _extreme(max_dim),
    "smallest": _extreme(min_dim),
    "sizes_second": _sizes_second,
    "lax_slice": _lax_slice,
    "lax_pad": _lax_pad,
}
