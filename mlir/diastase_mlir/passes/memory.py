"""Pointers and words in memory (`llvm`), as passes emit them at the current insertion point.

Integers are words of 64 bits; an array is known by its descriptor, from which `to-llvm` makes a
structure of words.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, index_type, integer_type, scalar_constant


def word_type() -> ir.Type:
    """`i64`."""
    return integer_type(64)


def word(number: int) -> ir.Value:
    """A constant of type `i64`."""
    return scalar_constant(word_type(), number)


def pointer_type() -> ir.Type:
    """`!llvm.ptr`."""
    return ir.Type.parse("!llvm.ptr")


def address_of(buffer: ir.Value) -> ir.Value:
    """The address of a buffer's first element, as an `index`."""
    name = "memref.extract_aligned_pointer_as_index"
    return create(name, [index_type()], [buffer]).result


def to_pointer(address: ir.Value) -> ir.Value:
    """An address, an `index` or an `i64`, as a pointer."""
    if isinstance(address.type, ir.IndexType):
        address = create("arith.index_cast", [word_type()], [address]).result
    return create("llvm.inttoptr", [pointer_type()], [address]).result


def offset(pointer: ir.Value, number: int, bits: int = 8) -> ir.Value:
    """The pointer so many bytes, or numbers of so many bits, later."""
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([number]),
        "elem_type": ir.TypeAttr.get(integer_type(bits)),
    }
    return create("llvm.getelementptr", [pointer_type()], [pointer], attributes).result


def load(kind: ir.Type, pointer: ir.Value) -> ir.Value:
    """What lies behind a pointer."""
    return create("llvm.load", [kind], [pointer]).result


def store(value: ir.Value, pointer: ir.Value) -> None:
    """Write a value behind a pointer."""
    create("llvm.store", [], [value, pointer])


def descriptor_type(rank: int) -> ir.Type:
    """What `to-llvm` makes of an array: two pointers, the offset, sizes and strides."""
    arrays = f", array<{rank} x i64>" * 2 if rank else ""
    return ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")


def inserted(structure: ir.Value, value: ir.Value, path: Sequence[int]) -> ir.Value:
    """A structure with one field replaced."""
    position = {"position": ir.DenseI64ArrayAttr.get(list(path))}
    return create("llvm.insertvalue", [structure.type], [structure, value], position).result


def extracted(structure: ir.Value, kind: ir.Type, path: Sequence[int]) -> ir.Value:
    """A field of a structure."""
    position = {"position": ir.DenseI64ArrayAttr.get(list(path))}
    return create("llvm.extractvalue", [kind], [structure], position).result


def bytes_of(element: ir.Type) -> int:
    """The size of an element in memory."""
    if isinstance(element, ir.ComplexType):
        return 2 * bytes_of(element.element_type)
    if isinstance(element, ir.IndexType):
        return 8
    width: int = element.width  # pyright: ignore[reportAttributeAccessIssue]
    return max(1, width // 8)


class StackSpace:
    """Space on a function's stack, as large as its largest use: uses come one after another."""

    def __init__(self, function: ir.Operation, element: ir.Type | None = None):
        self._size = 1
        block = function.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            self._length = word(1)
            attributes = {"elem_type": ir.TypeAttr.get(element or word_type())}
            self._pointer = create(
                "llvm.alloca", [pointer_type()], [self._length], attributes
            ).result

    def reserve(self, size: int) -> ir.Value:
        """The memory, with room for so many elements: words, if no other were asked for."""
        self._size = max(self._size, size)
        constant: Any = self._length.owner
        constant.attributes["value"] = ir.IntegerAttr.get(word_type(), self._size)
        return self._pointer
