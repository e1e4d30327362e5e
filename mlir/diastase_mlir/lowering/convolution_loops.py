"""Convolutions of which strides or dilations are known only when the program runs.

Each element of the result is one sum over the taps of the kernel that lie on elements, and over the
features of its group. Along the spatial axes a kernel is a window (`windows`): the dilation of the
left side makes the holes, that of the right side spreads the taps.
"""

from typing import Any

from jax import lax

from diastase_mlir.emit.loops import Values, for_each, for_range
from diastase_mlir.emit.operations import (
    compare_integers,
    index_binary,
    index_constant,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.emit.tensors import empty, extract, insert
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation
from diastase_mlir.lowering.scalar_functions import scalar_aval, scalar_function
from diastase_mlir.lowering.windows import WindowAxis, over_taps


def convolve_in_loops(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """Every element of the result as a sum of products."""
    left_aval, right_aval = equation.avals_in
    (result,) = equation.avals_out
    numbers = equation.params["dimension_numbers"]
    axes = _spatial_axes(equation)
    left, right = to_signless(left), to_signless(right)
    element = context.element_type_of(result)
    # Products are taken in the type of the result, which may be wider than the operands'.
    scalars = [scalar_aval(result), scalar_aval(left_aval), scalar_aval(right_aval)]
    add_product = scalar_function(
        context, lambda total, x, y: total + _product(x, y, result), scalars
    )
    features = context.size(right_aval.shape[numbers.rhs_spec[1]])

    def at_output(output: Values, carry: Values) -> Values:
        batch, feature, *places = (output[axis] for axis in numbers.out_spec)
        left_batch, first_feature = _group(context, equation, batch, feature)

        def at_tap(position: Values, taps: Values, totals: Values) -> Values:
            def at_feature(index: ir.Value, inner: Values) -> Values:
                source = index_binary("addi", first_feature, index)
                x = extract(left, _placed(numbers.lhs_spec, [left_batch, source, *position]))
                y = extract(right, _placed(numbers.rhs_spec, [feature, index, *taps]))
                return add_product(inner[0], x, y)

            return for_range(context, (0, features, 1), totals, at_feature)

        zero = scalar_constant(element, 0)
        (total,) = over_taps(context, axes, places, [zero], at_tap)
        return [insert(total, carry[0], output)]

    sizes = [context.size(size) for size in result.shape]
    return for_each(context, sizes, [empty(sizes, element)], at_output)


def _product(x: Any, y: Any, result: Any) -> Any:
    return lax.convert_element_type(x, result.dtype) * lax.convert_element_type(y, result.dtype)


def _spatial_axes(equation: Equation) -> list[WindowAxis]:
    """The windows along the spatial axes, in the order of the dimension numbers."""
    params, (left, right) = equation.params, equation.avals_in
    numbers = params["dimension_numbers"]
    columns = zip(
        numbers.lhs_spec[2:],
        numbers.rhs_spec[2:],
        params["window_strides"],
        params["padding"],
        params["lhs_dilation"],
        params["rhs_dilation"],
        strict=True,
    )
    return [
        WindowAxis(left.shape[axis], right.shape[tap_axis], stride, low, base, dilation)
        for axis, tap_axis, stride, (low, _), base, dilation in columns
    ]


def _group(
    context: LoweringContext, equation: Equation, batch: ir.Value, feature: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The batch entry and the first feature of the left side that an output element is made of."""
    params, (_, right), (result,) = equation.params, equation.avals_in, equation.avals_out
    numbers = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    if groups == 1:
        return batch, index_constant(0)
    outputs = context.dimension(right.shape[numbers.rhs_spec[0]])
    size = _quotient(outputs, index_constant(groups))
    group = _quotient(feature, size)
    if params["feature_group_count"] > 1:
        share = context.dimension(right.shape[numbers.rhs_spec[1]])
        return batch, index_binary("muli", group, share)
    batches = context.dimension(result.shape[numbers.out_spec[0]])
    start = index_binary("muli", group, batches)
    return index_binary("addi", start, batch), index_constant(0)


def _quotient(left: ir.Value, right: ir.Value) -> ir.Value:
    """`left // right` of numbers that are not negative; nothing is divided by 0."""
    zero = compare_integers("eq", right, index_constant(0))
    return index_binary("divsi", left, select(zero, index_constant(1), right))


def _placed(axes: Any, position: Values) -> Values:
    """A position in an array, from one in the order of the dimension numbers."""
    places = dict(zip(axes, position, strict=True))
    return [places[axis] for axis in range(len(position))]
