"""Rule for `stablehlo.convolution` of a left side that is padded, and has its holes, already.

    result[b, g, f, o…] = sum over c, t…: left[b, g, c, o*stride + t*dilation…] * right[g, f, c, t…]

Every tap of the kernel lies on an element. A kernel with many features (`f`) is multiplied as a
matrix: the elements under its taps are copied to where they make a matrix (`_in_patches`), for a
part of one entry of the batch at a time, and BLAS does the rest. With few features the copy would
cost more than the products, which are summed in place then, in loops whose innermost one runs over
neighbours in the result (`_directly`). Groups of either kind are an axis `g` of their own on both
sides and in the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import ConvDimensionNumbers, ir
from diastase_mlir.emit.library_calls import FEW_FEATURES
from diastase_mlir.emit.loops import Values, for_range
from diastase_mlir.emit.operations import index_binary, scalar_constant, to_signless
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract_slice,
    generate,
    generic,
    hidden,
    insert_slice,
    larger,
    plus,
    product,
    sizes_of,
    times,
)
from diastase_mlir.passes.operations import SCOPE
from diastase_mlir.passes.tensors.arrays_to_loops.dot_general import (
    Labels,
    Operand,
    add_product,
    contract,
    fill,
    merge_axes,
    split_axes,
    transposed,
)
from diastase_mlir.passes.tensors.arrays_to_loops.rules import (
    Rule,
    is_of_one_type,
    minus,
    numbers,
    quotient,
)

LARGEST_PATCHES = 2**19
"""Elements of the largest matrix of patches that is made at once, a row of it at least."""


@dataclass(frozen=True)
class Convolution:
    """Operands and result, with labels as above.

    Where the result has `o0`, `o1` and so on, the left side has `x0`, the right side `t0`.
    """

    left: Operand
    right: Operand
    result: Labels
    sizes: dict[str, Size]
    strides: Sequence[int]
    dilations: Sequence[int]

    @property
    def summed(self) -> Labels:
        """What is summed over, in the order of the right side."""
        return tuple(label for label in self.right.labels if label[0] in "ct")


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
        value = (_directly if is_direct else _in_patches)(convolution)
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


def _directly(convolution: Convolution) -> ir.Value:
    """All products, each added to the result where it stands."""
    result, element = convolution.result, element_type(convolution.left.value)
    zeros = fill(scalar_constant(element, 0), [convolution.sizes[label] for label in result])
    loops = (*result[:-1], *convolution.summed, result[-1])
    maps = [
        _left_map(convolution, loops),
        _map(convolution.right.labels, loops),
        _map(result, loops),
    ]
    operands = [hidden(convolution.left.value), hidden(convolution.right.value)]
    return _generic(operands, zeros, maps, [label in result for label in loops])


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


# --- by patches ----------------------------------------------------------------------------------


def _in_patches(convolution: Convolution) -> ir.Value:
    """For each entry of the batch, and rows of it at a time, the patches times the kernel."""
    sizes = convolution.sizes
    element = element_type(convolution.left.value)
    target = empty([sizes[label] for label in convolution.result], element)

    def entry(number: ir.Value, results: Values) -> Values:
        if "o0" not in sizes:
            return [_part(convolution, number, 0, {}, results[0])]
        step = _rows_at_once(sizes)
        if step == sizes["o0"]:
            return [_part(convolution, number, 0, {}, results[0])]

        def rows(start: ir.Value, inner: Values) -> Values:
            left = index_binary("subi", as_index(sizes["o0"]), start)
            count = index_binary("minsi", as_index(step), left)
            return [_part(convolution, number, start, {"o0": count}, inner[0])]

        return for_range(SCOPE, (0, sizes["o0"], step), results, rows)

    return for_range(SCOPE, (0, sizes["b"], 1), [target], entry)[0]


def _rows_at_once(sizes: dict[str, Size]) -> Size:
    """How many rows of the result have patches that fit into the memory for them."""
    one = product([size for label, size in sizes.items() if label not in ("b", "f", "o0")])
    rows = sizes["o0"]
    if isinstance(one, int):
        most = max(1, LARGEST_PATCHES // max(one, 1))
        if isinstance(rows, int):
            return min(rows, most)
        return index_binary("maxsi", index_binary("minsi", rows, as_index(most)), as_index(1))
    positive = index_binary("maxsi", one, as_index(1))
    most = index_binary("divsi", as_index(LARGEST_PATCHES), positive)
    return index_binary("maxsi", index_binary("minsi", as_index(rows), most), as_index(1))


def _part(
    whole: Convolution, entry: ir.Value, start: Size, fewer: dict[str, Size], target: ir.Value
) -> ir.Value:
    """The target with some rows of one entry of the batch computed."""
    sizes = whole.sizes | fewer
    patches = _patches(whole, entry, start, sizes)
    wanted = tuple(label for label in whole.result if label != "b")
    places = tuple(label for label in wanted if label[0] == "o")
    is_first = wanted.index(places[0]) < wanted.index("f") if places else False
    result = wanted
    if not _stand_together(places, wanted):
        result = ("g", *places, "f") if is_first else ("g", "f", *places)
    pair = (patches, whole.right) if is_first else (whole.right, patches)
    value = transposed(Operand(contract(*pair, result, sizes), result), wanted).value
    # The batch's axis, of size 1, stays in the slice that is written to.
    offsets = [{"b": entry, "o0": start}.get(label, 0) for label in whole.result]
    extent = [1 if label == "b" else sizes[label] for label in whole.result]
    return insert_slice(value, target, offsets, extent, [1] * len(extent))


def _stand_together(some: Labels, labels: Labels) -> bool:
    places = [labels.index(label) for label in some]
    return not places or places == list(range(places[0], places[0] + len(places)))


def _patches(whole: Convolution, entry: ir.Value, start: Size, sizes: dict[str, Size]) -> Operand:
    """What lies under the taps, for all places; neighbours as in the left side where possible."""
    places = tuple(label for label in whole.result if label[0] == "o")
    own = tuple(label for label in whole.left.labels if label != "b")
    if own[-1][0] == "x" or not places:
        labels = ("g", *whole.summed, *places)
    else:
        labels = (*places, "g", *whole.summed)
    source = _entry_of(whole.left, entry, start, whole, sizes)
    part = Convolution(
        Operand(source, own), whole.right, whole.result, sizes, whole.strides, whole.dilations
    )
    element = element_type(source)
    target = empty([sizes[label] for label in labels], element)
    maps = [_left_map(part, labels), _map(labels, labels)]
    return Operand(_generic([hidden(source)], target, maps, [True] * len(labels)), labels)


def _entry_of(
    left: Operand, entry: ir.Value, start: Size, whole: Convolution, sizes: dict[str, Size]
) -> ir.Value:
    """One entry of the batch, from the row on at which the patches begin."""
    full = sizes_of(left.value)
    offsets: list[Size] = [0] * len(full)
    batch = left.labels.index("b")
    offsets[batch], full[batch] = entry, 1
    if "x0" in left.labels and not isinstance(start, int):
        axis = left.labels.index("x0")
        first = product([start, whole.strides[0]])
        offsets[axis] = first
        full[axis] = index_binary("subi", as_index(full[axis]), as_index(first))
    return extract_slice(left.value, offsets, full, [1] * len(full), frozenset([batch]))


RULES: dict[str, Rule] = {"stablehlo.convolution": _convolution}
