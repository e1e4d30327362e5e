"""Memory that is made by hand, for code outside of the program to read and write.

A buffer is filled with a *copy* of an array (`filled`), handed to foreign code, and becomes an
array again (`as_tensor`) once nothing else writes it. It is freed by the pipeline.
"""

from collections.abc import Sequence

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.operations import (
    array_attribute,
    create,
    enumeration,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    DYNAMIC,
    Size,
    element_type,
    sizes_of,
    tensor_type,
    typed_shape,
    unbox,
)

ALIGNMENT = 64
"""In bytes; what bufferization itself uses."""


def allocate(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """An uninitialised buffer."""
    unknown = [size for size in sizes if not isinstance(size, int)]
    attributes = {
        "operandSegmentSizes": array_attribute("i32", [len(unknown), 0]),
        "alignment": enumeration(ALIGNMENT),
    }
    shape = ir.RankedTensorType(typed_shape(sizes, element))
    memref = ir.MemRefType.get(shape.shape, element)
    return create("memref.alloc", [memref], unknown, attributes).result


def filled(tensor: ir.Value) -> ir.Value:
    """A buffer with a copy of an array (of signless elements).

    Never a view (`bufferization.to_buffer`): passes merge two views of a tensor into the first
    one, and bufferization, which then sees no read after it, writes between the two.
    """
    buffer = allocate(sizes_of(tensor), element_type(tensor))
    attributes = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    create("bufferization.materialize_in_destination", [], [tensor, buffer], attributes)
    return buffer


def as_tensor(buffer: ir.Value) -> ir.Value:
    """The array in a buffer; to be asked for once, after the last write to the buffer."""
    memref = ir.MemRefType(buffer.type)
    shape = ir.RankedTensorType.get(memref.shape, memref.element_type)
    attributes = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    return create("bufferization.to_tensor", [shape], [buffer], attributes).result


def put_element(tensor: ir.Value, buffer: ir.Value, place: ir.Value, axis: int = 0) -> None:
    """Write an array into its place in a buffer, which has one axis more."""
    tensor = to_signless(tensor)
    if tensor_type(tensor).rank == 0:
        create("memref.store", [], [unbox(tensor), buffer, place])
        return
    sizes = sizes_of(tensor)
    if 0 in sizes:
        return
    unknown = [size for size in sizes if not isinstance(size, int)]
    static = [size if isinstance(size, int) else DYNAMIC for size in sizes]
    rank = len(sizes) + 1
    offsets, parts = [0] * rank, list(static)
    offsets[axis] = DYNAMIC
    parts.insert(axis, 1)
    attributes = {
        "static_offsets": array_attribute("i64", offsets),
        "static_sizes": array_attribute("i64", parts),
        "static_strides": array_attribute("i64", [1] * rank),
        "operandSegmentSizes": array_attribute("i32", [1, 1, len(unknown), 0]),
    }
    kind = _part_type(ir.MemRefType(buffer.type), static, axis)
    part = create("memref.subview", [kind], [buffer, place, *unknown], attributes).result
    writable = {"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()}
    create("bufferization.materialize_in_destination", [], [tensor, part], writable)


def _part_type(buffer: ir.MemRefType, sizes: Sequence[int], axis: int) -> ir.Type:
    """The type of a part of a buffer of dense rows: strides unknown beyond an unknown size."""
    strides: list[int] = [1]
    for size in reversed(list(buffer.shape)[1:]):
        known = DYNAMIC not in (size, strides[0])
        strides.insert(0, size * strides[0] if known else DYNAMIC)
    del strides[axis]
    layout = ir.StridedLayoutAttr.get(DYNAMIC, strides)
    return ir.MemRefType.get(list(sizes), buffer.element_type, layout)
