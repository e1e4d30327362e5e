"""Rule for `stablehlo.dot_general`, and other contractions, as batches of matrix products.

    result[batch…, i, j] = sum over k of left[batch…, i, k] * right[batch…, k, j]

In come two operands whose axes have labels, and the labels of the result's axes in order
(`contract`). A label is that of a *batch* (in all three), *summed over* (in both operands), or
*free* (in one operand and the result; those of one operand stand side by side in the result). Out
comes the result of a `linalg.contract`, in loops or marked for BLAS. What sums nothing is left to
MLIR; lowering makes elementwise products of it.

Labels that stand side by side, in the same order, wherever they occur are merged into one: their
arrays are seen under another shape, which costs nothing. Where more than one free or summed label
of an operand is left over, or where a matrix has its rows and columns in steps (its last axis is
one of the batch), a copy with its axes in order is made. Being transposed costs nothing, neither in
loops nor in BLAS, so the transposition of an operand is undone: this has to come before
`stablehlo.transpose` becomes anything else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.bindings import DotDimensionNumbers, ir
from diastase_mlir.emit.library_calls import MARK, is_for_blas
from diastase_mlir.emit.operations import (
    array_attribute,
    binary,
    create,
    enumeration,
    scalar_constant,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    DYNAMIC,
    Size,
    element_type,
    empty,
    generate,
    hidden,
    product,
    sizes_of,
    tensor_type,
    typed_shape,
)
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Rule, is_of_one_type

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Operand:
    """An array of signless elements, and names of its axes."""

    value: ir.Value
    labels: Labels


def _dot_general(operation: Any) -> Sequence[ir.Value] | None:
    numbers = DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    if not list(numbers.lhs_contracting_dimensions) or not is_of_one_type(operation):
        return None
    *own_labels, result = _labels(operation, numbers)
    operands: list[Operand] = []
    sizes: dict[str, Size] = {}
    for value, labels in zip(operation.operands, own_labels, strict=True):
        operand = _as_it_was(Operand(value, labels))
        operands.append(Operand(to_signless(operand.value), operand.labels))
        for label, size in zip(operand.labels, sizes_of(operand.value), strict=True):
            if not isinstance(sizes.get(label), int):
                sizes[label] = size
    return [contract(operands[0], operands[1], result, sizes)]


def _labels(operation: Any, numbers: Any) -> tuple[Labels, Labels, Labels]:
    """Labels of the axes of operands and result; those that two axes share are contracted."""
    summed = (numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
    batch = (list(numbers.lhs_batching_dimensions), numbers.rhs_batching_dimensions)
    ranks = [tensor_type(operand).rank for operand in operation.operands]
    labels = [
        [f"{side}{axis}" for axis in range(rank)] for side, rank in zip("lr", ranks, strict=True)
    ]
    for kind, pairs in (("k", summed), ("b", batch)):
        for number, axes in enumerate(zip(*pairs, strict=True)):
            for own, axis in zip(labels, axes, strict=True):
                own[axis] = f"{kind}{number}"
    free = [label for own in labels for label in own if label[0] in "lr"]
    left, right = map(tuple, labels)
    return left, right, (*(f"b{number}" for number in range(len(batch[0]))), *free)


def _as_it_was(operand: Operand) -> Operand:
    """The array before it was transposed, if it was."""
    owner = operand.value.owner
    if not isinstance(owner, (ir.Operation, ir.OpView)):
        return operand
    if owner.operation.name != "stablehlo.transpose":
        return operand
    order = list(ir.DenseI64ArrayAttr(owner.operation.attributes["permutation"]))
    names = dict(zip(order, operand.labels, strict=True))
    labels = tuple(names[axis] for axis in range(len(order)))
    return _as_it_was(Operand(owner.operation.operands[0], labels))


# --- contractions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pattern:
    """Operands and result in terms of labels."""

    left: Labels
    right: Labels
    result: Labels

    @property
    def batch(self) -> Labels:
        return tuple(name for name in self.result if name in self.left and name in self.right)

    @property
    def summed(self) -> Labels:
        return tuple(name for name in self.left if name not in self.result)

    def free(self, own: Labels) -> Labels:
        return tuple(name for name in self.result if name in own and name not in self.batch)

    def is_regular(self) -> bool:
        """Whether it is a batch of products of matrices that BLAS can read."""
        if len(self.summed) > 1:
            return False
        for own in (self.left, self.right):
            free = self.free(own)
            if len(free) > 1 or (free and own[-1] in self.batch):
                return False
        return True

    def loops(self) -> Labels:
        """All labels in the order of the loops."""
        return (*self.batch, *self.free(self.left), *self.summed, *self.free(self.right))


def contract(left: Operand, right: Operand, result: Labels, sizes: dict[str, Size]) -> ir.Value:
    """The sums of products over at least one label; `sizes` of all labels."""
    element = element_type(left.value)
    full = [sizes[label] for label in result]
    if 0 in sizes.values():
        return generate(full, element, lambda _: scalar_constant(element, 0))
    left, right = _arranged(left, right, result)
    groups = _merged([left.labels, right.labels, result])
    merged = {group[0]: product([sizes[label] for label in group]) for group in groups}
    left, right = (_with_groups(operand, groups, sizes) for operand in (left, right))
    pattern = _Pattern(left.labels, right.labels, tuple(n for n in result if n in merged))
    assert pattern.is_regular(), "the result's free labels of an operand stand side by side"
    value = multiply_matrices(left, right, pattern.result, pattern.loops(), merged)
    counts = [len(group) for name in pattern.result for group in groups if group[0] == name]
    return split_axes(value, counts, full)


def _arranged(left: Operand, right: Operand, result: Labels) -> tuple[Operand, Operand]:
    """The operands, as few of them transposed as possible."""
    whole = _Pattern(left.labels, right.labels, result)
    summed_by_right = tuple(name for name in right.labels if name in whole.summed)
    for_left = (*whole.batch, *whole.free(left.labels))
    for_right = (*whole.batch, *whole.summed, *whole.free(right.labels))
    choices = [
        (left.labels, right.labels),
        (left.labels, for_right),
        ((*for_left, *summed_by_right), right.labels),
        ((*for_left, *whole.summed), for_right),
    ]
    wanted = next((pair for pair in choices if _shortened(*pair, result).is_regular()), choices[-1])
    return transposed(left, wanted[0]), transposed(right, wanted[1])


def _shortened(*tensors: Labels) -> _Pattern:
    """The labels with groups merged, each named after its first label."""
    firsts = {group[0] for group in _merged(tensors)}
    return _Pattern(*(tuple(name for name in own if name in firsts) for own in tensors))


def _merged(tensors: Sequence[Labels]) -> list[Labels]:
    """All labels, in groups that every array has side by side or not at all."""
    groups: list[Labels] = []
    for own in tensors:
        for label in own:
            if any(label in group for group in groups):
                continue
            if groups and all(_follows(other, groups[-1][-1], label) for other in tensors):
                groups[-1] = (*groups[-1], label)
            else:
                groups.append((label,))
    return groups


def _follows(labels: Labels, first: str, second: str) -> bool:
    if first not in labels or second not in labels:
        return first not in labels and second not in labels
    return labels.index(second) == labels.index(first) + 1


def _with_groups(operand: Operand, groups: Sequence[Labels], sizes: dict[str, Size]) -> Operand:
    """The array with one axis for each group of labels."""
    own = [group for name in operand.labels for group in groups if group[0] == name]
    full = [sizes[label] for label in operand.labels]
    value = merge_axes(operand.value, [len(group) for group in own], full)
    return Operand(value, tuple(group[0] for group in own))


def transposed(operand: Operand, labels: Labels) -> Operand:
    """A copy with its axes in another order."""
    if labels == operand.labels:
        return operand
    order = [operand.labels.index(label) for label in labels]
    source = tensor_type(operand.value)
    kind = ir.RankedTensorType.get([source.shape[axis] for axis in order], source.element_type)
    attributes = {"permutation": array_attribute("i64", order)}
    value = create("stablehlo.transpose", [kind], [operand.value], attributes).result
    return Operand(value, labels)


# --- `linalg.contract` ----------------------------------------------------------------------------


def multiply_matrices(
    left: Operand,
    right: Operand,
    result: Labels,
    loops: Labels,
    sizes: dict[str, Size],
    onto: ir.Value | None = None,
) -> ir.Value:
    """The products, added to what is given (`onto`); `loops`: all axes, from the outermost loop."""
    element = element_type(left.value)
    zeros = onto
    if zeros is None:
        zeros = fill(scalar_constant(element, 0), [sizes[label] for label in result])
    operands = [hidden(left.value), hidden(right.value), zeros]
    maps = [
        ir.AffineMap.get(
            len(loops), 0, [ir.AffineExpr.get_dim(loops.index(label)) for label in own]
        )
        for own in (left.labels, right.labels, result)
    ]
    attributes: dict[str, ir.Attribute] = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(own) for own in maps]),
        "operandSegmentSizes": array_attribute("i32", [2, 1]),
    }
    names = (left.labels, right.labels, result)
    own = [label for label in loops if not all(label in labels for labels in names)]
    if is_for_blas(element, [sizes[label] for label in own]):
        attributes[MARK] = ir.UnitAttr.get()
        _mark_module()
    operation = create("linalg.contract", [zeros.type], operands, attributes, regions=1)
    block = operation.regions[0].blocks.append(*[element] * 3, arg_locs=[ir.Location.current] * 3)
    with ir.InsertionPoint(block):
        create("linalg.yield", [], [add_product(element, *block.arguments)])
    return hidden(operation.results[0])


def _mark_module() -> None:
    """Say that there are products for BLAS in the module that is emitted into."""
    point: Any = ir.InsertionPoint.current
    operation = point.block.owner
    while operation.operation.parent is not None:
        operation = operation.operation.parent
    operation.operation.attributes[MARK] = ir.UnitAttr.get()


def fill(scalar: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    """An array of equal elements, written where it is needed: never merged into what reads it."""
    target = empty(sizes, scalar.type)
    attributes = {"operandSegmentSizes": array_attribute("i32", [1, 1])}
    operation = create("linalg.fill", [target.type], [scalar, target], attributes, regions=1)
    block = operation.regions[0].blocks.append(
        scalar.type, scalar.type, arg_locs=[ir.Location.current] * 2
    )
    with ir.InsertionPoint(block):
        create("linalg.yield", [], [block.arguments[0]])
    return operation.results[0]


def add_product(element: ir.Type, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    """`total + x * y`; of booleans whether any pair is true."""
    if isinstance(element, ir.ComplexType):
        return binary("complex.add", total, binary("complex.mul", x, y))
    if isinstance(element, ir.IntegerType):
        is_flag = element.width == 1
        times, plus = ("arith.andi", "arith.ori") if is_flag else ("arith.muli", "arith.addi")
        return binary(plus, total, binary(times, x, y))
    return binary("arith.addf", total, binary("arith.mulf", x, y))


# --- axes side by side, merged into one and split again: no element moves -------------------------


def merge_axes(tensor: ir.Value, groups: Sequence[int], sizes: Sequence[Size]) -> ir.Value:
    """The array with one axis for each group; there is at least one group."""
    if len(groups) == len(sizes):
        return tensor
    merged = [product(sizes[start:end]) for start, end in _ranges(groups)]
    kind = typed_shape(merged, element_type(tensor))
    attributes = {"reassociation": _reassociation(groups)}
    return create("tensor.collapse_shape", [kind], [tensor], attributes).result


def split_axes(tensor: ir.Value, groups: Sequence[int], sizes: Sequence[Size]) -> ir.Value:
    """The array with all axes of its groups, none of which is known to be of size 0."""
    if len(groups) == len(sizes):
        return tensor
    attributes = {
        "reassociation": _reassociation(groups),
        "static_output_shape": array_attribute(
            "i64", [size if isinstance(size, int) else DYNAMIC for size in sizes]
        ),
    }
    unknown = [size for size in sizes if not isinstance(size, int)]
    kind = typed_shape(sizes, element_type(tensor))
    return create("tensor.expand_shape", [kind], [tensor, *unknown], attributes).result


def _ranges(groups: Sequence[int]) -> list[tuple[int, int]]:
    ends = [sum(groups[: number + 1]) for number in range(len(groups))]
    return [(end - count, end) for end, count in zip(ends, groups, strict=True)]


def _reassociation(groups: Sequence[int]) -> ir.Attribute:
    return ir.ArrayAttr.get(
        [
            ir.ArrayAttr.get([enumeration(axis) for axis in range(*bounds)])
            for bounds in _ranges(groups)
        ]
    )


RULES: dict[str, Rule] = {"stablehlo.dot_general": _dot_general}
