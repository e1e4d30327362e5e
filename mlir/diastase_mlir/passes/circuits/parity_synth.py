"""CNOT gates and rotations about Z, written with fewer CNOTs.

Such a part of a circuit rotates by an angle for each of some parities of its qubits, and then maps
the qubits linearly. Both are read off (the phase polynomial) and made anew: parities in an order in
which each differs little from the one before, then the map that is left, by elimination. What needs
no fewer CNOTs than before stays as it is.

    Amy, Azimzadeh and Mosca, "On the controlled-NOT complexity of controlled-NOT-phase circuits",
    arXiv:1712.01859 (the order of the parities)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import pi
from typing import NamedTuple

from diastase_mlir.passes.circuits.circuit import Circuit
from diastase_mlir.passes.circuits.registry import register_pass
from diastase_mlir.passes.circuits.segments import Place, Segment, Step, segments
from diastase_mlir.passes.circuits.values import Number, add, is_zero, multiply

_LONGEST = 128
"""Rotations of one polynomial: the time that it takes grows with their square."""

_PHASES = {
    "PauliZ": pi, "S": pi / 2, "Adjoint(S)": -pi / 2, "T": pi / 4, "Adjoint(T)": -pi / 4,
}  # fmt: skip
"""diag(1, exp(i angle))."""
_ROTATIONS = {"RZ": False, "PauliRot[Z]": False, "PhaseShift": True, "U1": True}
"""Whether they are diag(1, exp(i angle)), not exp(-i angle/2 Z)."""


class _Cnot(NamedTuple):
    control: int
    target: int


class _Turn(NamedTuple):
    """A rotation about Z."""

    qubit: int
    angle: Number


_Made = list[_Cnot | _Turn]


@register_pass("parity_synth", built_in=True)
def parity_synth(circuit: Circuit) -> None:
    """Write parts that are made of CNOTs and rotations about Z with fewer CNOTs."""
    for segment in segments(circuit):
        with segment.rewritten() as place:
            for run in _runs(segment):
                _rewrite(run, place)


def _runs(segment: Segment) -> Iterator[list[Step]]:
    """Steps that are one polynomial together, and other steps by themselves."""
    run: list[Step] = []
    rotations = 0
    for step in segment.steps:
        is_rotation = _is_rotation(step)
        belongs = is_rotation or _is_cnot(step)
        if not belongs or rotations == _LONGEST:
            yield run
            run, rotations = [], 0
        if not belongs:
            yield [step]
            continue
        run.append(step)
        rotations += is_rotation
    yield run


def _is_cnot(step: Step) -> bool:
    gate = step.gate
    return gate is not None and gate.name == "CNOT" and not gate.controls


def _is_rotation(step: Step) -> bool:
    gate = step.gate
    return gate is not None and not gate.controls and gate.name in _PHASES.keys() | _ROTATIONS


def _rewrite(run: list[Step], place: Place) -> None:
    cnots = sum(map(_is_cnot, run))
    if cnots > 1:
        polynomial = _Polynomial()
        place.at(run[-1])
        with place.emitting():
            for step in run:
                polynomial.read(step)
        gates = polynomial.gates()
        if sum(isinstance(gate, _Cnot) for gate in gates) < cnots:
            for gate in gates:
                if isinstance(gate, _Cnot):
                    place.gate("CNOT", gate)
                else:
                    place.gate("RZ", [gate.qubit], [gate.angle])
            place.multiply_by_phase(polynomial.phase)
            return
    for step in run:
        place.at(step)
        place.keep(step)


@dataclass
class _Polynomial:
    """Angles of parities, and what each qubit is in the end: parities, as masks of qubits."""

    angles: dict[int, Number] = field(default_factory=dict[int, Number])
    parities: dict[int, int] = field(default_factory=dict[int, int])
    phase: Number = 0.0
    """The state is multiplied by exp(-i phase)."""

    def read(self, step: Step) -> None:
        """One more gate; it may emit a sum of angles."""
        gate = step.gate
        assert gate is not None
        of = [self.parities.setdefault(qubit, 1 << qubit) for qubit in step.qubits]
        if gate.name == "CNOT":
            self.parities[step.qubits[1]] = of[0] ^ of[1]
            return
        angle = _PHASES[gate.name] if gate.name in _PHASES else gate.parameters[0]
        if _ROTATIONS.get(gate.name, True):
            self.phase = add(self.phase, multiply(-0.5, angle))
        self.angles[of[0]] = add(self.angles.get(of[0], 0.0), angle)

    def gates(self) -> _Made:
        """CNOTs and rotations that do the same."""
        return _Synthesis(sorted(self.parities), dict(self.angles)).gates(self.parities)


class _Synthesis:
    """Gates being made: where qubits are, and the parities that are still to be rotated by."""

    def __init__(self, qubits: Sequence[int], angles: dict[int, Number]) -> None:
        self._now = {qubit: 1 << qubit for qubit in qubits}
        self._angles = angles
        self._made: _Made = []
        self._masks = {parity: parity for parity in angles}
        """Each of the parities in terms of what the qubits are now."""

    def gates(self, final: dict[int, int]) -> _Made:
        for qubit in self._now:
            self._rotate(qubit)
        self._all_parities()
        return [*self._made, *_linear(self._now, final)]

    def _all_parities(self) -> None:
        """Sets of parities are split by a qubit that most of them have, or have not."""
        waiting: list[tuple[list[int], list[int], int | None]] = [
            ([*self._masks], list(self._now), None)
        ]
        while waiting:
            parities, qubits, target = waiting.pop()
            parities = [parity for parity in parities if parity in self._masks]
            if target is not None:
                self._reduce(parities, target)
                parities = [parity for parity in parities if parity in self._masks]
            if not parities or not qubits:
                continue
            ones = {q: sum(self._masks[p] >> q & 1 for p in parities) for q in qubits}
            split = max(qubits, key=lambda q: max(ones[q], len(parities) - ones[q]))
            rest = [qubit for qubit in qubits if qubit != split]
            with_it = [p for p in parities if self._masks[p] >> split & 1]
            without = [p for p in parities if not self._masks[p] >> split & 1]
            waiting.append((with_it, rest, split if target is None else target))
            waiting.append((without, rest, target))

    def _reduce(self, parities: list[int], target: int) -> None:
        """Add to the target each qubit that all parities of a set have."""
        while True:
            left = [self._masks[parity] for parity in parities if parity in self._masks]
            if not left:
                return
            common = left[0]
            for mask in left[1:]:
                common &= mask
            control = next((q for q in self._now if common >> q & 1 and q != target), None)
            if control is None:
                return
            self._cnot(control, target)

    def _cnot(self, control: int, target: int) -> None:
        self._made.append(_Cnot(control, target))
        self._now[target] ^= self._now[control]
        for parity, mask in self._masks.items():
            if mask >> target & 1:
                self._masks[parity] = mask ^ (1 << control)
        self._rotate(target)

    def _rotate(self, qubit: int) -> None:
        """Rotate a qubit that is a parity which waits for it."""
        parity = self._now[qubit]
        if parity in self._masks:
            del self._masks[parity]
            angle = self._angles[parity]
            if not is_zero(angle):
                self._made.append(_Turn(qubit, angle))


def _linear(now: dict[int, int], final: dict[int, int]) -> list[_Cnot]:
    """CNOTs that make qubits what they are to be, by Gaussian elimination."""
    columns = _inverse_images(now, final)
    made: list[_Cnot] = []
    qubits = list(now)
    for place, qubit in enumerate(qubits):
        if not columns[qubit] >> qubit & 1:
            other = next(q for q in qubits[place + 1 :] if columns[q] >> qubit & 1)
            columns[qubit] ^= columns[other]
            made.append(_Cnot(other, qubit))
        for other in qubits:
            if other != qubit and columns[other] >> qubit & 1:
                columns[other] ^= columns[qubit]
                made.append(_Cnot(qubit, other))
    return made[::-1]


def _inverse_images(now: dict[int, int], final: dict[int, int]) -> dict[int, int]:
    """What the qubits are to be, each as a mask of what they are now."""
    basis: dict[int, tuple[int, int]] = {}
    for qubit, parity in now.items():
        mask = 1 << qubit
        for bit, (other, combination) in basis.items():
            if parity >> bit & 1:
                parity, mask = parity ^ other, mask ^ combination
        bit = parity.bit_length() - 1
        for key, (other, combination) in basis.items():
            if other >> bit & 1:
                basis[key] = other ^ parity, combination ^ mask
        basis[bit] = parity, mask
    images: dict[int, int] = {}
    for qubit, parity in final.items():
        images[qubit] = 0
        for bit, (_, combination) in basis.items():
            if parity >> bit & 1:
                images[qubit] ^= combination
    return images
