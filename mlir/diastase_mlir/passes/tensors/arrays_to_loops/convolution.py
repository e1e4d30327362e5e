"""Rule for `stablehlo.convolution` of a left side that is padded, and has its holes, already.

    result[b, g, f, o…] = sum over c, t…: left[b, g, c, o*stride + t*dilation…] * right[g, f, c, t…]

Every tap of the kernel lies on an element. A kernel with many features (`f`) is multiplied as a
matrix, by the elements under its taps (`patches`). With few features to copy these would cost more
than the products, which are summed in place then, in loops whose innermost one runs over neighbours
in the result (`_directly`); few products are a formula of each element (`_by_formula`), whose sum
stays in a register. Groups of either kind are an axis `g` of their own on both sides and in the
result.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from diastase_mlir.bindings import ConvDimensionNumbers, ir
from diastase_mlir.emit.library_calls import FEW_FEATURES
from diastase_mlir.emit.operations import scalar_constant, to_signless
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    extract,
    generate,
    generic,
    hidden,
    larger,
    plus,
    sizes_of,
    times,
)
from diastase_mlir.passes.tensors.arrays_to_loops.dot_general import (
    Labels,
    Operand,
    add_product,
    fill,
    merge_axes,
    split_axes,
)
from diastase_mlir.passes.tensors.arrays_to_loops.patches import Convolution, in_patches
from diastase_mlir.passes.tensors.arrays_to_loops.rules import (
    Rule,
    is_of_one_type,
    minus,
    numbers,
    quotient,
)
from diastase_mlir.passes.tensors.arrays_to_loops.window_formulas import MOST_TAPS


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
        if is_direct and (taps := _taps(convolution)):
            value = _by_formula(convolution, taps)
        else:
            value = (_directly if is_direct else in_patches)(convolution)
    return [merge_axes(value, [2 if axis == place else 1 for axis in range(len(sizes) - 1)], sizes)]


def _is_padded_meanwhile(operation: Any) -> bool:
    """Whether the left side is to be padded, or to get holes, or a side is to be reversed."""
    attributes = operation.attributes
    if "padding" in attributes and any(number for number in attributes["padding"]):
        return True
    reversal = attributes["window_reversal"] if "window_reversal" in attributes else None
    if reversal is not None and any(ir.DenseBoolArrayAttr(reversal)):
        return True
    return any(step != 1 for step in numbers(operation, "lhs_dilation"))


def _described(operation: Any, left: ir.Value, right: ir.Value) -> tuple[Convolution, int]:
    """The operands with an axis for the groups, and at which axis of the result they are."""
    places = ConvDimensionNumbers(operation.attributes["dimension_numbers"])
    spatial = range(len(places.input_spatial_dimensions))
    strides, dilations = (
        numbers(operation, name, [1] * len(spatial)) for name in ("window_strides", "rhs_dilation")
    )
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
    sizes: dict[str, Size] = {"g": groups, "c": own["c"], "f": quotient("divsi", own["gf"], groups)}
    sizes["b"] = own["b"] if "b" in own else quotient("divsi", own["gb"], groups)
    for axis in spatial:
        sizes[f"t{axis}"] = own[f"t{axis}"]
        reach = _reach(own[f"t{axis}"], dilations[axis])
        steps = quotient("floordivsi", minus(own[f"x{axis}"], reach), strides[axis])
        sizes[f"o{axis}"] = larger(plus(steps, 1), 0)
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


# --- in place ------------------------------------------------------------------------------------


def _taps(convolution: Convolution) -> list[tuple[int, ...]] | None:
    """What makes an element, if that is few products, and its neighbours are of other windows."""
    sizes = [convolution.sizes[label] for label in convolution.summed]
    known = [size for size in sizes if isinstance(size, int)]
    along = convolution.result[-1][0] == "o"
    is_short = along and len(known) == len(sizes) and prod(known) <= MOST_TAPS
    return list(product(*map(range, known))) if is_short else None


def _by_formula(convolution: Convolution, taps: Sequence[tuple[int, ...]]) -> ir.Value:
    """An operation on elements, with a term for each tap of each channel."""
    element = element_type(convolution.left.value)

    def read(operand: Operand, place: dict[str, Size]) -> ir.Value:
        return extract(operand.value, [as_index(place[label]) for label in operand.labels])

    def formula(position: list[ir.Value]) -> ir.Value:
        total = scalar_constant(element, 0)
        place: dict[str, Size] = dict(zip(convolution.result, position, strict=True))
        for tap in taps:
            place |= zip(convolution.summed, tap, strict=True)
            for axis, stride in enumerate(convolution.strides):
                start = times(place[f"o{axis}"], stride)
                under = times(place[f"t{axis}"], convolution.dilations[axis])
                place[f"x{axis}"] = plus(start, under)
            left, right = (read(own, place) for own in (convolution.left, convolution.right))
            total = add_product(element, left, right, total)
        return total

    return generate([convolution.sizes[label] for label in convolution.result], element, formula)


def _directly(convolution: Convolution) -> ir.Value:
    """All products, each added to the result where it stands.

    Innermost are neighbours in the result, unless the kernel is longer, as in its own gradient.
    """
    result, element = convolution.result, element_type(convolution.left.value)
    zeros = fill(scalar_constant(element, 0), [convolution.sizes[label] for label in result])
    loops = (*result[:-1], *convolution.summed, result[-1])
    if _is_longer(convolution.sizes[loops[-2]], convolution.sizes[loops[-1]]):
        loops = (*result, *convolution.summed)
    maps = [
        _left_map(convolution, loops),
        _map(convolution.right.labels, loops),
        _map(result, loops),
    ]
    operands = [hidden(convolution.left.value), hidden(convolution.right.value)]
    return _generic(operands, zeros, maps, [label in result for label in loops])


def _is_longer(one: Size, other: Size) -> bool:
    """Whether it is known to be."""
    return isinstance(one, int) and isinstance(other, int) and one > other


def _generic(
    inputs: Sequence[ir.Value],
    target: ir.Value,
    maps: Sequence[ir.AffineMap],
    are_parallel: Sequence[bool],
) -> ir.Value:
    """Loops that add products, or with one operand copy."""

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        first, second, *total = elements
        return [add_product(total[0].type, first, second, total[0]) if total else first]

    (result,) = generic(inputs, [target], maps, are_parallel, body)
    return hidden(result)


def _map(labels: Labels, loops: Labels) -> ir.AffineMap:
    dimensions = [ir.AffineExpr.get_dim(loops.index(label)) for label in labels]
    return ir.AffineMap.get(len(loops), 0, dimensions)


def _left_map(convolution: Convolution, loops: Labels) -> ir.AffineMap:
    """Where the left side is read: under a tap of the kernel at a place of the result."""

    def expression(label: str) -> ir.AffineExpr:
        if label[0] != "x":
            return ir.AffineExpr.get_dim(loops.index(label))
        axis = int(label[1:])
        place, tap = (ir.AffineExpr.get_dim(loops.index(f"{kind}{axis}")) for kind in "ot")
        return ir.AffineExpr.get_add(
            ir.AffineExpr.get_mul(place, ir.AffineExpr.get_constant(convolution.strides[axis])),
            ir.AffineExpr.get_mul(tap, ir.AffineExpr.get_constant(convolution.dilations[axis])),
        )

    labels = [label for label in convolution.left.labels if label in loops or label[0] == "x"]
    return ir.AffineMap.get(len(loops), 0, [expression(label) for label in labels])


RULES: dict[str, Rule] = {"stablehlo.convolution": _convolution}
