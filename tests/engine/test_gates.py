"""Every named gate on every placement of wires against PennyLane's matrices."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pennylane as qml
import pytest

from diastase_engine import GATES

ADJOINTS = {"S": qml.S, "T": qml.T, "SX": qml.SX, "SISWAP": qml.SISWAP, "ISWAP": qml.ISWAP}
PARAMETERS = (0.731, -1.213, 2.207)


@pytest.fixture(scope="session")
def precision():
    """Matrices of gates are the same in both precisions, and tests of circuits use them."""
    return "double"


def pennylane_gate(name: str, wires: list[int]) -> qml.operation.Operator:
    if name.startswith("Adjoint("):
        return qml.adjoint(ADJOINTS[name[8:-1]](wires=wires))
    parameters = PARAMETERS[: GATES[name].parameters]
    return getattr(qml, name)(*parameters, wires=wires)


def placements(name: str, qubits: int) -> list[tuple[int, ...]]:
    """All ordered choices of wires, a few random ones where they are too many."""
    width = GATES[name].wires or 3
    every = list(itertools.permutations(range(qubits), width))
    if len(every) <= 60:
        return every
    chosen = np.random.default_rng(qubits).choice(len(every), 25, replace=False)
    return [every[k] for k in chosen]


def random_vector(qubits: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed + qubits)
    vector = generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)
    return vector / np.linalg.norm(vector)


def applied(matrix: np.ndarray, wires: Sequence[int], vector: np.ndarray) -> np.ndarray:
    """What a matrix on some wires makes of a state."""
    n_wires, qubits = len(wires), len(vector).bit_length() - 1
    tensor, state = matrix.reshape([2] * (2 * n_wires)), vector.reshape([2] * qubits)
    state = np.tensordot(tensor, state, axes=(range(n_wires, 2 * n_wires), wires))
    return np.moveaxis(state, range(n_wires), wires).reshape(-1)


@pytest.mark.sample(72)
@pytest.mark.parametrize("qubits", range(1, 8))
@pytest.mark.parametrize("name", GATES)
def test_gate_is_pennylanes(register: Callable, name: str, qubits: int) -> None:
    vector = random_vector(qubits)
    every = placements(name, qubits)
    matrix = qml.matrix(pennylane_gate(name, list(range(len(every[0]))))) if every else None
    for wires in every:
        state = register(qubits)
        state.prepare_wires(vector, range(qubits))
        state.gate(name, wires, *PARAMETERS[: GATES[name].parameters])
        np.testing.assert_allclose(state.amplitudes, applied(matrix, wires, vector), atol=1e-13)
        state.release()


@pytest.mark.sample(41)
@pytest.mark.parametrize("qubits", [3, 5, 7])
@pytest.mark.parametrize("name", GATES)
def test_controlled_gate_is_pennylanes(register: Callable, name: str, qubits: int) -> None:
    generator = np.random.default_rng(qubits)
    vector = random_vector(qubits)
    width = GATES[name].wires or 2
    for n_controls in range(1, min(4, qubits - width + 1)):
        for _ in range(4):
            order = [int(wire) for wire in generator.permutation(qubits)]
            controls, wires = order[:n_controls], order[n_controls : n_controls + width]
            values = [int(value) for value in generator.integers(0, 2, n_controls)]
            state = register(qubits)
            state.prepare_wires(vector, range(qubits))
            state.controlled(name, controls, values, wires, *PARAMETERS[: GATES[name].parameters])
            gate = qml.ctrl(pennylane_gate(name, wires), controls, control_values=values)
            matrix = qml.matrix(gate, wire_order=[*controls, *wires])
            expected = applied(matrix, [*controls, *wires], vector)
            np.testing.assert_allclose(state.amplitudes, expected, atol=1e-13)
            state.release()


@pytest.mark.parametrize("qubits", [0, 1, 2, 5])
def test_global_phase(register: Callable, qubits: int) -> None:
    state = register(qubits)
    state.global_phase(0.4)
    np.testing.assert_allclose(state.amplitudes[0], np.exp(-0.4j), atol=1e-15)


def test_the_table_numbers_its_rows() -> None:
    assert [row.code for row in GATES.values()] == list(range(len(GATES)))
    assert all(name == row.name for name, row in GATES.items())
