"""A register while a circuit is written: one value in a jaxpr, qubits in the `quantum` dialect.

As in the compiler's lowering (`lowering/quantum/registers.py`), which makes the same operations of
another MLIR's: qubits of known wires are taken out once and go from gate to gate; who needs the
register as a value, or a wire that is computed, has all qubits put back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.circuits.circuit import BIT


@dataclass
class Register:
    """A register value, and the qubits that are out of it at the moment."""

    value: ir.Value
    _bits: dict[int, ir.Value] = field(default_factory=dict[int, ir.Value])

    def whole(self) -> ir.Value:
        """Put all qubits back."""
        for wire, bit in self._bits.items():
            self._insert(wire_constant(wire), bit)
        self._bits.clear()
        return self.value

    def take(self, wires: Sequence[int | ir.Value]) -> list[ir.Value]:
        """The qubits of these wires, for one operation."""
        known = [wire for wire in wires if isinstance(wire, int)]
        if len(known) == len(wires):
            for wire in known:
                if wire not in self._bits:
                    self._bits[wire] = self._extract(wire_constant(wire))
            return [self._bits[wire] for wire in known]
        self.whole()
        return [self._extract(_as_value(wire)) for wire in wires]

    def give_back(self, wires: Sequence[int | ir.Value], bits: Iterable[ir.Value]) -> None:
        """What the operation has made of them."""
        known = all(isinstance(wire, int) for wire in wires)
        for wire, bit in zip(wires, bits, strict=True):
            if known and isinstance(wire, int):
                self._bits[wire] = bit
            else:
                self._insert(_as_value(wire), bit)

    def _extract(self, wire: ir.Value) -> ir.Value:
        return create("quantum.extract", [ir.Type.parse(BIT)], [self.value, wire]).result

    def _insert(self, wire: ir.Value, bit: ir.Value) -> None:
        operands = [self.value, wire, bit]
        self.value = create("quantum.insert", [self.value.type], operands).result


def wire_constant(wire: int) -> ir.Value:
    """The number of a wire as a value."""
    kind = ir.IntegerType.get_signless(64)
    return create("arith.constant", [kind], [], {"value": ir.IntegerAttr.get(kind, wire)}).result


def _as_value(wire: int | ir.Value) -> ir.Value:
    return wire_constant(wire) if isinstance(wire, int) else wire
