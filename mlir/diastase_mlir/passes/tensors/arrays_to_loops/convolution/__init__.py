"""Rule for `stablehlo.convolution` of a left side that is padded, and has its holes, already.

    result[b, g, f, o…] = sum over c, t…: left[b, g, c, o*stride + t*dilation…] * right[g, f, c, t…]

Every tap of the kernel lies on an element. A kernel with many features (`f`) is multiplied as a
matrix: the elements under its taps are copied to where they make a matrix (`ways.in_patches`), for
a part of one entry of the batch at a time, and BLAS does the rest. With few features the copy would
cost more than the products, which are summed in place then, in loops whose innermost one runs over
neighbours in the result (`ways.directly`). Groups of either kind are an axis `g` of their own on
both sides and in the result.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ConvDimensionNumbers, ir
from diastase_mlir.emit.library_calls import FEW_FEATURES
from diastase_mlir.emit.operations import index_binary, scalar_constant, to_signless
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    generate,
    larger,
    plus,
    sizes_of,
    times,
)
from diastase_mlir.passes.tensors.arrays_to_loops.convolution.ways import (
    Convolution,
    directly,
    in_patches,
)
from diastase_mlir.passes.tensors.arrays_to_loops.products.axis_groups import merge_axes, split_axes
from diastase_mlir.passes.tensors.arrays_to_loops.products.matrix_products import Labels, Operand
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Rule, is_of_one_type, numbers


def _convolution(operation: Any) -> Sequence[ir.Value] | None:
    if _is_padded_meanwhile(operation) or not is_of_one_type(operation):
        return None
    left, right = map(to_signless, operation.operands)
    convolution, place = _described(operation, left, right)
    sizes = [convolution.sizes[label] for label in convolution.result]
    if 0 in convolution.sizes.values() or 0 in sizes_of(left):
        element = element_type(left)
        value = generate(sizes, element, lambda _: scalar_constant(element, 0))
    else:
        features = convolution.sizes["f"]
        is_direct = isinstance(features, int) and features <= FEW_FEATURES
        value = (directly if is_direct else in_patches)(convolution)
    return [merge_axes(value, [2 if axis == place else 1 for axis in range(len(sizes) - 1)], sizes)]


def _is_padded_meanwhile(operation: Any) -> bool:
    """Whether the left side is to be padded, or to get holes, or a side is to be reversed."""
    attributes = operation.attributes
    if "padding" in attributes and any(number for number in attributes["padding"]):
        return True
    if "window_reversal" in attributes and any(
        ir.DenseBoolArrayAttr(attributes["window_reversal"])
    ):
        return True
    return any(step != 1 for step in _steps(operation, "lhs_dilation", 0))


def _steps(operation: Any, name: str, count: int) -> list[int]:
    """An attribute for the spatial axes; all 1 where there is none."""
    return numbers(operation, name) if name in operation.attributes else [1] * count


def _described(operation: Any, left: ir.Value, right: ir.Value) -> tuple[Convolution, int]:
    """The operands with an axis for the groups, and at which axis of the result they are."""
    places = ConvDimensionNumbers(operation.attributes["dimension_numbers"])
    spatial = range(len(places.input_spatial_dimensions))
    strides = _steps(operation, "window_strides", len(spatial))
    dilations = _steps(operation, "rhs_dilation", len(spatial))
    by_feature, by_batch = (
        ir.IntegerAttr(operation.attributes[f"{kind}_group_count"]).value
        for kind in ("feature", "batch")
    )
    first = ("gb", "c") if by_batch > 1 else ("b", "gc")
    left_labels = _placed(
        [places.input_batch_dimension, places.input_feature_dimension],
        places.input_spatial_dimensions,
        first,
        "x",
    )
    right_labels = _placed(
        [places.kernel_output_feature_dimension, places.kernel_input_feature_dimension],
        places.kernel_spatial_dimensions,
        ("gf", "c"),
        "t",
    )
    result_labels = _placed(
        [places.output_batch_dimension, places.output_feature_dimension],
        places.output_spatial_dimensions,
        ("b", "gf"),
        "o",
    )
    own = dict(zip(left_labels, sizes_of(left), strict=True))
    own |= dict(zip(right_labels, sizes_of(right), strict=True))
    groups = by_feature * by_batch
    sizes: dict[str, Size] = {"g": groups, "c": own["c"], "f": _quotient(own["gf"], groups)}
    sizes["b"] = own["b"] if "b" in own else _quotient(own["gb"], groups)
    for axis in spatial:
        sizes[f"t{axis}"] = own[f"t{axis}"]
        reach = _reach(own[f"t{axis}"], dilations[axis])
        sizes[f"o{axis}"] = _places(own[f"x{axis}"], reach, strides[axis])
    convolution = Convolution(
        _with_groups(left, left_labels, sizes),
        _with_groups(right, right_labels, sizes),
        _split(result_labels),
        sizes,
        strides,
        dilations,
    )
    return convolution, result_labels.index("gf")


def _reach(taps: Size, dilation: int) -> Size:
    """From the first tap to the last one, both included."""
    return larger(plus(times(plus(taps, -1), dilation), 1), 0)


def _places(size: Size, reach: Size, stride: int) -> Size:
    """Where a kernel fits in, one stride apart."""
    room = plus(size, times(reach, -1))
    if isinstance(room, int):
        return max(room // stride + 1, 0)
    steps = index_binary("floordivsi", room, as_index(stride)) if stride != 1 else room
    return larger(plus(steps, 1), 0)


def _quotient(size: Size, groups: int) -> Size:
    if isinstance(size, int):
        return size // groups
    return size if groups == 1 else index_binary("divsi", size, as_index(groups))


def _placed(first: list[int], spatial: Sequence[int], names: tuple[str, str], kind: str) -> Labels:
    """Labels of the axes, from those of the two that come first in the dimension numbers."""
    places = dict(zip(first, names, strict=True))
    places |= {axis: f"{kind}{number}" for number, axis in enumerate(spatial)}
    return tuple(places[axis] for axis in range(len(places)))


def _split(labels: Labels) -> Labels:
    """Two labels for an axis that has two, as `gc` has."""
    return tuple(part for label in labels for part in (label if label[0] == "g" else (label,)))


def _with_groups(value: ir.Value, labels: Labels, sizes: dict[str, Size]) -> Operand:
    """The array with an axis for the groups."""
    own: list[Size] = []
    for label, size in zip(labels, sizes_of(value), strict=True):
        own += [sizes[part] for part in label] if label[0] == "g" else [size]
    groups = [2 if label[0] == "g" else 1 for label in labels]
    return Operand(split_axes(value, groups, own), _split(labels))


RULES: dict[str, Rule] = {"stablehlo.convolution": _convolution}
