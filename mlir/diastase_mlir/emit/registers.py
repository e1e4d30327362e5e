"""Registers while operations on them are made: one value in a jaxpr, qubits in `quantum`.

A jaxpr threads one register; the dialect has qubits. A `Register` is the register with some
qubits taken out, by known wire: gates on known wires take the bit of the gate before, so the
data flow per wire is explicit. Whoever needs the register as a value (control flow, a measurement
of an observable, an operation on a traced wire, which could be any qubit) materialises it: all
bits go back in.

The trap: a `Register` is changed in place and handed on as the equation's result. That is sound
because registers are used linearly: nobody looks at the one before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.operations import create, integer_constant


def bit_type() -> ir.Type:
    """`!quantum.bit`."""
    return ir.Type.parse("!quantum.bit")


@dataclass
class Register:
    """A register value, and the qubits that are out of it at the moment."""

    value: ir.Value
    bits: dict[int, ir.Value] = field(default_factory=dict[int, ir.Value])

    @staticmethod
    def wire(number: int) -> ir.Value:
        """A wire that is known, as a value."""
        return integer_constant(number)

    def materialise(self) -> ir.Value:
        """Put all qubits back."""
        for wire, bit in self.bits.items():
            self.insert(self.wire(wire), bit)
        self.bits.clear()
        return self.value

    def extract(self, wire: ir.Value) -> ir.Value:
        """Take out a qubit; the caller puts it back."""
        return create("quantum.extract", [bit_type()], [self.value, wire]).result

    def insert(self, wire: ir.Value, bit: ir.Value) -> None:
        """Put a qubit back."""
        operands = [self.value, wire, bit]
        self.value = create("quantum.insert", [self.value.type], operands).result

    def bit(self, wire: int) -> ir.Value:
        """The qubit of a known wire, taken out if need be."""
        if wire not in self.bits:
            self.bits[wire] = self.extract(self.wire(wire))
        return self.bits[wire]

    def take(self, wires: Sequence[int | ir.Value]) -> "TakenBits":
        """Take the qubits on these wires out, for one operation."""
        known = [wire for wire in wires if isinstance(wire, int)]
        if len(known) == len(wires):
            return TakenBits(self, known, [self.bit(wire) for wire in known])
        self.materialise()
        values = [self.wire(wire) if isinstance(wire, int) else wire for wire in wires]
        return TakenBits(self, values, [self.extract(wire) for wire in values])


@dataclass(frozen=True)
class TakenBits:
    """The qubits on which an operation acts, and where their successors go."""

    register: Register
    wires: Sequence[int | ir.Value]
    bits: list[ir.Value]

    def give_back(self, bits: Iterable[ir.Value]) -> Register:
        """Continue with these qubits in their places."""
        for wire, bit in zip(self.wires, bits, strict=True):
            if isinstance(wire, int):
                self.register.bits[wire] = bit
            else:
                self.register.insert(wire, bit)
        return self.register
