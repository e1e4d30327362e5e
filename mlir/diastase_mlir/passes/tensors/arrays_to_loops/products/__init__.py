"""Rule for `stablehlo.dot_general`: matrix products (`contractions`), in loops or for BLAS.

The transposition of an operand is undone: being transposed costs nothing, neither in loops nor in
BLAS. So this has to come before `stablehlo.transpose` becomes anything else. What sums nothing is
left to MLIR; lowering makes elementwise products of it.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import DotDimensionNumbers, ir
from diastase_mlir.emit.operations import to_signless
from diastase_mlir.emit.tensors import Size, sizes_of, tensor_type
from diastase_mlir.passes.tensors.arrays_to_loops.products.contractions import contract
from diastase_mlir.passes.tensors.arrays_to_loops.products.matrix_products import Labels, Operand
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Rule, is_of_one_type


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


RULES: dict[str, Rule] = {"stablehlo.dot_general": _dot_general}
