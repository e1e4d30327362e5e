"""What an outlined loop takes with it: the values that it uses, in a structure in memory.

Arrays travel as their descriptors. Where nothing that a loop writes can be what it reads, it gets
the addresses as `noalias` arguments, which is what LLVM needs in order to vectorise.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, reinterpret
from diastase_mlir.passes.memory import (
    descriptor_type,
    extracted,
    inserted,
    load,
    pointer_type,
    store,
)
from diastase_mlir.passes.operations import defining

_VIEWS = frozenset({
    "memref.cast", "memref.subview", "memref.reinterpret_cast", "memref.expand_shape",
    "memref.collapse_shape",
})  # fmt: skip


def llvm_type(kind: ir.Type) -> str | None:
    """The type in the structure, as `!llvm.struct` spells it; None where we know none."""
    if isinstance(kind, ir.MemRefType):
        return str(descriptor_type(kind.rank)).removeprefix("!llvm.")
    if isinstance(kind, ir.IndexType):
        return "i64"
    if isinstance(kind, ir.ComplexType):
        return f"struct<({kind.element_type}, {kind.element_type})>"
    if isinstance(kind, ir.IntegerType | ir.BF16Type | ir.F16Type | ir.F32Type | ir.F64Type):
        return str(kind)
    return "ptr" if str(kind) == "!llvm.ptr" else None


class Context:
    """The structure of one loop."""

    def __init__(self, values: Sequence[ir.Value]):
        self.values = values
        spellings = [llvm_type(value.type) or "" for value in values]
        self._fields = [ir.Type.parse(_as_type(spelling)) for spelling in spellings]
        self.type = ir.Type.parse(f"!llvm.struct<({', '.join(spellings)})>")

    @property
    def words(self) -> int:
        """How many 64-bit words it takes at most."""
        kinds = [value.type for value in self.values]
        return sum(3 + 2 * kind.rank if isinstance(kind, ir.MemRefType) else 2 for kind in kinds)

    def store(self, memory: ir.Value) -> None:
        """Write the values to memory."""
        structure = create("llvm.mlir.undef", [self.type]).result
        for position, (value, kind) in enumerate(zip(self.values, self._fields, strict=True)):
            structure = inserted(structure, reinterpret(value, kind), [position])
        store(structure, memory)

    def load(self, memory: ir.Value) -> ir.Value:
        """Read the structure from memory."""
        return load(self.type, memory)

    def addresses(self, structure: ir.Value) -> list[ir.Value]:
        """The addresses of the arrays in a structure."""
        return [
            extracted(structure, pointer_type(), [position, 1])
            for position, value in enumerate(self.values)
            if isinstance(value.type, ir.MemRefType)
        ]

    def unpack(self, structure: ir.Value, addresses: Sequence[ir.Value]) -> list[ir.Value]:
        """The values again, arrays at these addresses."""
        remaining = list(addresses)
        unpacked: list[ir.Value] = []
        for position, (value, kind) in enumerate(zip(self.values, self._fields, strict=True)):
            field = extracted(structure, kind, [position])
            if isinstance(value.type, ir.MemRefType):
                address = remaining.pop(0)
                for part in (0, 1):
                    field = inserted(field, address, [part])
            unpacked.append(reinterpret(field, value.type))
        return unpacked


def are_apart(written: Sequence[ir.Value], values: Sequence[ir.Value]) -> bool:
    """Whether what is written is certainly no other of the arrays."""
    arrays = [value for value in values if isinstance(value.type, ir.MemRefType)]
    origins = [_origin(array) for array in arrays]
    for result in written:
        origin = _origin(result)
        if origin is None or not _is_allocation(origin):
            return False
        for array, other in zip(arrays, origins, strict=True):
            if array != result and (other is None or other == origin):
                return False
    return True


def _origin(array: ir.Value) -> ir.Value | None:
    """The allocation, argument of the program or constant that an array is part of, if known."""
    while (owner := defining(array)) is not None:
        if owner.name not in _VIEWS:
            known = owner.name in ("memref.alloc", "memref.alloca", "memref.get_global")
            return array if known else None
        array = owner.operands[0]
    block: Any = array.owner
    return array if block.owner.operation.name == "func.func" else None


def _is_allocation(array: ir.Value) -> bool:
    owner = defining(array)
    return owner is not None and owner.name.startswith("memref.alloc")


def _as_type(spelling: str) -> str:
    return f"!llvm.{spelling}" if spelling.startswith(("struct", "ptr")) else spelling


def address_of_function(symbol: str, kind: ir.Type) -> ir.Value:
    """A pointer to a function of the module, which `to-llvm` makes one of."""
    name = {"value": ir.FlatSymbolRefAttr.get(symbol)}
    return reinterpret(create("func.constant", [kind], [], name).result, pointer_type())
