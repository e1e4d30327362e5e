"""A stabilizer circuit as instructions for stim, in which probabilities are operands.

Known probabilities are part of the instructions; traced ones are numbered, and come with each call.
Stim takes the same gate on many wires in one instruction, and is fast then. So an operation joins
an earlier instruction of its kind, as long as nothing in between touches its wires:

    CX 0 1; X_ERROR(p) 1; CX 2 3; X_ERROR(p) 3    ->    CX 0 1 2 3; X_ERROR(p) 1 3

The trap: bits are numbered in the order of measurements, so these join the last one only; and
feedback counts bits backwards, so nothing moves past it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from diastase.quantum.clifford.circuit import (
    Feedback,
    Gates,
    Measured,
    Noise,
    StabilizerCircuit,
    Step,
)
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import stim
else:
    stim = LazyModule("stim")


@dataclass(frozen=True)
class _Hole:
    """A probability that is known when the program runs, times a number."""

    number: int
    factor: float


_Argument = float | _Hole
_Kind = tuple[str, tuple[_Argument, ...]]


@dataclass
class _Instruction:
    kind: _Kind
    targets: list[Any] = field(default_factory=list[Any])


class Stim:
    """The instructions of one circuit."""

    def __init__(self, circuit: StabilizerCircuit) -> None:
        self.traced: list[Any] = []
        """Probabilities that come with each call."""
        self._instructions: list[_Instruction] = []
        self._of_kind: dict[_Kind, list[int]] = {}
        self._touched = [-1] * circuit.num_wires
        """For each wire the last instruction that touches it."""
        self._last_measurement = -1
        self._measured = 0
        for step in circuit.steps:
            self._add(step)

    def filled(self, values: Sequence[float]) -> Any:
        """The circuit with these values of the traced probabilities."""
        whole = stim.Circuit()
        for each in self._instructions:
            name, arguments = each.kind
            numbers = [
                min(values[a.number] * a.factor, 1.0) if isinstance(a, _Hole) else a
                for a in arguments
            ]
            whole.append(name, each.targets, numbers)
        return whole

    def _add(self, step: Step) -> None:
        match step:
            case Gates(circuit):
                for instruction in circuit:
                    for group in instruction.target_groups():
                        wires = [target.value for target in group]
                        self._join((instruction.name, ()), wires, wires)
            case Noise():
                self._noise(step)
            case Measured():
                self._measure(step)
            case Feedback(word, wires, bit):
                record = stim.target_rec(bit - self._measured)
                for letter, wire in zip(word, wires, strict=True):
                    if letter != "I":
                        self._alone(("C" + letter, ()), [record, wire])
                self._touched = [len(self._instructions) - 1] * len(self._touched)

    def _join(self, kind: _Kind, targets: Sequence[Any], wires: Sequence[int]) -> None:
        """Do something to wires, in the first instruction of its kind that may do it."""
        after = max(self._touched[wire] for wire in wires)
        places = self._of_kind.setdefault(kind, [])
        found = bisect_right(places, after)
        if found == len(places):
            places.append(len(self._instructions))
            self._instructions.append(_Instruction(kind))
        self._extend(places[found], targets, wires)

    def _alone(self, kind: _Kind, targets: Sequence[Any], wires: Sequence[int] = ()) -> None:
        self._instructions.append(_Instruction(kind))
        self._extend(len(self._instructions) - 1, targets, wires)

    def _extend(self, place: int, targets: Sequence[Any], wires: Sequence[int]) -> None:
        self._instructions[place].targets += targets
        for wire in wires:
            self._touched[wire] = place

    def _measure(self, step: Measured) -> None:
        self._measured += 1
        name, targets = _measurement(step)
        last, wires = self._last_measurement, step.wires
        free = max(self._touched[wire] for wire in wires) < last
        if free and self._instructions[last].kind[0] == name:
            self._extend(last, targets, wires)
            return
        self._alone((name, ()), targets, wires)
        self._last_measurement = len(self._instructions) - 1

    # --- noise ----------------------------------------------------------------------------------

    def _noise(self, step: Noise) -> None:
        wires = list(step.wires)
        given = [self._argument(value) for value in step.probabilities]
        if len(step.words) == 1:
            self._word(step.words[0], wires, given[0])
            return
        known = dict(zip(step.words, given, strict=True))
        words = _OF_ONE if len(wires) == 1 else _OF_TWO
        if len(known) == len(words) and len(set(given)) == 1:
            kind = (f"DEPOLARIZE{len(wires)}", (_times(given[0], len(words)),))
        else:
            kind = (f"PAULI_CHANNEL_{len(wires)}", tuple(known.get(word, 0.0) for word in words))
        self._join(kind, wires, wires)

    def _word(self, word: str, wires: list[int], probability: _Argument) -> None:
        letters = [(one, wire) for one, wire in zip(word, wires, strict=True) if one != "I"]
        if len(letters) == 1:
            ((letter, wire),) = letters
            self._join((f"{letter}_ERROR", (probability,)), [wire], [wire])
            return
        targets = [stim.target_pauli(wire, letter) for letter, wire in letters]
        self._alone(("CORRELATED_ERROR", (probability,)), targets, [wire for _, wire in letters])

    def _argument(self, value: Any) -> _Argument:
        if isinstance(value, np.generic | np.ndarray | float | int):
            return float(value)
        for number, other in enumerate(self.traced):
            if other is value:
                return _Hole(number, 1.0)
        self.traced.append(value)
        return _Hole(len(self.traced) - 1, 1.0)


_OF_ONE = ("X", "Y", "Z")
_OF_TWO = tuple(a + b for a in "IXYZ" for b in "IXYZ")[1:]


def _times(argument: _Argument, factor: int) -> _Argument:
    if isinstance(argument, _Hole):
        return _Hole(argument.number, argument.factor * factor)
    return min(argument * factor, 1.0)


def _measurement(step: Measured) -> tuple[str, list[Any]]:
    if len(step.word) == 1:
        letter = "" if step.word == "Z" else step.word
        return f"M{'R' if step.reset else ''}{letter}", list(step.wires)
    targets: list[Any] = []
    for letter, wire in zip(step.word, step.wires, strict=True):
        targets += [stim.target_pauli(wire, letter), stim.target_combiner()]
    return "MPP", targets[:-1]
