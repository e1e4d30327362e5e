"""Straight parts of a circuit: operations on qubits that certainly differ, and others instead.

A pattern sees a gate and those before it; a pass that moves operations past each other, or makes
others of many, sees a segment: everything that happens to qubits between two places where they are
put back into the register, at control flow, at a wire that may be any, at the end. Its operations
are steps on qubits, numbered from 0 within the segment. A pass says what comes in the place of each
step, and after the last one:

    for segment in segments(circuit):
        with segment.rewritten() as place:
            for step in segment.steps:
                place.at(step)
                place.keep(step)                        # it stays
                place.gate("Hadamard", [0])             # a gate of the gate table
                place.measure("XZ", [0, 2])             # a measurement of a word; its outcome

What is not kept is gone. So what an operation is made of is computed before it, and angles need not
move. `auxiliary` gives further qubits, in |0>, which have to be in |0> again at the end.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, scalar_constant
from diastase_mlir.passes.circuits.circuit import BIT, Circuit
from diastase_mlir.passes.circuits.gates import Gate, New
from diastase_mlir.passes.circuits.values import Number, add, as_value, is_zero, opposite
from diastase_mlir.passes.operations import REGISTERS, bits_of

_ON_BITS = frozenset({
    "quantum.gate", "quantum.unitary", "quantum.diagonal", "quantum.prepare", "quantum.measure",
})  # fmt: skip
_PASSIVE = frozenset({
    "quantum.alloc", "quantum.extract", "quantum.global_phase", "quantum.check_wires",
})  # fmt: skip
_ENDING = frozenset({
    "quantum.insert", "quantum.global_phase", "quantum.check_wires", "quantum.release",
})  # fmt: skip


@dataclass(frozen=True, eq=False)
class Step:
    """An operation of a segment, on qubits: targets, then controls."""

    operation: Any
    qubits: tuple[int, ...]

    @property
    def gate(self) -> Gate | None:
        """The gate, if it is one by name."""
        return Gate(self.operation) if self.name == "quantum.gate" else None

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.operation.operation.name

    @property
    def location(self) -> ir.Location:
        """The user's line."""
        return self.operation.operation.location


@dataclass(eq=False)
class Segment:
    """Operations that follow each other in a block."""

    circuit: Circuit
    steps: list[Step] = field(default_factory=list[Step])
    is_last: bool = False
    """Whether nothing happens to its qubits afterwards, and nobody looks at them."""
    registers: list[ir.Value] = field(default_factory=list[ir.Value])
    """The one that its qubits are of, where the first step is and where the last one is."""
    _qubit_of: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    _first: list[ir.Value] = field(default_factory=list[ir.Value])
    _end: list[ir.Value] = field(default_factory=list[ir.Value])

    def append(self, operation: Any, register: ir.Value) -> None:
        """One more operation on bits."""
        inner = operation.operation
        qubits = tuple(map(self._qubit, bits_of(inner)))
        for qubit, result in zip(qubits, inner.results, strict=False):  # an outcome is no qubit
            self._qubit_of[result], self._end[qubit] = qubit, result
        self.steps.append(Step(operation, qubits))
        self.registers = [*self.registers[:1], register]

    def _qubit(self, bit: ir.Value) -> int:
        if bit not in self._qubit_of:
            self._qubit_of[bit] = len(self._first)
            self._first.append(bit)
            self._end.append(bit)
        return self._qubit_of[bit]

    @contextmanager
    def rewritten(self) -> Generator["Place"]:
        """All steps go, except those that are kept, and what is made inside comes instead."""
        self.circuit.stale = True
        last = self.steps[-1].operation
        uses = [list(end.uses) for end in self._end]
        end = ir.InsertionPoint.after(last)  # before what is made there
        place = Place(self, list(self._first))
        yield place
        for bit, found in zip(place.bits, uses, strict=False):
            for use in found:
                use.owner.operands[use.operand_number] = bit
        with end, last.operation.location:
            place.finish(self.registers[-1])
        for step in reversed(self.steps):
            if step not in place.kept:
                step.operation.operation.erase()


@dataclass
class Place:
    """A place in a segment that is rewritten."""

    segment: Segment
    bits: list[ir.Value]
    """Of each qubit, as what has been made so far leaves it."""
    kept: set[Step] = field(default_factory=set[Step])
    _phase: Number = 0.0
    _step: Step | None = None
    _point: Any = None
    _constants: dict[float, ir.Value] = field(default_factory=dict[float, ir.Value])
    _auxiliary: list[tuple[int, ir.Value]] = field(default_factory=list[tuple[int, ir.Value]])

    def at(self, step: Step) -> None:
        """What is made next comes in the place of this step, and from its line."""
        self._step, self._point = step, ir.InsertionPoint(step.operation)

    def at_the_end(self) -> None:
        """What is made next comes after all steps, from the line of the last one."""
        self._step = self.segment.steps[-1]
        self._point = ir.InsertionPoint.after(self._step.operation)

    @contextmanager
    def emitting(self) -> Generator[None]:
        """Compute angles there."""
        assert self._step is not None, "a place has to be chosen"
        with self._point, self._step.location:
            yield

    def multiply_by_phase(self, phi: Number) -> None:
        """Multiply the state by exp(-i phi), at the end."""
        with self.emitting():
            self._phase = add(self._phase, phi)

    def keep(self, step: Step) -> None:
        """The step that is here stays."""
        self.kept.add(step)
        inner = step.operation.operation
        first = len(inner.operands) - len(step.qubits)
        for place, qubit in enumerate(step.qubits, first):
            inner.operands[place] = self.bits[qubit]
        self._advance(step.qubits, inner.results)

    def gate(
        self, name: str, qubits: Sequence[int], parameters: Sequence[Number] = (),
        from_step: Step | None = None,
    ) -> None:  # fmt: skip
        """A gate of the gate table without controls; of another step's line, if that is given."""
        step = from_step or self._step
        assert step is not None
        with self._point, step.location:
            values = list(map(self._value, parameters))
            site = step.operation.operation.attributes["site"]
            made = New(name, qubits).create(self.bits, values, site)
        self._advance(qubits, made.results)

    def _value(self, number: Number) -> ir.Value:
        """A number as a value; equal ones are one, as steps are rewritten in their order."""
        if isinstance(number, ir.Value):
            return number
        if number not in self._constants:
            self._constants[number] = as_value(number)
        return self._constants[number]

    def measure(
        self, word: str, qubits: Sequence[int], *, reset: bool = False, postselect: int = -1
    ) -> ir.Value:
        """Measure a word; `reset`, of one letter, puts the qubit into |0>. The outcome."""
        assert self._step is not None
        bits = [self.bits[qubit] for qubit in qubits]
        long = ir.IntegerType.get_signless(64)
        attributes: dict[str, ir.Attribute] = {
            "word": ir.StringAttr.get(word),
            "reset": ir.BoolAttr.get(reset),
            "postselect": ir.IntegerAttr.get(long, postselect),
            "site": self._step.operation.site,
        }
        with self.emitting():
            types = [*(bit.type for bit in bits), ir.IntegerType.get_signless(1)]
            made = create("quantum.measure", types, bits, attributes)
        self._advance(qubits, made.results)
        return made.results[len(bits)]

    def measure_instead(self, step: Step, word: str, qubits: Sequence[int], flipped: bool) -> None:
        """Measure another word in the place of a measurement; `flipped`: with opposite outcomes."""
        old = step.operation
        postselect = old.postselect.value
        if flipped and postselect >= 0:
            postselect = 1 - postselect
        outcome = self.measure(word, qubits, postselect=postselect)
        if flipped:
            with self.emitting():
                outcome = opposite(outcome)
        list(old.operation.results)[-1].replace_all_uses_with(outcome)

    def auxiliary(self, number: int) -> list[int]:
        """So many further qubits, in |0>: the same ones in all segments of a circuit."""
        for place in range(len(self._auxiliary), number):
            wire = self.segment.circuit.auxiliary_wire(place)
            first = self.segment.steps[0].operation
            register: Any = self.segment.registers[0]
            with ir.InsertionPoint(first), first.operation.location:
                kind = ir.IntegerType.get_signless(64)
                value = scalar_constant(kind, wire)
                bit = create("quantum.extract", [ir.Type.parse(BIT)], [register, value]).result
            self._auxiliary.append((len(self.bits), value))
            self.bits.append(bit)
        return [qubit for qubit, _ in self._auxiliary[:number]]

    def _advance(self, qubits: Sequence[int], results: Sequence[ir.Value]) -> None:
        for qubit, result in zip(qubits, results, strict=False):
            self.bits[qubit] = result

    def finish(self, register: Any) -> None:
        """Put auxiliary qubits back into the register, and multiply it by the phase."""
        uses = list(register.uses)
        last = self.segment.steps[-1].operation
        after = [use for use in uses if _is_after(use.owner, last.operation)]
        changed = register
        for qubit, wire in self._auxiliary:
            operands = [changed, wire, self.bits[qubit]]
            changed = create("quantum.insert", [register.type], operands).result
        if not is_zero(self._phase):
            operands = [changed, as_value(self._phase)]
            site = {"site": last.site}
            changed = create("quantum.global_phase", [register.type], operands, site).result
        if changed != register:
            for use in after:
                use.owner.operands[use.operand_number] = changed


def _is_after(operation: Any, other: Any) -> bool:
    """Whether an operation comes after another one in its block, or inside of one that does."""
    operation = operation.operation
    while operation.parent is not None:  # a module has no block to ask for
        if operation.block == other.block:
            return other.is_before_in_block(operation)
        operation = operation.parent.operation
    return False


def segments(circuit: Circuit) -> list[Segment]:
    """The segments of all blocks, the last one first, so that each may be rewritten in this order.

    The trap: what goes into a segment is what those before it give, and the register in a branch is
    that of the block around it.
    """
    circuit.refresh()
    found = [one for block in circuit.blocks for one in _of_block(block.operations, circuit)]
    return found[::-1]


def _of_block(operations: Sequence[Any], circuit: Circuit) -> list[Segment]:
    found = [Segment(circuit)]
    register: Any = None
    end = 0
    for place, operation in enumerate(operations):
        inner = operation.operation
        if inner.name in _ON_BITS:
            found[-1].append(operation, register)
            end = place
            continue
        if inner.name not in _PASSIVE and found[-1].steps:
            found.append(Segment(circuit))
        if inner.name == "quantum.extract":
            register = inner.operands[0]
        else:
            register = next((v for v in inner.results if str(v.type) in REGISTERS), register)
    found = [segment for segment in found if segment.steps]
    after = [operation.operation.name for operation in operations[end + 1 :]]
    if found and "quantum.release" in after and _ENDING.issuperset(after):
        found[-1].is_last = True
    return found
