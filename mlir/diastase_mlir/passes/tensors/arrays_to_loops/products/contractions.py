"""Contractions of two arrays as batches of matrix products.

In come two operands whose axes have labels, and the labels of the result's axes in order. A label
is that of a *batch* (in all three), *summed over* (in both operands), or *free* (in one operand and
the result). Out comes the result.

Labels that stand side by side, in the same order, wherever they occur are merged into one: their
arrays are seen under another shape, which costs nothing. Where more than one free or summed label
of an operand is left over, or where a matrix has its rows and columns in steps (its last axis is
one of the batch), a copy with its axes in order is made. Being transposed costs nothing, neither
here nor in BLAS.

The free labels of one operand must stand side by side in the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import array_attribute, create, scalar_constant
from diastase_mlir.emit.tensors import Size, element_type, generate, product, tensor_type
from diastase_mlir.passes.tensors.arrays_to_loops.products.axis_groups import merge_axes, split_axes
from diastase_mlir.passes.tensors.arrays_to_loops.products.matrix_products import (
    Labels,
    Operand,
    multiply_matrices,
)


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
