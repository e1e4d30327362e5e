"""Rule for `conv_general_dilated`: a convolution of StableHLO, of a left side padded before.

The left side gets its padding, and both sides the type of the result, by operations of their own;
one with holes is taken apart (`dilated_convolution`) where all is known.
`passes/arrays_to_loops/convolution` makes loops and matrix products of the rest.

Strides and dilations are attributes of StableHLO's operation. Where they are known only when the
program runs, each place of the result gathers its patch, the elements under
the taps of the kernel, and the patches are multiplied by the kernel as matrices are. The left side
is padded before, and has holes between its elements then.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.emit.library_calls import FEW_FEATURES, is_for_blas
from diastase_mlir.emit.operations import array_attribute, create, enumeration
from diastase_mlir.jax_compat import ir, is_symbolic
from diastase_mlir.lowering.core.array_types import is_known_empty
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers
from diastase_mlir.lowering.tensor.dilated_convolution import has_holes, in_phases


@lowers("conv_general_dilated")
def lower_conv_general_dilated(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """A convolution, or products of patches where its steps are not known."""
    params, (result,) = equation.params, equation.avals_out
    if is_known_empty(equation.avals_in[1]):  # sums of nothing; StableHLO has no such window
        return context.lower_function(lambda: (jnp.zeros(result.shape, result.dtype),), [], [])
    if has_holes(params, *(aval.shape for aval in (*equation.avals_in, result))):

        def phases(left: jax.Array, right: jax.Array) -> tuple[jax.Array]:
            return (in_phases(left, right, params, result.shape),)

        return context.lower_function(phases, equation.avals_in, [left, right])
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
        context.imports["blas"] += 1
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


def convolve_patches(
    context: LoweringContext, equation: Equation, operands: Sequence[ir.Value], avals: Sequence[Any]
) -> list[ir.Value]:
    """The convolution of the operands, both of the result's element type, without padding."""
    params, (result,) = equation.params, equation.avals_out
    numbers = params["dimension_numbers"]

    def convolve(left: jax.Array, right: jax.Array) -> tuple[jax.Array]:
        left, right = left.transpose(numbers.lhs_spec), right.transpose(numbers.rhs_spec)
        places = [result.shape[axis] for axis in numbers.out_spec[2:]]
        taps = right.shape[2:]
        for axis, (place, tap) in enumerate(zip(places, taps, strict=True)):
            stride, dilation = params["window_strides"][axis], params["rhs_dilation"][axis]
            starts, steps = jnp.arange(place) * stride, jnp.arange(tap) * dilation
            # Behind the axes of batch and features, each earlier one is two by now.
            left = _taken(left, starts[:, None] + steps[None, :], 2 + 2 * axis)
        found = _multiplied(left, right, params)
        order = np.argsort(numbers.out_spec)
        return (found.transpose([int(axis) for axis in order]),)

    return context.lower_function(convolve, avals, operands)


def _taken(array: jax.Array, places: jax.Array, axis: int) -> jax.Array:
    """Elements at places along an axis, all of which lie inside."""
    return jnp.take(array, places, axis, mode="clip")


def _multiplied(patches: jax.Array, right: jax.Array, params: Any) -> jax.Array:
    """Patches (batch, features, place and tap of each axis) times the kernel."""
    rank = right.ndim - 2
    features, batches = params["feature_group_count"], params["batch_group_count"]
    groups, split = features * batches, 1 if features > 1 else 0
    shape = list(patches.shape)
    shape[split : split + 1] = [groups, shape[split] // groups]
    patches = jnp.moveaxis(patches.reshape(shape), split, 0)
    right = right.reshape((groups, right.shape[0] // groups, *right.shape[1:]))
    taps = range(4, 3 + 2 * rank, 2)
    contracted = ((2, *taps), (2, *range(3, 3 + rank)))
    products = lax.dot_general(patches, right, (contracted, ((0,), (0,))))
    # Groups, batch, places, features of a group: groups and these are one axis of the result.
    products = jnp.moveaxis(products, (0, -1), (1, 2))
    return products.reshape((products.shape[0], -1, *products.shape[3:]))
