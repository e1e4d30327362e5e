"""Words of Clifford gates and T for rotations about Z, by the algorithm of Ross and Selinger.

"Optimal ancilla-free Clifford+T approximation of z-rotations", arXiv:1403.2975; PennyLane has it
(`qml.ops.rs_decomposition`). In: an angle and how far, in operator norm, RZ of it may be from what
comes out: gates, first one first, and a global phase. Angles near a multiple of pi/4 are powers
of T. The trap: PennyLane's search may end without a word that is near enough, and does not say so;
here the matrix is compared, and a longer search is tried before an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pennylane as qml
from pennylane import ops

from diastase.capture.pennylane_compat import making_operators
from diastase.quantum.passes.errors import ApproximationError
from diastase_mlir import rotation_about

_I = np.eye(2, dtype=complex)
_X = np.array([[0, 1], [1, 0]], complex)
_Y = np.array([[0, -1j], [1j, 0]])
_Z = np.diag([1.0 + 0j, -1])
_PAULIS = {"X": _X, "Y": _Y, "Z": _Z}


@dataclass(frozen=True)
class Letter:
    """A gate of a word."""

    name: str
    matrix: np.ndarray
    parameters: tuple[float, ...] = ()


def _rotation(axis: str, quarters: float) -> Letter:
    angle = quarters * np.pi / 2
    matrix = np.cos(angle / 2) * _I - 1j * np.sin(angle / 2) * _PAULIS[axis]
    return Letter(rotation_about(axis), matrix, (float(angle),))


CLIFFORD_T: tuple[Letter, ...] = (
    Letter("Hadamard", (_X + _Z) / np.sqrt(2)),
    Letter("S", np.diag([1, 1j])),
    Letter("Adjoint(S)", np.diag([1, -1j])),
    Letter("T", np.diag([1, np.exp(0.25j * np.pi)])),
    Letter("PauliX", _X),
    Letter("PauliY", _Y),
    Letter("PauliZ", _Z),
)
ROTATIONS: tuple[Letter, ...] = (
    _rotation("Z", 0.5), _rotation("Z", 1), _rotation("Z", -1), _rotation("Z", 2),
    _rotation("X", 1), _rotation("X", 2), _rotation("Y", 2),
)  # fmt: skip
"""By multiples of pi/4 about Pauli words of one letter."""

_AS_ROTATIONS: dict[str, tuple[tuple[int, ...], float]] = {
    "Hadamard": ((1, 4, 1), -np.pi / 2),
    "S": ((1,), -np.pi / 4),
    "Adjoint(S)": ((2,), np.pi / 4),
    "T": ((0,), -np.pi / 8),
    "PauliX": ((5,), -np.pi / 2),
    "PauliY": ((6,), -np.pi / 2),
    "PauliZ": ((3,), -np.pi / 2),
}
"""Each gate as rotations (places in their alphabet), and the phase phi in exp(-i phi)."""
_PLACES = {letter.name: place for place, letter in enumerate(CLIFFORD_T)}
_TRIALS = (20, 200)
"""How long PennyLane searches, at first and once more."""


@dataclass(frozen=True)
class Word:
    """What stands for a rotation: gates, first one first, times exp(-i phase)."""

    letters: tuple[int, ...]
    """Places in the alphabet."""
    phase: float

    def distance(self, alphabet: Sequence[Letter], angle: float) -> float:
        """How far it is from RZ of the angle, in operator norm."""
        matrix = np.exp(-1j * self.phase) * _I
        for place in self.letters:
            matrix = alphabet[place].matrix @ matrix
        wanted = np.diag(np.exp([-0.5j * angle, 0.5j * angle]))
        return float(np.linalg.norm(matrix - wanted, 2))


def alphabet_of(rotations: bool) -> tuple[Letter, ...]:
    """The gates that words are made of."""
    return ROTATIONS if rotations else CLIFFORD_T


@lru_cache(2**12)
def word_for(angle: float, epsilon: float, rotations: bool = False) -> Word:
    """A word for RZ of an angle, no further from it than `epsilon`; else `ApproximationError`."""
    if not np.isfinite(angle):
        raise ApproximationError(angle=angle, epsilon=epsilon, distance=np.inf)
    # As near to 0 as the rotation is: multiples of pi of large angles are only noise.
    angle = float(2 * np.arctan2(np.sin(angle / 2), np.cos(angle / 2)))
    found = _power_of_t(angle, epsilon) or _searched(angle, epsilon)
    return _as_rotations(found) if rotations else found


def longest_word(epsilon: float, rotations: bool) -> int:
    """Letters for which there must be room; there are about 3 log2(1/epsilon) T in a word."""
    return (3 if rotations else 1) * int(10 * np.log2(1 / min(epsilon, 0.5)) + 40)


def _power_of_t(angle: float, epsilon: float) -> Word | None:
    """RZ of a multiple of pi/4 is exp(-i k pi/8) T^k, exactly."""
    power = round(angle / (np.pi / 4))
    if abs(angle - power * np.pi / 4) / 2 > epsilon:
        return None
    parts = ((4, "PauliZ"), (2, "S"), (1, "T"))
    letters = tuple(_PLACES[name] for number, name in parts if power % 8 & number)
    return Word(letters, power * np.pi / 8)


def _searched(angle: float, epsilon: float) -> Word:
    nearest = np.inf
    for trials in _TRIALS:
        with making_operators():
            found: Any = ops.rs_decomposition(
                qml.RZ(angle, wires=0), epsilon, max_search_trials=trials
            )
        letters = [_PLACES[op.name] for op in found if op.name in _PLACES]
        phases = [float(op.data[0]) for op in found if op.name == "GlobalPhase"]
        word = Word(tuple(letters), sum(phases))
        distance = word.distance(CLIFFORD_T, angle)
        if distance <= epsilon:
            return word
        nearest = min(nearest, distance)
    raise ApproximationError(angle=angle, epsilon=epsilon, distance=nearest)


def _as_rotations(word: Word) -> Word:
    parts = [_AS_ROTATIONS[CLIFFORD_T[place].name] for place in word.letters]
    letters = tuple(letter for letters, _ in parts for letter in letters)
    return Word(letters, word.phase + sum(phase for _, phase in parts))
