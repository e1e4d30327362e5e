"""Rule for `conv_general_dilated`.

The left side is padded, and gets its holes, once; then every tap of the kernel lies on an element:

    result[b, g, f, o…] = sum over c, t…: left[b, g, c, o*stride + t*dilation…] * right[g, f, c, t…]

A kernel with many features (`f`) is multiplied as a matrix: the elements under its taps are copied
to where they make a matrix (`patches`), for a part of one entry of the batch at a time, and BLAS
does the rest. With few features the copy would cost more than the products, which are summed in
place then, in loops whose innermost one runs over neighbours in the result (`directly`). Groups of
either kind are an axis `g` of their own on both sides and in the result.
"""

from typing import Any

import jax
from jax import lax

from diastase_mlir.jax_internals import ir, is_symbolic
from diastase_mlir.lowering.axis_groups import merge_axes, split_axes
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.convolution_loops import convolve_in_loops
from diastase_mlir.lowering.convolution_ways import Convolution, directly, in_patches
from diastase_mlir.lowering.matrix_products import Labels, Operand
from diastase_mlir.lowering.operations import index_binary, scalar_constant, to_signless
from diastase_mlir.lowering.registry import Equation, lowers
from diastase_mlir.lowering.tensors import Size, as_index, generate, sizes_of

FEW_FEATURES = 4
"""Features of a group up to which products are summed in place."""


@lowers("conv_general_dilated")
def lower_conv_general_dilated(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> list[ir.Value]:
    """By patches and BLAS, or directly."""
    (result,) = equation.avals_out
    if not _has_known_steps(equation.params):
        return convolve_in_loops(context, equation, left, right)
    sizes = [context.size(size) for size in result.shape]
    if any(size == 0 for aval in (*equation.avals_in, result) for size in aval.shape):
        element = context.element_type_of(result)
        return [generate(sizes, element, lambda _: scalar_constant(element, 0))]
    convolution = _described(context, equation, left, right)
    features = convolution.sizes["f"]
    way = in_patches
    if isinstance(features, int) and features <= FEW_FEATURES:
        way = directly
    value = way(context, convolution)
    place = equation.params["dimension_numbers"].out_spec[1]
    return [merge_axes(value, *_pair_at(place, convolution.result, convolution.sizes))]


def _has_known_steps(params: Any) -> bool:
    steps = (*params["window_strides"], *params["lhs_dilation"], *params["rhs_dilation"])
    groups = (params["feature_group_count"], params["batch_group_count"])
    return not any(map(is_symbolic, (*steps, *groups)))


def _described(
    context: LoweringContext, equation: Equation, left: ir.Value, right: ir.Value
) -> Convolution:
    """The operands padded, in the type of the result, and with an axis for the groups."""
    params, (left_aval, right_aval) = equation.params, equation.avals_in
    (result,), numbers = equation.avals_out, params["dimension_numbers"]
    pads = [(0, 0, 0)] * left_aval.ndim
    spatial = zip(numbers.lhs_spec[2:], params["padding"], params["lhs_dilation"], strict=True)
    for axis, (low, high), dilation in spatial:
        pads[axis] = (low, high, dilation - 1)

    def padded(operand: jax.Array) -> tuple[jax.Array]:
        operand = lax.convert_element_type(operand, result.dtype)
        zero = lax.convert_element_type(0, result.dtype)
        return (operand if set(pads) == {(0, 0, 0)} else lax.pad(operand, zero, pads),)

    def converted(operand: jax.Array) -> tuple[jax.Array]:
        return (lax.convert_element_type(operand, result.dtype),)

    (left,) = context.lower_function(padded, [left_aval], [left])
    (right,) = context.lower_function(converted, [right_aval], [right])
    sizes = _sizes(context, equation)
    by_batch = params["batch_group_count"] > 1
    spatial_labels = range(len(params["window_strides"]))
    taps = tuple(f"t{axis}" for axis in spatial_labels)
    rows = tuple(f"o{axis}" for axis in spatial_labels)
    inputs = tuple(f"x{axis}" for axis in spatial_labels)
    left_labels = _placed(numbers.lhs_spec, ("gb", "c") if by_batch else ("b", "gc"), inputs)
    right_labels = _placed(numbers.rhs_spec, ("gf", "c"), taps)
    result_labels = _placed(numbers.out_spec, ("b", "gf"), rows)
    return Convolution(
        _with_groups(left, left_labels, sizes),
        _with_groups(right, right_labels, sizes),
        _split(result_labels),
        sizes,
        tuple(params["window_strides"]),
        tuple(params["rhs_dilation"]),
    )


def _sizes(context: LoweringContext, equation: Equation) -> dict[str, Size]:
    """The size of each label; those of the padded left side are asked of the array itself."""
    params, (_, right), (result,) = equation.params, equation.avals_in, equation.avals_out
    numbers = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    sizes: dict[str, Size] = {"g": groups}
    sizes["b"] = context.size(result.shape[numbers.out_spec[0]])
    sizes["c"] = context.size(right.shape[numbers.rhs_spec[1]])
    sizes["f"] = _quotient(context.size(right.shape[numbers.rhs_spec[0]]), groups)
    for number, (out, tap) in enumerate(
        zip(numbers.out_spec[2:], numbers.rhs_spec[2:], strict=True)
    ):
        sizes[f"o{number}"] = context.size(result.shape[out])
        sizes[f"t{number}"] = context.size(right.shape[tap])
    return sizes


def _quotient(size: Size, groups: int) -> Size:
    if isinstance(size, int):
        return size // groups
    return size if groups == 1 else index_binary("divsi", size, as_index(groups))


def _placed(spec: Any, first: tuple[str, str], spatial: Labels) -> Labels:
    """Labels of the axes, from those in the order of the dimension numbers."""
    places = dict(zip(spec, (*first, *spatial), strict=True))
    return tuple(places[axis] for axis in range(len(spec)))


def _split(labels: Labels) -> Labels:
    """Two labels for an axis that has two, as `gc` has."""
    return tuple(part for label in labels for part in (label if label[0] == "g" else (label,)))


def _with_groups(value: ir.Value, labels: Labels, sizes: dict[str, Size]) -> Operand:
    """The array with an axis for the groups."""
    value = to_signless(value)
    own: list[Size] = []
    for label, size in zip(labels, sizes_of(value), strict=True):
        own += [sizes[part] for part in label] if label[0] == "g" else [size]
    groups = [2 if label[0] == "g" else 1 for label in labels]
    return Operand(split_axes(value, groups, own), _split(labels))


def _pair_at(place: int, labels: Labels, sizes: dict[str, Size]) -> tuple[list[int], list[Size]]:
    """Groups of axes in which those at `place` and after it are one, and all sizes."""
    groups = [2 if axis == place else 1 for axis in range(len(labels) - 1)]
    return groups, [sizes[label] for label in labels]
