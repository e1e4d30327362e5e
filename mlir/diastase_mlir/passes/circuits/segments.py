"""Straight parts of a circuit: operations on qubits that certainly differ, and others in their place.

A pattern sees a gate and those before it; a pass that moves operations past each other, or makes
others of many, sees a segment: everything that happens to qubits between two places where they are
put back into the register, at control flow, at a wire that may be any, at the end. Its operations
are steps on qubits, numbered from 0 within the segment. A pass says what comes in the place of each
step and at the end, in order:

    for segment in segments(circuit):
        segment.replace([[…], […], …], at_the_end)    # as many lists as steps

A step that is listed stays as it is; a `New` on qubits of the segment is made. So what an operation
is made of is computed before it, and angles need not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, scalar_constant
from diastase_mlir.passes.circuits.circuit import BIT, Circuit
from diastase_mlir.passes.circuits.gates import Gate, New
from diastase_mlir.passes.circuits.values import Number, as_value, is_zero
from diastase_mlir.passes.operations import REGISTERS

_ON_BITS = frozenset({
    "quantum.gate", "quantum.unitary", "quantum.diagonal", "quantum.prepare", "quantum.measure",
})  # fmt: skip
_PASSIVE = frozenset({"quantum.alloc", "quantum.extract", "quantum.global_phase", "quantum.check_wires"})


@dataclass(frozen=True, eq=False)
class Step:
    """An operation of a segment, on qubits: targets, then controls."""

    operation: Any
    qubits: tuple[int, ...]

    @property
    def gate(self) -> Gate | None:
        """The gate, if it is one."""
        return Gate(self.operation) if self.name == "quantum.gate" else None

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.operation.operation.name


@dataclass(frozen=True)
class Measurement:
    """A measurement to be made in the place of another one, of a word on qubits.

    `flipped`: the outcome is the opposite of the one that is found.
    """

    step: Step
    word: str
    qubits: Sequence[int]
    flipped: bool


@dataclass(frozen=True)
class Emitted:
    """A gate to be made, on qubits of the segment, in the name of a step."""

    step: Step
    new: New


Instruction = Step | Emitted | Measurement


@dataclass(eq=False)
class Segment:
    """Operations that follow each other in a block."""

    circuit: Circuit
    steps: list[Step] = field(default_factory=list[Step])
    register: ir.Value | None = None
    """The one that its qubits are of, where the last step is."""
    is_last: bool = False
    """Whether nothing happens to its qubits afterwards, and nobody looks at them."""
    _qubit_of: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    _first: list[ir.Value] = field(default_factory=list[ir.Value])
    _end: list[ir.Value] = field(default_factory=list[ir.Value])

    def append(self, operation: Any) -> None:
        """One more operation on bits."""
        inner = operation.operation
        bits = [value for value in inner.operands if str(value.type) == BIT]
        results = [value for value in inner.results if str(value.type) == BIT]
        qubits = tuple(map(self._qubit, bits))
        for qubit, result in zip(qubits, results, strict=True):
            self._qubit_of[result], self._end[qubit] = qubit, result
        self.steps.append(Step(operation, qubits))

    def _qubit(self, bit: ir.Value) -> int:
        if bit not in self._qubit_of:
            self._qubit_of[bit] = len(self._first)
            self._first.append(bit)
            self._end.append(bit)
        return self._qubit_of[bit]

    def replace(
        self, placed: Sequence[Sequence[Instruction]], at_the_end: Sequence[Instruction] = ()
    ) -> None:
        """Put instructions in the place of each step, and others after all of them."""
        self.circuit.stale = True
        uses = [list(end.uses) for end in self._end]
        current = list(self._first)
        kept: set[int] = set()
        for step, instructions in zip(self.steps, placed, strict=True):
            with ir.InsertionPoint(step.operation):
                for instruction in instructions:
                    self._emit(instruction, current)
            kept.update(id(one) for one in instructions if isinstance(one, Step))
        if at_the_end:
            with ir.InsertionPoint.after(self.steps[-1].operation):
                for instruction in at_the_end:
                    self._emit(instruction, current)
        for end, found in zip(current, uses, strict=True):
            for use in found:
                use.owner.operands[use.operand_number] = end
        for step in reversed(self.steps):
            if id(step) not in kept:
                step.operation.operation.erase()

    def multiply_by_phase(self, phi: Number) -> None:
        """Multiply the state by exp(-i phi), after all steps as they are now."""
        register, last = self.register, self.steps[-1].operation
        assert register is not None
        if is_zero(phi):
            return
        self.circuit.stale = True
        after = [use for use in register.uses if _is_after(use.owner, last.operation)]
        with ir.InsertionPoint.after(last), last.operation.location:
            operands = [register, as_value(phi)]
            site = {"site": last.site}
            made = create("quantum.global_phase", [register.type], operands, site)
        for use in after:
            use.owner.operands[use.operand_number] = made.result

    def _emit(self, instruction: Instruction, current: list[ir.Value]) -> None:
        if isinstance(instruction, Step):
            qubits, results = instruction.qubits, self._keep(instruction, current)
        elif isinstance(instruction, Measurement):
            qubits, results = instruction.qubits, _measure(instruction, current)
        else:
            new = instruction.new
            qubits = (*new.wires, *new.controls)
            operation = instruction.step.operation
            with operation.operation.location:
                parameters = list(map(as_value, new.parameters))
                results = list(new.create(current, parameters, operation.site).results)
        for qubit, result in zip(qubits, results, strict=True):
            current[qubit] = result

    def _keep(self, step: Step, current: list[ir.Value]) -> list[ir.Value]:
        inner = step.operation.operation
        qubits = iter(step.qubits)
        for place, value in enumerate(inner.operands):
            if str(value.type) == BIT:
                inner.operands[place] = current[next(qubits)]
        return [value for value in inner.results if str(value.type) == BIT]


def _measure(measurement: Measurement, current: Sequence[ir.Value]) -> list[ir.Value]:
    """Make a measurement like another one, of another word."""
    old = measurement.step.operation
    bits = [current[qubit] for qubit in measurement.qubits]
    postselect = old.postselect
    if measurement.flipped and postselect.value >= 0:
        postselect = ir.IntegerAttr.get(postselect.type, 1 - postselect.value)
    attributes = {
        "word": ir.StringAttr.get(measurement.word),
        "reset": old.reset, "postselect": postselect, "site": old.site,
    }  # fmt: skip
    outcome: Any = old.outcome
    with old.operation.location:
        types = [*(bit.type for bit in bits), outcome.type]
        made = create("quantum.measure", types, bits, attributes)
        found = made.results[len(bits)]
        if measurement.flipped:
            yes = scalar_constant(outcome.type, True)
            found = create("arith.xori", [outcome.type], [found, yes]).result
    outcome.replace_all_uses_with(found)
    return list(made.results)[: len(bits)]


def _is_after(operation: Any, other: Any) -> bool:
    """Whether an operation comes after another one in its block, or inside of one that does."""
    operation = operation.operation
    while operation.block != other.block:
        if operation.parent is None:
            return False
        operation = operation.parent.operation
    return other.is_before_in_block(operation)


def segments(circuit: Circuit) -> list[Segment]:
    """The segments of all blocks, in order."""
    circuit.refresh()
    found = [one for block in circuit.blocks for one in _of_block(block.operations, circuit)]
    return [segment for segment in found if segment.steps]


_ENDING = frozenset({
    "quantum.insert", "quantum.global_phase", "quantum.check_wires", "quantum.release",
})  # fmt: skip


def _ends(operations: Sequence[Any], segment: Segment) -> bool:
    """Whether after a segment its register is only given back."""
    last = segment.steps[-1].operation
    place = next(n for n, one in enumerate(operations) if one.operation == last.operation)
    after = [one.operation.name for one in operations[place + 1 :]]
    return "quantum.release" in after and _ENDING.issuperset(after)


def _of_block(operations: Sequence[Any], circuit: Circuit) -> list[Segment]:
    found = [Segment(circuit)]
    register = None
    for operation in operations:
        inner = operation.operation
        if inner.name in _ON_BITS:
            found[-1].append(operation)
            found[-1].register = register
            continue
        if inner.name not in _PASSIVE and found[-1].steps:
            found.append(Segment(circuit))
        if inner.name == "quantum.extract":
            register = inner.operands[0]
        else:
            register = next((v for v in inner.results if str(v.type) in REGISTERS), register)
    if len(found) > 1 and not found[-1].steps:
        found.pop()
    if found[-1].steps:
        found[-1].is_last = _ends(operations, found[-1])
    return found
