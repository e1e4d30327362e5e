"""Memory that rules make themselves, for code outside of the program to read and write.

A buffer is filled with a *copy* of an array (`filled`), handed to foreign code, and becomes an
array again (`as_tensor`) once nothing else writes it. It is freed by the pipeline.
"""

from collections.abc import Sequence

from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.operations import array_attribute, create, enumeration
from diastase_mlir.lowering.tensors import Size, element_type, sizes_of, typed_shape

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
