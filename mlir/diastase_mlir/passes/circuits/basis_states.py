"""Which qubits are certainly in |0>, |1>, |+> or |->, at every place of a circuit.

The state analysis of J. Liu, L. Bello and H. Zhou, "Relaxed Peephole Optimization: A Novel Compiler
Optimization for Quantum Circuits", arXiv:2012.07711 (CGO 2021): a circuit starts with all qubits in
|0>, each gate changes what is known of its qubits, and where ways meet only what all agree on is
kept. Here it goes through control flow (a loop's body is gone through until nothing more is lost)
and wires computed at run time: such a wire may be any, so reading it gives what all wires have in
common, and writing it weakens what is known of each.

States are known up to a factor, which no rule built on them depends on: a rule replaces an
operation by one that is equal to it on all vectors in which these qubits have these states.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.circuit import BIT, Circuit
from diastase_mlir.passes.circuits.gates import Gate, New, Shape, shape_of
from diastase_mlir.passes.operations import REGISTERS, constant_of
from diastase_runtime.gate_table import word_of

State = str | None
"""`0`, `1`, `+` or `-`; None where it is not known to be one of them."""

_PHASE: dict[State, State] = {"0": "0", "1": "1"}
_ABOUT_X: dict[State, State] = {"+": "+", "-": "-"}
GATES: dict[str, dict[State, State]] = {
    "Identity": {**_PHASE, **_ABOUT_X},
    "Hadamard": {"0": "+", "1": "-", "+": "0", "-": "1"},
    "PauliX": {"0": "1", "1": "0", "+": "+", "-": "-"},
    "PauliY": {"0": "1", "1": "0", "+": "-", "-": "+"},
    "PauliZ": {"0": "0", "1": "1", "+": "-", "-": "+"},
    **dict.fromkeys(("S", "Adjoint(S)", "T", "Adjoint(T)", "RZ", "PhaseShift"), _PHASE),
    **dict.fromkeys(("SX", "Adjoint(SX)", "RX"), _ABOUT_X),
}  # fmt: skip
"""What gates on one qubit make of known states. A state that stays is an eigenvector."""

EIGENVALUES: dict[tuple[str, State], int] = {
    ("PauliX", "+"): 1, ("PauliX", "-"): -1, ("PauliZ", "0"): 1, ("PauliZ", "1"): -1,
    **{(name, "0"): 1 for name in ("S", "Adjoint(S)", "T", "Adjoint(T)", "PhaseShift")},
    **{("Identity", state): 1 for state in "01+-"},
}  # fmt: skip
"""Those eigenvalues that are known to be 1 or -1."""

DIAGONAL = frozenset({"IsingZZ", "MultiRZ", "CPhaseShift00"})
"""Gates on several qubits that leave |0> and |1> alone."""


@dataclass
class Register:
    """What is known of the qubits in a register."""

    default: State
    """Of wires that have not been touched."""
    states: dict[int, State] = field(default_factory=dict)

    def read(self, wire: int | None) -> State:
        """The state of a wire; of one that may be any (None), what all have in common."""
        if wire is not None:
            return self.states.get(wire, self.default)
        everything = {self.default, *self.states.values()}
        return everything.pop() if len(everything) == 1 else None

    def write(self, wire: int | None, state: State) -> None:
        """Put a qubit back."""
        if wire is not None:
            self.states[wire] = state
            return
        self.default = _common(self.default, state)
        self.states = {each: _common(known, state) for each, known in self.states.items()}

    def copy(self) -> "Register":
        """The same, to go another way."""
        return Register(self.default, dict(self.states))

    def joined(self, other: "Register") -> "Register":
        """What is known where two ways meet."""
        wires = self.states.keys() | other.states.keys()
        states = {wire: _common(self.read(wire), other.read(wire)) for wire in wires}
        return Register(_common(self.default, other.default), states)


def _common(first: State, second: State) -> State:
    return first if first == second else None


def basis_states(circuit: Circuit) -> dict[ir.Value, State]:
    """For each bit of a circuit, the state that its qubit certainly has there."""
    circuit.refresh()
    states: dict[ir.Value, State] = {}
    _Analysis(circuit, states).block(circuit.allocation.operation.block, Register("0"))
    return states


@dataclass
class _Analysis:
    circuit: Circuit
    bits: dict[ir.Value, State]

    def block(self, block: ir.Block, register: Register) -> Register:
        """Go through a block; what is known at its end."""
        for operation in block.operations:
            if operation.operation in self.circuit.members:
                register = self.operation(operation, register)
        return register

    def operation(self, operation: Any, register: Register) -> Register:
        name = operation.operation.name
        if name == "quantum.extract":
            self.bits[operation.bit] = register.read(constant_of(operation.wire))
        elif name == "quantum.insert":
            register.write(constant_of(operation.wire), self.bits.get(operation.bit))
        elif name in ("quantum.gate", "quantum.unitary"):
            gate = Gate(operation)
            before = [self.bits.get(bit) for bit in gate.bits]
            self.bits.update(zip(gate.results, _after(shape_of(gate), before), strict=True))
        elif name == "quantum.measure":
            before = [self.bits.get(bit) for bit in operation.operation.operands]
            bits = list(operation.operation.results)[:-1]
            self.bits.update(zip(bits, _measured(operation, before), strict=True))
        elif len(operation.operation.regions):
            return self.control_flow(operation.operation, register)
        elif name not in _UNCHANGED:
            return self.unknown(operation, register)
        return register

    def control_flow(self, operation: Any, register: Register) -> Register:
        """What is known after a loop or branch."""
        blocks = [list(region.blocks) for region in operation.regions]
        entries = [found[0] for found in blocks if found]
        match operation.name:
            case "scf.if" | "scf.index_switch":
                ends = [self.block(entry, register.copy()) for entry in entries]
                if len(entries) < len(blocks):
                    ends.append(register)
                joined = ends[0]
                for end in ends[1:]:
                    joined = joined.joined(end)
                return joined
            case "scf.for":
                return self.loop(register, lambda start: self.iteration(entries[0], start))
            case "scf.while":
                return self.loop(register, lambda start: self.turn(entries, start))
            case _:
                return Register(None)

    def iteration(self, entry: Any, start: Register) -> tuple[Register, Register]:
        """The body of a `for`, which is left where it starts."""
        return start, self.block(entry, start.copy())

    def turn(self, entries: list[Any], start: Register) -> tuple[Register, Register]:
        """The condition and the body of a `while`: what is known after each."""
        decided = self.block(entries[0], start.copy())
        return decided, self.block(entries[1], decided.copy())

    def loop(self, register: Register, turn: Any) -> Register:
        """Go through a loop until what is known at its start no longer shrinks."""
        while True:
            left, end = turn(register.copy())
            joined = register.joined(end)
            if joined == register:
                return left
            register = joined

    def unknown(self, operation: Any, register: Register) -> Register:
        """An operation that is not known here: it may do anything to what it gives back."""
        results = list(operation.operation.results)
        self.bits.update((value, None) for value in results if str(value.type) == BIT)
        gives_register = any(str(value.type) in REGISTERS for value in results)
        return Register(None) if gives_register else register


_UNCHANGED = frozenset({
    "quantum.alloc", "quantum.global_phase", "quantum.check_wires", "quantum.follow",
})  # fmt: skip


def _measured(operation: Any, before: list[State]) -> list[State]:
    word = operation.word.value
    if operation.reset.value:
        return ["0"]
    if word == "Z" and operation.postselect.value >= 0:
        return [str(operation.postselect.value)]
    return [_kept(letter, state) for letter, state in zip(word, before, strict=True)]


def _kept(letter: str, state: State) -> State:
    """What a word leaves of a qubit: an eigenvector of its own letter stays."""
    return state if state in _EIGENVECTORS[letter] else None


_EIGENVECTORS: dict[str, tuple[State, ...]] = {"X": ("+", "-"), "Y": (), "Z": ("0", "1")}


def open_controls(shape: Shape, before: list[State]) -> list[tuple[int, bool]] | None:
    """Controls that are not known to be met; None where one is known not to be."""
    undecided: list[tuple[int, bool]] = []
    for position, value in shape.controls:
        if before[position] not in ("0", "1"):
            undecided.append((position, value))
        elif (before[position] == "1") != value:
            return None
    return undecided


def _after(shape: Shape, before: list[State]) -> list[State]:
    """States of a gate's qubits after it, in the order of its bits."""
    after = list(before)
    controls = open_controls(shape, before)
    if controls is None:
        return after
    of_targets = [before[position] for position in shape.targets]
    if len(shape.targets) == 1 and shape.name in GATES:
        (target,), (state,) = shape.targets, of_targets
        result = GATES[shape.name].get(state)
        if not controls:
            after[target] = result
            return after
        after[target] = state if state is not None and result == state else None
        factor = EIGENVALUES.get((shape.name, state))
        for position, _ in controls:
            after[position] = _kicked_back(before[position], factor, len(controls))
        return after
    if shape.name == "SWAP" and (not controls or _are_same(of_targets)):
        first, second = list(shape.targets)
        after[first], after[second] = before[second], before[first]
        return after
    word = "Z" * len(of_targets) if shape.name in DIAGONAL else word_of(shape.name)
    for k, position in enumerate(shape.targets):
        after[position] = None if word is None else _kept(word[k], before[position])
    for position, _ in controls:
        after[position] = None
    return after


def _are_same(states: list[State]) -> bool:
    return states[0] is not None and states[0] == states[1]


def _kicked_back(state: State, factor: int | None, controls: int) -> State:
    """A control in |+> or |-> after the target has given back a factor of 1 or -1."""
    if factor == 1:
        return state
    if factor == -1 and controls == 1:
        return GATES["PauliZ"].get(state)
    return None


def replace_on_known_states(
    circuit: Circuit, instead: Callable[[Shape, list[State]], list[New] | None]
) -> None:
    """Replace gates by what is the same on the states that their qubits certainly have.

    `instead`: gates in the place of one, of this shape and on these states; None where it stays.
    """
    states = basis_states(circuit)
    found = [
        (gate, instead(shape_of(gate), [states.get(bit) for bit in gate.bits]))
        for gate in circuit.gates()
    ]
    for gate, new in found:
        if new is not None:
            circuit.replace(gate, new)
