"""Axes that lie side by side, merged into one and split again: no element moves.

A group is the number of axes that become one; sizes are those of the split axes, in order.
"""

from collections.abc import Sequence

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import array_attribute, create, enumeration
from diastase_mlir.emit.tensors import DYNAMIC, Size, element_type, product, typed_shape


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
