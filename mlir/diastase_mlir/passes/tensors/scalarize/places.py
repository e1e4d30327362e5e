"""Rules for parts of arrays at computed places: read, or replaced by other values.

A place is moved so that the part lies inside the array, where it is not known to lie there: the
counter of a loop over all rows is.

The trap: a part is read where the program reads it. Where its elements are needed, the array may
have been written over.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.tensors.scalarize import unknown_sizes
from diastase_mlir.passes.tensors.scalarize.conversion import (
    Conversion,
    Elements,
    Number,
    Reshaped,
    Rule,
    Value,
    extract,
    index_constant,
    materialised,
    scalar_of,
)
from diastase_mlir.passes.tensors.scalarize.movement import is_movable, is_signless, shape_wanted
from diastase_mlir.passes.tensors.scalarize.regions import carried

_DYNAMIC: int = ir.ShapedType.get_dynamic_size()
Offset = int | ir.Value


def _dynamic_slice(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    array, *starts = operands
    part: Any = operation.results[0].type
    if not operation.operands[0].type.has_static_shape:
        return [unknown_sizes.part_read(operation, operands)]
    if not _are_places(operation, 1):
        return None
    sizes = part.shape
    offsets = _offsets(conversion, starts, operation.operands[0].type.shape, sizes)
    tensor = materialised(array)
    if all(size == 1 for size in sizes):
        number = extract(tensor, [_value(offset) for offset in offsets])
        if len(sizes) == 1:
            return [Elements([number])]
        return [Reshaped(Elements([number]).materialise(), sizes)]
    wanted = shape_wanted(operation, sizes)
    kind = ir.RankedTensorType.get(wanted, part.element_type)
    attributes, values = _slice_attributes(1, offsets, sizes)
    row = create("tensor.extract_slice", [kind], [tensor, *values], attributes).result
    return [row if wanted == sizes else Reshaped(row, sizes)]


def _dynamic_update_slice(
    conversion: Conversion, operation: Any, operands: list[Value]
) -> Sequence[Value] | None:
    array, part, *starts = operands
    whole, given = (value.type for value in operation.operands[:2])
    if not (whole.has_static_shape and given.has_static_shape):
        return [unknown_sizes.part_replaced(operation, operands)]
    if not _are_places(operation, 2):
        return None
    offsets = _offsets(conversion, starts, whole.shape, given.shape)
    target = materialised(array)
    if all(size == 1 for size in given.shape):
        position = [_value(offset) for offset in offsets]
        inserted = [_only_element(part), target, *position]
        return [create("tensor.insert", [whole], inserted).result]
    attributes, values = _slice_attributes(2, offsets, given.shape)
    parts = [_with_fewest_axes(part), target, *values]
    return [create("tensor.insert_slice", [whole], parts, attributes).result]


def _only_element(part: Value) -> ir.Value:
    return scalar_of(part.source if isinstance(part, Reshaped) else part)


def _with_fewest_axes(part: Value) -> ir.Value:
    """An array, without axes of size 1 that were added to it."""
    if isinstance(part, Reshaped) and len(part.source.type.shape) < len(part.shape):
        return part.source
    return materialised(part)


def _are_places(operation: Any, arrays: int) -> bool:
    """Whether arrays have known sizes, none of them 0, and signless elements."""
    return is_movable(operation) and is_signless(operation.operands[arrays - 1].type)


def _offsets(
    conversion: Conversion, starts: Sequence[Value], whole: Sequence[int], part: Sequence[int]
) -> list[Offset]:
    return [
        _offset(conversion, start, size - taken)
        for start, size, taken in zip(starts, whole, part, strict=True)
    ]


def _offset(conversion: Conversion, start: Value, last: int) -> Offset:
    """The place, moved into `0..last`."""
    if last == 0:
        return 0
    if not isinstance(start, Number) and not is_signless(materialised(start).type):
        return _unsigned_offset(materialised(start), last)
    number = scalar_of(start)
    bounds = conversion.bounds.get(number)
    if bounds is not None and bounds[0] == bounds[1]:
        return min(max(bounds[0], 0), last)
    index = ir.IndexType.get()
    place = create("arith.index_cast", [index], [number]).result
    if bounds is not None and 0 <= bounds[0] and bounds[1] <= last:
        return place
    for name, bound in (("arith.minsi", last), ("arith.maxsi", 0)):
        place = create(name, [index], [place, index_constant(bound)]).result
    return place


def _unsigned_offset(start: ir.Value, last: int) -> ir.Value:
    """The same for a number of which none is negative."""
    index = ir.IndexType.get()
    place = create("arith.index_castui", [index], [carried(start)]).result
    return create("arith.minui", [index], [place, index_constant(last)]).result


def _value(offset: Offset) -> ir.Value:
    return index_constant(offset) if isinstance(offset, int) else offset


def _slice_attributes(
    operands: int, offsets: Sequence[Offset], sizes: Sequence[int]
) -> tuple[dict[str, ir.Attribute], list[ir.Value]]:
    """Attributes and dynamic operands common to `extract_slice` and `insert_slice`."""
    values = [offset for offset in offsets if not isinstance(offset, int)]
    static = [offset if isinstance(offset, int) else _DYNAMIC for offset in offsets]
    return {
        "static_offsets": ir.DenseI64ArrayAttr.get(static),
        "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * len(sizes)),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([*[1] * operands, len(values), 0, 0]),
    }, values


RULES: dict[str, Rule] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
}
