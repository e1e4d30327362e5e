"""Rule for `conv_general_dilated`: a convolution of StableHLO, of a left side padded before.

The left side gets its padding and its holes, and both sides the type of the result, by operations
of their own; `passes/arrays_to_loops/convolution` makes loops and matrix products of the rest.
Strides and dilations that are known at run time only are no attributes: `convolution_patches`.
"""

from collections.abc import Sequence
from typing import Any

import jax
from jax import lax

from diastase_mlir.emit.blas import FEW_FEATURES, is_for_blas
from diastase_mlir.emit.operations import array_attribute, create, enumeration
from diastase_mlir.jax_internals import ir, is_symbolic
from diastase_mlir.lowering.array_types import is_known_empty
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.convolution_patches import convolve_patches
from diastase_mlir.lowering.registry import Equation, lowers


@lowers("conv_general_dilated")
def lower_conv_general_dilated(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """A convolution, or products of patches where its steps are not known."""
    params, (result,) = equation.params, equation.avals_out
    avals, operands = _prepared(context, equation, left, right)
    if any(map(is_symbolic, (*params["window_strides"], *params["rhs_dilation"]))):
        return convolve_patches(context, equation, operands, avals)
    attributes = {
        "dimension_numbers": ir.Attribute.parse(_dimension_numbers(params["dimension_numbers"])),
        "window_strides": array_attribute("i64", params["window_strides"]),
        "rhs_dilation": array_attribute("i64", params["rhs_dilation"]),
        "feature_group_count": enumeration(params["feature_group_count"]),
        "batch_group_count": enumeration(params["batch_group_count"]),
    }
    if _is_for_blas(context, equation):
        context.imports.note("blas")
    kind = context.type_of(result)
    return [create("stablehlo.convolution", [kind], operands, attributes).result]


def _prepared(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> tuple[list[Any], list[ir.Value]]:
    """The operands in the type of the result, the left one padded; and their types."""
    params, (left_aval, right_aval) = equation.params, equation.avals_in
    (result,), numbers = equation.avals_out, params["dimension_numbers"]
    pads = [(0, 0, 0)] * left_aval.ndim
    spatial = zip(numbers.lhs_spec[2:], params["padding"], params["lhs_dilation"], strict=True)
    for axis, (low, high), dilation in spatial:
        pads[axis] = (low, high, dilation - 1)
    is_padded = any(amount != 0 for amounts in pads for amount in amounts)

    def padded(operand: jax.Array) -> tuple[jax.Array]:
        operand = lax.convert_element_type(operand, result.dtype)
        zero = lax.convert_element_type(0, result.dtype)
        return (lax.pad(operand, zero, pads) if is_padded else operand,)

    def converted(operand: jax.Array) -> tuple[jax.Array]:
        return (lax.convert_element_type(operand, result.dtype),)

    (left,) = context.lower_function(padded, [left_aval], [left])
    (right,) = context.lower_function(converted, [right_aval], [right])
    padded_aval = jax.eval_shape(padded, left_aval)[0]
    shapes = (padded_aval.shape, right_aval.shape)
    avals = [left_aval.update(shape=shape, dtype=result.dtype) for shape in shapes]
    return avals, [left, right]


def _dimension_numbers(numbers: Any) -> str:
    """StableHLO's attribute, `#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>`."""
    specs = zip(
        (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec), ("bf", "oi", "bf"), strict=True
    )
    left, right, result = (_axes(spec, names) for spec, names in specs)
    return f"#stablehlo.conv<{left}x{right}->{result}>"


def _axes(spec: Sequence[int], names: str) -> str:
    labels = dict(zip(spec, (*names, *map(str, range(len(spec) - 2))), strict=True))
    return f"[{', '.join(labels[axis] for axis in range(len(spec)))}]"


def _is_for_blas(context: LoweringContext, equation: Equation) -> bool:
    """Whether patches are multiplied, by BLAS."""
    params, (left, right), (result,) = equation.params, equation.avals_in, equation.avals_out
    if any(map(is_known_empty, (left, right, result))):
        return False
    numbers = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    features = right.shape[numbers.rhs_spec[0]]
    if isinstance(features, int):
        features //= groups
        if features <= FEW_FEATURES:
            return False
    places = (result.shape[axis] for axis in numbers.out_spec[2:])
    taps = (right.shape[axis] for axis in numbers.rhs_spec[1:])
    return is_for_blas(context.element_type_of(result), [features, *places, *taps])
