"""Windows that slide over an array: where they lie, and reductions over each of them.

`reduce_window` and its relatives for known and unknown sizes. A window at output position `o`
starts at `o * stride - low` of the dilated array and has a *tap* every `window_dilation` elements;
`base_dilation - 1` holes lie between neighbours in the dilated array. Taps in the padding or in a
hole count for nothing, as in XLA on the CPU: a window begins with the initial value and takes in
the elements it meets, in row-major order. So the loops run over the taps inside the array only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir import jax_internals
from diastase_mlir.emit.loops import Values, for_each, for_range, if_else
from diastase_mlir.emit.operations import (
    compare_integers,
    index_binary,
    index_constant,
    scalar_constant,
    to_signless,
)
from diastase_mlir.emit.tensors import element_type, empty, extract, insert, unbox
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.array_types import is_complex, is_floating
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.loops import split
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.scalar_functions import (
    ScalarFunction,
    scalar_aval,
    scalar_function,
    scalar_jaxpr,
)


@dataclass(frozen=True)
class WindowAxis:
    """How windows lie along one axis; all are numbers or dimension expressions."""

    size: Any
    window: Any
    stride: Any = 1
    low: Any = 0
    base_dilation: Any = 1
    window_dilation: Any = 1


def window_axes(shape: Sequence[Any], params: Any) -> list[WindowAxis]:
    """The axes of an array, by the parameters that JAX's window primitives share."""
    ones = (1,) * len(shape)
    return [
        WindowAxis(size, window, stride, low, base, dilation)
        for size, window, stride, (low, _), base, dilation in zip(
            shape,
            params["window_dimensions"],
            params["window_strides"],
            params["padding"],
            params.get("base_dilation") or ones,
            params.get("window_dilation") or ones,
            strict=True,
        )
    ]


def over_taps(
    context: LoweringContext,
    axes: Sequence[WindowAxis],
    output: Sequence[ir.Value],
    carry: Values,
    body: Callable[[Values, Values, Values], Values],
) -> Values:
    """Loop over the taps of one window that lie on elements: `body(position, tap, carry)`."""

    def nest(position: Values, taps: Values, inner: Values) -> Values:
        if len(position) == len(axes):
            return body(position, taps, inner)
        axis = axes[len(position)]
        first = index_binary("muli", output[len(position)], context.dimension(axis.stride))
        first = index_binary("subi", first, context.dimension(axis.low))

        def at(tap: ir.Value, carries: Values) -> Values:
            step = index_binary("muli", tap, context.dimension(axis.window_dilation))
            place = index_binary("addi", first, step)
            if axis.base_dilation == 1:
                return nest([*position, place], [*taps, tap], carries)
            base = context.dimension(axis.base_dilation)
            hole = index_binary("remsi", place, base)
            place = index_binary("divsi", place, base)
            return if_else(
                context,
                compare_integers("eq", hole, index_constant(0)),
                [value.type for value in carries],
                lambda: nest([*position, place], [*taps, tap], carries),
                lambda: carries,
            )

        return for_range(context, (*_taps_inside(context, axis, first), 1), inner, at)

    return nest([], [], carry)


def _taps_inside(
    context: LoweringContext, axis: WindowAxis, first: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The taps from the first one at or behind the array's start to the last before its end."""
    end = context.dimension(axis.size)
    if axis.base_dilation != 1:
        last = index_binary("subi", end, index_constant(1))
        end = index_binary("muli", last, context.dimension(axis.base_dilation))
        end = index_binary("addi", end, index_constant(1))
    step = context.dimension(axis.window_dilation)
    before = index_binary("subi", index_constant(0), first)
    lower = index_binary("maxsi", index_binary("ceildivsi", before, step), index_constant(0))
    until = index_binary("ceildivsi", index_binary("subi", end, first), step)
    return lower, index_binary("minsi", until, context.dimension(axis.window))


def reduce_windows(
    context: LoweringContext,
    axes: Sequence[WindowAxis],
    result_shape: Sequence[Any],
    operands: Sequence[ir.Value],
    initial: Sequence[ir.Value],
    combine: ScalarFunction,
) -> Values:
    """For each window, its elements combined: `combine(*so_far, *elements)`; one per operand."""
    arrays = [to_signless(operand) for operand in operands]
    sizes = [context.size(size) for size in result_shape]
    results = [empty(sizes, element_type(array)) for array in arrays]

    def window(output: Values, carry: Values) -> Values:
        def take_in(position: Values, _taps: Values, so_far: Values) -> Values:
            return combine(*so_far, *(extract(array, position) for array in arrays))

        totals = over_taps(context, axes, output, list(initial), take_in)
        return [insert(total, result, output) for total, result in zip(totals, carry, strict=True)]

    return for_each(context, sizes, results, window)


def has_static_elements(*avals: Any) -> bool:
    """Whether all sizes are known, and none is 0: what the pipeline converts by itself."""
    return not any(
        jax_internals.is_symbolic(size) or size == 0 for aval in avals for size in aval.shape
    )


MONOIDS: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_window_sum": lax.add,
    "reduce_window_max": lax.max,
    "reduce_window_min": lax.min,
}
"""What combines the elements of a window."""


@lowers(*MONOIDS)
def lower_reduce_window_monoid(
    context: LoweringContext, equation: Equation, operand: ir.Value
) -> list[ir.Value]:
    """Sum, largest or smallest element of each window."""
    (aval,), (result,) = equation.avals_in, equation.avals_out
    if has_static_elements(aval, result):
        return NotImplemented
    name = equation.primitive.name
    if is_complex(aval.dtype) and name != "reduce_window_sum":
        return NotImplemented
    axes = window_axes(aval.shape, equation.params)
    combine = scalar_function(context, MONOIDS[name], [scalar_aval(aval)] * 2)
    initial = scalar_constant(context.element_type_of(aval), identity_of(name, aval.dtype))
    return reduce_windows(context, axes, result.shape, [operand], [initial], combine)


def identity_of(name: str, dtype: Any) -> Any:
    """The number that changes nothing, for a primitive that ends in `_sum`, `_max` or `_min`."""
    if name.endswith("_sum"):
        return 0
    largest = name.endswith("_min")
    if is_floating(dtype):
        return np.inf if largest else -np.inf
    if dtype == np.bool_:
        return largest
    limits = jnp.iinfo(dtype)
    return limits.max if largest else limits.min


@lowers("reduce_window")
def lower_reduce_window(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Windows of several arrays at once, combined by any function, from any initial value.

    Also where all sizes are known: the passes take the initial value for each tap in the padding.
    """
    count = len(operands) // 2
    arrays, initial = split(operands, count)
    params, avals = equation.params, equation.avals_in[:count]
    if any(jax_internals.is_extended(aval.dtype) for aval in avals):
        return NotImplemented
    pairs = [*map(scalar_aval, avals)] * 2
    combine = scalar_jaxpr(context, params["jaxpr"], params["consts"], pairs)
    return reduce_windows(
        context,
        window_axes(avals[0].shape, params),
        equation.avals_out[0].shape,
        arrays,
        [unbox(value) for value in initial],
        combine,
    )
