"""Take a qubit that is put back into the register and taken out again straight to its next gate.

    %2 = quantum.insert(%1, %wire, %a)           %b is %a, and %2 is %1
    …nothing that could touch this wire…    ->
    %b = quantum.extract(%2, %wire)

Lowering puts all qubits back where it meets control flow or a wire computed at run time. Where the
same wire is taken out again, the gates before and after do follow each other on that qubit if
nothing in between can act on it. What can: an extraction of a wire that may be the same one,
control flow that touches such a wire, whatever reads the whole register, and any operation unknown
here. After the passes `tidy` removes what is left over: qubits taken out for nothing, and checks
made before.

Two wires are the same if they are the same number or the same value (after CSE), and different if
they are different numbers or some operation has acted on both: it would have failed else. Any
others may be the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import Block, Circuit
from diastase_mlir.passes.circuits.gates import Gate
from diastase_mlir.passes.operations import (
    REGISTERS,
    bits_of,
    constant_of,
    defining,
    operations_in,
)

Wire = int | ir.Value


@dataclass
class _Known:
    """What is known at one place of a block."""

    inserted: dict[Wire, Any] = field(default_factory=dict)
    """For each wire the `quantum.insert` after which nothing has touched it."""
    different: set[tuple[Wire, Wire]] = field(default_factory=set)

    def forget_what_may_be(self, wire: Wire) -> None:
        """Something touches this wire."""
        for other in [other for other in self.inserted if self._may_be(other, wire)]:
            del self.inserted[other]

    def note_different(self, wires: list[Wire]) -> None:
        """One operation acts on all of these."""
        self.different.update((a, b) for a in wires for b in wires if a != b)

    def _may_be(self, first: Wire, second: Wire) -> bool:
        if isinstance(first, int) and isinstance(second, int):
            return first == second
        return (first, second) not in self.different


def forward_qubits(circuit: Circuit) -> None:
    """Join the ends of each qubit in all blocks of a circuit."""
    circuit.refresh()
    for block in circuit.blocks:
        _forward(block, circuit)


def _forward(block: Block, circuit: Circuit) -> None:
    known = _Known()
    for operation in block.operations:
        name = operation.operation.name
        if name == "quantum.extract":
            _forward_extract(operation, known, circuit)
        elif name == "quantum.insert":
            wire = wire_key(operation.wire)
            known.forget_what_may_be(wire)
            known.inserted[wire] = operation
        elif name in _ON_BITS:
            bits = bits_of(operation.operation)
            if len(bits) > 1:
                known.note_different([wire_key(circuit.wires[bit][1]) for bit in bits])
        elif name not in _HARMLESS:
            _forget_touched(operation, known)


def _forward_extract(operation: Any, known: _Known, circuit: Circuit) -> None:
    wire = wire_key(operation.wire)
    insert = known.inserted.pop(wire, None)
    if insert is None:
        known.forget_what_may_be(wire)
        return
    circuit.stale = True
    operation.bit.replace_all_uses_with(insert.bit)
    operation.operation.erase()
    insert.result.replace_all_uses_with(insert.register)
    insert.operation.erase()


def _forget_touched(operation: Any, known: _Known) -> None:
    """An operation with regions touches the wires that they touch; any other may touch all."""
    touched = touched_wires([operation]) if len(operation.operation.regions) else None
    if touched is None:
        known.inserted.clear()
        return
    for wire in touched:
        known.forget_what_may_be(wire)


def touched_wires(operations: Iterable[Any]) -> set[int] | None:
    """The wires that operations act on, inside of them included; None if they are not known."""
    touched: set[int] = set()
    for inner in (inner for outer in operations for inner in operations_in(outer)):
        if inner.name == "quantum.extract":
            wire = constant_of(inner.operands[1])
            unknown = wire is None
            touched.add(wire)
        elif inner.name.startswith("quantum."):
            unknown = inner.name not in _ON_BITS | _HARMLESS | {"quantum.insert"}
        else:
            is_loop = inner.name.startswith("scf.")
            registers = [value for value in inner.operands if str(value.type) in REGISTERS]
            unknown = bool(registers) and not is_loop
        if unknown:
            return None
    return touched


_ON_BITS = frozenset({
    "quantum.gate", "quantum.unitary", "quantum.diagonal", "quantum.prepare", "quantum.measure",
    "quantum.kraus", "quantum.superoperator", "quantum.replace",
})  # fmt: skip
_HARMLESS = frozenset({"quantum.global_phase", "quantum.check_wires", "quantum.follow"})
"""Operations on bits touch the wires that these were taken from, and no others."""


def wire_key(wire: ir.Value) -> Wire:
    """What a wire is the same as another by."""
    number = constant_of(wire)
    return wire if number is None else number


def tidy(circuit: Circuit) -> None:
    """Remove extractions that are put back unchanged, and checks of what is known to be so."""
    circuit.refresh()
    for block in circuit.blocks:
        checked: set[frozenset[Wire]] = set()
        for operation in block.operations:
            name = operation.operation.name
            if name == "quantum.insert":
                _remove_if_idle(operation)
                circuit.stale = True
            elif name == "quantum.check_wires":
                wires = frozenset(map(wire_key, list(operation.operation.operands)[1:]))
                if any(wires <= others for others in checked):
                    operation.operation.erase()
                    circuit.stale = True
                checked.add(wires)
            elif name in ("quantum.gate", "quantum.unitary"):
                bits = Gate(operation).bits
                checked.add(frozenset(wire_key(circuit.wires[bit][1]) for bit in bits))


def _remove_if_idle(insert: Any) -> None:
    extract = defining(insert.bit)
    if extract is None or extract.name != "quantum.extract":
        return
    if wire_key(extract.operands[1]) != wire_key(insert.wire):
        return
    insert.result.replace_all_uses_with(insert.register)
    insert.operation.erase()
    extract.erase()
