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
    integer_type,
    scalar_constant,
)
from diastase_mlir.emit.tensors import Size, as_index, plus, times
from diastase_mlir.passes.memory import address_of, bytes_of, store, to_pointer, word_type


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


WORKSPACE = (Special.WORK, Special.LWORK)


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


def pointer_into(array: Array, number: Size) -> ir.Value:
    """A pointer to the array of one matrix of the batch."""
    element = ir.MemRefType(array.buffer.type).element_type
    elements = plus(array.offset, times(array.stride, number))
    distance = as_index(times(elements, bytes_of(element)))
    return to_pointer(index_binary("addi", address_of(array.buffer), distance))


class Slots:
    """Places for arguments that are no arrays."""

    def __init__(self, count: int):
        self._address = address_of(allocate([SLOT * count], word_type()))

    def pointer(self, slot: int, more: int = 0) -> ir.Value:
        """A pointer to a slot, or so many bytes behind it."""
        distance = index_constant(8 * SLOT * slot + more)
        return to_pointer(index_binary("addi", self._address, distance))

    def store(self, slot: int, value: "Size | str | Number", element: ir.Type) -> None:
        """Put an argument into a slot; `element` is the type of the matrices."""
        for place, scalar in enumerate(_scalars(value, element)):
            store(scalar, self.pointer(slot, place * bytes_of(real_type(element))))


def real_type(element: ir.Type) -> ir.Type:
    """The type of the real part."""
    return element.element_type if isinstance(element, ir.ComplexType) else element


def _scalars(value: "Size | str | Number", element: ir.Type) -> list[ir.Value]:
    """What is stored for an argument; a complex number is two real ones."""
    if isinstance(value, str):
        return [scalar_constant(integer_type(8), ord(value))]
    if isinstance(value, Number):
        parts = [value.value, 0] if isinstance(element, ir.ComplexType) else [value.value]
        return [scalar_constant(real_type(element), part) for part in parts]
    return [create("arith.index_cast", [integer_type(32)], [as_index(value)]).result]
