"""Functions of `jax.lax` that take sizes unseen: traced integers among them are sizes."""

from collections.abc import Sequence
from typing import Any

import jax

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _sizes_second(
    table: DimensionTable, original: Original, operand: Any, sizes: Any, *args: Any, **options: Any
) -> Any:
    """`broadcast(x, sizes)`, `broadcast_in_dim(x, shape, …)`, `split(x, sizes)`."""
    return original(operand, _sizes(table, sizes), *args, **options)


def _sizes(table: DimensionTable, sizes: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(table.size(size) if is_size_like(size) else size for size in sizes)


def _lax_slice(
    table: DimensionTable,
    original: Original,
    operand: Any,
    start_indices: Sequence[Any],
    limit_indices: Sequence[Any],
    strides: Any = None,
) -> Any:
    """Bounds that are not in order, or beyond the array, are an error when the program runs."""
    starts, limits = _sizes(table, start_indices), _sizes(table, limit_indices)
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


def _convolution_padding(
    _: DimensionTable,
    original: Original,
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    *others: Any,
    **options: Any,
) -> Any:
    """Padding of a width that only the call knows is put around the array beforehand."""
    dilated = lhs_dilation is not None and any(factor != 1 for factor in lhs_dilation)
    rest = (lhs_dilation, rhs_dilation, dimension_numbers)
    if isinstance(padding, str) or dilated or not any(is_symbolic(w) for p in padding for w in p):
        return original(lhs, rhs, window_strides, padding, *rest, *others, **options)
    axes = jax.lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers).lhs_spec[2:]
    widths = [(0, 0, 0)] * lhs.ndim
    for axis, (before, after) in zip(axes, padding, strict=True):
        widths[axis] = (before, after, 0)
    lhs = jax.lax.pad(lhs, jax.numpy.zeros((), lhs.dtype), widths)
    return original(lhs, rhs, window_strides, [(0, 0)] * len(axes), *rest, *others, **options)


OVERLAYS: Overlays = {
    "sizes_second": _sizes_second,
    "lax_slice": _lax_slice,
    "lax_pad": _lax_pad,
    "convolution_padding": _convolution_padding,
}
