"""A stabilizer circuit as it was read: steps, in order; and what stim makes of it.

    Gates     unitary gates of stim's, as many as follow each other
    Noise     Pauli words, each with its probability, a number or a traced scalar
    Measured  a Pauli word, whose outcome is the next bit; with a reset of its wire
    Feedback  a Pauli word that is applied where a measured bit is 1

`Stim` has the steps as instructions for stim, in which probabilities are operands: known ones are
filled in once, traced ones with each call's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from diastase.quantum.clifford.gates import Applied
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import stim
else:
    stim = LazyModule("stim")


@dataclass(frozen=True)
class Gates:
    """Unitary gates."""

    circuit: Any


@dataclass(frozen=True)
class Noise:
    """One of some Pauli words, or none of them."""

    words: tuple[str, ...]
    probabilities: tuple[Any, ...]
    wires: tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """A Pauli word, measured."""

    word: str
    wires: tuple[int, ...]
    reset: bool
    bit: int
    """The number of its outcome."""


@dataclass(frozen=True)
class Feedback:
    """A Pauli word that depends on a bit."""

    word: str
    wires: tuple[int, ...]
    bit: int


Step = Gates | Noise | Measured | Feedback


@dataclass
class StabilizerCircuit:
    """Steps on so many wires, from |0...0> on."""

    num_wires: int
    steps: list[Step] = field(default_factory=list)
    num_bits: int = 0

    def gates(self, applied: Sequence[Applied], wires: Sequence[int]) -> None:
        """Apply gates on places among these wires."""
        if not self.steps or not isinstance(self.steps[-1], Gates):
            self.steps.append(Gates(stim.Circuit()))
        (*_, last) = self.steps
        assert isinstance(last, Gates)
        for name, places in applied:
            last.circuit.append(name, [wires[place] for place in places])

    def noise(
        self, words: Sequence[str], probabilities: Sequence[Any], wires: Sequence[int]
    ) -> None:
        """Apply one of the words, or none."""
        self.steps.append(Noise(tuple(words), tuple(probabilities), tuple(wires)))

    def measure(self, word: str, wires: Sequence[int], reset: bool = False) -> int:
        """Measure a Pauli word; the number of the bit."""
        self.steps.append(Measured(word, tuple(wires), reset, self.num_bits))
        self.num_bits += 1
        return self.num_bits - 1

    def feedback(self, word: str, wires: Sequence[int], bit: int) -> None:
        """Apply a word where a bit is 1."""
        self.steps.append(Feedback(word, tuple(wires), bit))

    def copy(self) -> "StabilizerCircuit":
        """A circuit that goes on by itself."""
        steps = list(self.steps)
        if steps and isinstance(steps[-1], Gates):
            steps[-1] = Gates(steps[-1].circuit.copy())
        return StabilizerCircuit(self.num_wires, steps, self.num_bits)


class Stim:
    """A circuit as instructions for stim; traced probabilities are numbered."""

    def __init__(self, circuit: StabilizerCircuit) -> None:
        self.traced: list[Any] = []
        """Probabilities that come with each call."""
        self._parts: list[Any] = []
        """Circuits, and instructions `(name, targets, probabilities)`; a traced one is `_Hole`."""
        self._measured = 0
        for step in circuit.steps:
            self._add(step)

    def filled(self, values: Sequence[float]) -> Any:
        """The circuit with these values of the traced probabilities."""
        whole = stim.Circuit()
        for part in self._parts:
            if not isinstance(part, tuple):
                whole += part
                continue
            name, targets, probabilities = part
            numbers = [values[p.number] if isinstance(p, _Hole) else p for p in probabilities]
            whole.append(name, targets, numbers)
        return whole

    def _add(self, step: Step) -> None:
        match step:
            case Gates(circuit):
                self._known(circuit)
            case Noise():
                self._noise(step)
            case Measured(word, wires, reset, _):
                self._measured += 1
                self._known(_measurement(word, wires, reset))
            case Feedback(word, wires, bit):
                record = stim.target_rec(bit - self._measured)
                circuit = stim.Circuit()
                for letter, wire in zip(word, wires, strict=True):
                    if letter != "I":
                        circuit.append("C" + letter, [record, wire])
                self._known(circuit)

    def _known(self, circuit: Any) -> None:
        if self._parts and not isinstance(self._parts[-1], tuple):
            self._parts[-1] += circuit
        else:
            self._parts.append(circuit.copy())

    def _noise(self, step: Noise) -> None:
        holes = [self._hole(value) for value in step.probabilities]
        for name, targets, probabilities in _instructions(step, holes):
            if any(isinstance(value, _Hole) for value in probabilities):
                self._parts.append((name, targets, probabilities))
                continue
            circuit = stim.Circuit()
            circuit.append(name, targets, probabilities)
            self._known(circuit)

    def _hole(self, value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray | float | int):
            return float(value)
        for number, other in enumerate(self.traced):
            if other is value:
                return _Hole(number)
        self.traced.append(value)
        return _Hole(len(self.traced) - 1)


@dataclass(frozen=True)
class _Hole:
    """A probability that is known when the program runs."""

    number: int


_OF_ONE = ("X", "Y", "Z")
_OF_TWO = tuple(a + b for a in "IXYZ" for b in "IXYZ")[1:]


def _instructions(
    step: Noise, probabilities: Sequence[Any]
) -> list[tuple[str, list[Any], list[Any]]]:
    """Noise as stim has it."""
    wires = list(step.wires)
    if len(step.words) == 1:
        return [_single(step.words[0], wires, probabilities[0])]
    known = dict(zip(step.words, probabilities, strict=True))
    if len(wires) == 1:
        return [("PAULI_CHANNEL_1", wires, [known.get(word, 0.0) for word in _OF_ONE])]
    return [("PAULI_CHANNEL_2", wires, [known.get(word, 0.0) for word in _OF_TWO])]


def _single(word: str, wires: list[int], probability: Any) -> tuple[str, list[Any], list[Any]]:
    letters = [(letter, wire) for letter, wire in zip(word, wires, strict=True) if letter != "I"]
    if len(letters) == 1:
        ((letter, wire),) = letters
        return f"{letter}_ERROR", [wire], [probability]
    targets = [stim.target_pauli(wire, letter) for letter, wire in letters]
    return "CORRELATED_ERROR", targets, [probability]


def _measurement(word: str, wires: Sequence[int], reset: bool) -> Any:
    circuit = stim.Circuit()
    if len(word) == 1:
        letter = "" if word == "Z" else word
        circuit.append(f"M{'R' if reset else ''}{letter}", wires)
        return circuit
    targets: list[Any] = []
    for letter, wire in zip(word, wires, strict=True):
        targets += [stim.target_pauli(wire, letter), stim.target_combiner()]
    circuit.append("MPP", targets[:-1])
    return circuit
