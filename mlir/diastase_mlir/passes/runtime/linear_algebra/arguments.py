"""What the arguments of a Fortran routine point to.

Fortran takes everything by reference. An `Argument` is

- an `Array`: for each matrix of the batch a part of one buffer, or one buffer for all of them;
- a letter (`"L"`), a size, or a `Number`: kept in a slot of a small buffer (`Slots`), which is on
  the heap because an equation may stand in a loop, where a stack would grow;
- one of `INFO`, `WORK`, `LWORK`, `NULL`, which `Batch.call` fills in.

Addresses are integers until the call: a memref's descriptor means nothing to Fortran.
"""

import enum
from dataclasses import dataclass

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import allocate
from diastase_mlir.emit.operations import (
    create,
    index_binary,
    index_constant,
    index_type,
    integer_type,
    scalar_constant,
)
from diastase_mlir.emit.tensors import Size, as_index, plus, times


class Special(enum.Enum):
    """Arguments that have no value before the call."""

    INFO = enum.auto()
    """Where the routine says whether it succeeded."""
    WORK = enum.auto()
    """Workspace of the size that the routine asks for."""
    LWORK = enum.auto()
    """Its size."""
    NULL = enum.auto()
    """A function that is not called."""


@dataclass(frozen=True)
class Array:
    """A buffer with one array for each matrix of the batch."""

    buffer: ir.Value
    stride: Size
    """Elements from one array to the next; 0 where all share the buffer."""
    offset: Size = 0
    """Elements before the part that the routine gets."""

    def shifted(self, elements: Size) -> "Array":
        """Without the first elements of each array."""
        return Array(self.buffer, self.stride, elements)


@dataclass(frozen=True)
class Number:
    """A number of the matrices' type."""

    value: float


Argument = Array | Number | Special | Size | str

SLOT = 2
"""64-bit words in a slot: a complex number fits."""


def bytes_of(element: ir.Type) -> int:
    """The size of an element in memory."""
    if isinstance(element, ir.ComplexType):
        return 2 * bytes_of(element.element_type)
    if isinstance(element, (ir.F32Type, ir.F64Type)):
        return 4 if isinstance(element, ir.F32Type) else 8
    return ir.IntegerType(element).width // 8


def pointer_type() -> ir.Type:
    """`!llvm.ptr`."""
    return ir.Type.parse("!llvm.ptr")


def pointer(address: ir.Value) -> ir.Value:
    """An address (an `index`) as a pointer."""
    number = create("arith.index_cast", [integer_type(64)], [address]).result
    return create("llvm.inttoptr", [pointer_type()], [number]).result


def null_pointer() -> ir.Value:
    """A pointer to nothing."""
    return create("llvm.mlir.zero", [pointer_type()], []).result


def address_of(buffer: ir.Value) -> ir.Value:
    """The address of a buffer's first element."""
    name = "memref.extract_aligned_pointer_as_index"
    return create(name, [index_type()], [buffer]).result


def pointer_into(array: Array, number: Size) -> ir.Value:
    """A pointer to the array of one matrix of the batch."""
    element = ir.MemRefType(array.buffer.type).element_type
    elements = plus(array.offset, times(array.stride, number))
    distance = as_index(times(elements, bytes_of(element)))
    return pointer(index_binary("addi", address_of(array.buffer), distance))


class Slots:
    """Places for arguments that are no arrays."""

    def __init__(self, count: int):
        self._address = address_of(allocate([SLOT * count], integer_type(64)))

    def pointer(self, slot: int) -> ir.Value:
        """A pointer to a slot."""
        distance = index_constant(8 * SLOT * slot)
        return pointer(index_binary("addi", self._address, distance))

    def store(self, slot: int, value: "Size | str | Number", element: ir.Type) -> None:
        """Put an argument into a slot; `element` is the type of the matrices."""
        for place, scalar in enumerate(_scalars(value, element)):
            target = pointer(
                index_binary(
                    "addi",
                    self._address,
                    index_constant(8 * SLOT * slot + place * _part_bytes(element)),
                )
            )
            create("llvm.store", [], [scalar, target])


def _part_bytes(element: ir.Type) -> int:
    return bytes_of(real_type(element))


def real_type(element: ir.Type) -> ir.Type:
    """The type of the real part."""
    return element.element_type if isinstance(element, ir.ComplexType) else element


def _scalars(value: "Size | str | Number", element: ir.Type) -> list[ir.Value]:
    """What is stored for an argument; a complex number is two real ones."""
    if isinstance(value, str):
        return [scalar_constant(integer_type(8), ord(value))]
    if isinstance(value, Number):
        real = [scalar_constant(real_type(element), value.value)]
        return (
            real
            if element == real_type(element)
            else [*real, scalar_constant(real_type(element), 0)]
        )
    return [create("arith.index_cast", [integer_type(32)], [as_index(value)]).result]
