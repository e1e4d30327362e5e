"""Gates as stim's: by name where the name says it, else by what they do to Pauli operators.

In: a gate of the gate table with known parameters, or a matrix. Out: `Applied` gates of stim's, in
order, on places among the gate's own wires, targets before controls; None where the gate is no
Clifford gate.

A matrix U is Clifford where U P U* is a Pauli word for the X and Z of each wire, up to rounding
(`_ROUNDING`): an angle that is off by more is another gate. Global phases are dropped; a phase
under controls is part of the matrix.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pennylane as qml

from diastase.capture.device_errors import StimMissingError
from diastase.capture.pennylane_compat import making_operators
from diastase_mlir import into_z, word_of
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import stim
else:
    stim = LazyModule("stim")

_ROUNDING = 1e-10

LARGEST = 4
"""Wires, with controls, of a gate that is looked at as a matrix."""

Applied = tuple[str, tuple[int, ...]]
"""A gate of stim's, and the places that it acts on."""

_NAMES = {
    "Identity": "I",
    "Hadamard": "H",
    "PauliX": "X",
    "PauliY": "Y",
    "PauliZ": "Z",
    "S": "S",
    "Adjoint(S)": "S_DAG",
    "SX": "SQRT_X",
    "Adjoint(SX)": "SQRT_X_DAG",
    "CNOT": "CX",
    "CY": "CY",
    "CZ": "CZ",
    "SWAP": "SWAP",
    "ISWAP": "ISWAP",
    "Adjoint(ISWAP)": "ISWAP_DAG",
}
_CONTROLLED = {"PauliX": "CX", "PauliY": "CY", "PauliZ": "CZ"}
_QUARTERS = ("I", "S", "Z", "S_DAG")
"""Rotations about Z by multiples of a quarter turn."""


def require_stim() -> None:
    """Refuse to go on without stim."""
    try:
        _ = stim.Circuit
    except ImportError as error:
        raise StimMissingError from error


@lru_cache(2**12)
def clifford_gate(
    name: str, parameters: tuple[float, ...], count: int, control_values: tuple[bool, ...]
) -> tuple[Applied, ...] | None:
    """A gate by its name, on `count` targets and then its controls."""
    if not control_values and name in _NAMES:
        return ((_NAMES[name], tuple(range(count))),)
    if len(control_values) == 1 and name in _CONTROLLED:
        gate: Applied = (_CONTROLLED[name], (1, 0))
        return (gate,) if control_values[0] else (("X", (1,)), gate, ("X", (1,)))
    if not control_values and (name == "MultiRZ" or word_of(name) is not None):
        return _rotation(word_of(name) or "Z" * count, parameters[0])
    if count + len(control_values) > LARGEST:
        return None
    return of_matrix(_matrix(name, parameters, count), control_values)


def _rotation(word: str, angle: float) -> tuple[Applied, ...] | None:
    """exp(-i angle/2 P) for a Pauli word P."""
    quarters = angle / (math.pi / 2)
    if not math.isfinite(quarters) or abs(quarters - round(quarters)) > _ROUNDING:
        return None
    forth, back = into_z(word, range(len(word)))
    turn: Applied = (_QUARTERS[round(quarters) % 4], (len(word) - 1,))
    return (*map(_named, forth), turn, *map(_named, back))


def _named(gate: tuple[str, tuple[Any, ...]]) -> Applied:
    return _NAMES[gate[0]], gate[1]


def _matrix(name: str, parameters: Sequence[float], count: int) -> np.ndarray:
    """The matrix of a gate of the table, as PennyLane has it."""
    base = name.removeprefix("Adjoint(").removesuffix(")")
    wires = range(count)
    with making_operators():
        word = word_of(name)
        if word is not None:
            matrix = qml.PauliRot(parameters[0], word, wires=wires).matrix()
        else:
            matrix = getattr(qml, base)(*parameters, wires=wires).matrix()
    array = np.asarray(matrix, np.complex128)
    return array if base == name else array.conj().T


def of_matrix(
    matrix: np.ndarray, control_values: Sequence[bool] = ()
) -> tuple[Applied, ...] | None:
    """A gate by its matrix, the first wire the most significant, under controls."""
    if not np.isfinite(matrix).all():
        return None
    controls, size = len(control_values), len(matrix)
    if controls:  # which come last, so a target's basis states are 2**controls apart
        whole = np.eye(size << controls, dtype=np.complex128)
        chosen = sum(int(value) << k for k, value in enumerate(reversed(control_values)))
        places = (np.arange(size) << controls) + chosen
        whole[np.ix_(places, places)] = matrix
        matrix = whole
    tableau = _tableau(matrix)
    if tableau is None:
        return None
    return _named_tableaus().get(str(tableau)) or tuple(
        (instruction.name, tuple(target.value for target in group))
        for instruction in tableau.to_circuit(method="elimination")
        for group in instruction.target_groups()
    )


def _tableau(matrix: np.ndarray) -> Any:
    """What a unitary does to the X and Z of each wire; None where that is no Pauli word."""
    count = len(matrix).bit_length() - 1
    if np.abs(matrix @ matrix.conj().T - np.eye(len(matrix))).max() > _ROUNDING:
        return None
    images: dict[str, list[Any]] = {"X": [], "Z": []}
    for letter, found in images.items():
        for wire in range(count):
            word = stim.PauliString(count)
            word[wire] = letter
            turned = matrix @ _dense(word) @ matrix.conj().T
            image = _word_of(turned, count)
            if image is None:
                return None
            found.append(image)
    return stim.Tableau.from_conjugated_generators(xs=images["X"], zs=images["Z"])


def _dense(word: Any) -> np.ndarray:
    """A word as a matrix of double precision: stim's has entries of small integers."""
    return np.round(word.to_unitary_matrix(endian="big")).astype(np.complex128)


def _word_of(matrix: np.ndarray, count: int) -> Any:
    """The Pauli word, with its sign, that a matrix is; None where it is none.

    Its X are read off the first column, and its Z off how signs change along the columns.
    """
    size = len(matrix)
    flips = int(np.argmax(np.abs(matrix[:, 0])))
    entries = matrix[np.arange(size) ^ flips, np.arange(size)]
    word = stim.PauliString(count)
    for wire in range(count):
        bit = 1 << (count - 1 - wire)
        is_z = abs(entries[bit] + entries[0]) < abs(entries[bit] - entries[0])
        word[wire] = "IXZY"[bool(flips & bit) + 2 * is_z]
    for signed in (word, -word):
        if np.abs(_dense(signed) - matrix).max() < _ROUNDING:
            return signed
    return None


@lru_cache(1)
def _named_tableaus() -> dict[str, tuple[Applied, ...]]:
    """Stim's own gates on one or two wires, by what they do."""
    found: dict[str, tuple[Applied, ...]] = {}
    for name, gate in stim.gate_data().items():
        count = 1 if gate.is_single_qubit_gate else 2 if gate.is_two_qubit_gate else 0
        if gate.is_unitary and count:
            found.setdefault(str(gate.tableau), ((name, tuple(range(count))),))
    return found


def pauli_of(gates: Sequence[Applied], count: int) -> Any:
    """The Pauli word, without its sign, that gates on so many wires are; None where they are not.

    What depends on an outcome must be one.
    """
    circuit = stim.Circuit()
    for name, places in gates:
        circuit.append(name, places)
    circuit.append("I", range(count))
    try:
        return circuit.to_tableau().to_pauli_string()
    except ValueError:
        return None
