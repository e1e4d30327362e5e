"""Layers of gates undone in tiles, and diagonal runs with them, against the same sweep in numpy."""

import ctypes
from collections.abc import Sequence

import numpy as np
import pennylane as qml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

I64 = ctypes.c_int64
SITE = 7
STEP = 1e-5
Gate = tuple[str, tuple[int, ...], float | None]
"""Name, wires, and an angle if it has one."""


def matrix(gate: Gate, moved: float = 0.0) -> np.ndarray:
    name, wires, angle = gate
    parameters = () if angle is None else (angle + moved,)
    return qml.matrix(getattr(qml, name)(*parameters, wires=range(len(wires))))


def applied(array: np.ndarray, gate: Gate, vector: np.ndarray) -> np.ndarray:
    wires, qubits = gate[1], vector.size.bit_length() - 1
    tensor = np.moveaxis(vector.reshape((2,) * qubits), wires, range(len(wires)))
    tensor = (array @ tensor.reshape(len(array), -1)).reshape(tensor.shape)
    return np.moveaxis(tensor, range(len(wires)), wires).reshape(-1)


def wanted_derivatives(circuit: Sequence[Gate], qubits: int, vector: np.ndarray) -> np.ndarray:
    """Derivatives of Re <vector|state>; those of each matrix by differences."""
    state = np.zeros(2**qubits, complex)
    state[0] = 1
    for gate in circuit:
        state = applied(matrix(gate), gate, state)
    adjoint, found = vector, list[float]()
    for gate in reversed(circuit):
        inverse = matrix(gate).conj().T
        state = applied(inverse, gate, state)
        if gate[2] is not None:
            change = (matrix(gate, STEP) - matrix(gate, -STEP)) / (2 * STEP)
            found.append(np.vdot(adjoint, applied(change, gate, state)).real)
        adjoint = applied(inverse, gate, adjoint)
    return np.array(found[::-1])


def swept(register, circuit: Sequence[Gate], qubits: int, vector: np.ndarray, chunk: int):
    state = register(qubits)
    state.call("tape_record", I64(SITE))
    for name, wires, angle in circuit:
        state.gate(name, wires, *(() if angle is None else (angle,)))
    if chunk:
        state.set_chunk_bits(chunk)
    adjoint = state.copy()
    adjoint.call("state_zero")
    fresh = register(qubits)
    fresh.prepare_wires(vector, range(qubits))
    adjoint.scale_add(fresh, 1)
    size = state.call("tape_length", result=I64)
    out = np.full(size, np.nan)
    pointer = ctypes.c_void_p
    state.call("tape_sweep", pointer(adjoint.state), I64(SITE), I64(size), pointer(out.ctypes.data))
    assert state.error[0] == 0
    start, other = state.amplitudes, adjoint.amplitudes
    adjoint.release()
    return out, start, other


def check(register, circuit: Sequence[Gate], qubits: int, seed: int, chunk: int = 0) -> None:
    generator = np.random.default_rng(seed)
    vector = generator.normal(size=2**qubits) + 1j * generator.normal(size=2**qubits)
    vector /= np.linalg.norm(vector)
    found, start, adjoint = swept(register, circuit, qubits, vector, chunk)
    wanted = wanted_derivatives(circuit, qubits, vector)
    within = 3e-6 if register(1).is_single else 1e-9
    np.testing.assert_allclose(found, wanted, atol=within)
    # Both registers are what they were at first: of their size, and but for a phase.
    assert abs(abs(start[0]) - 1) < within
    assert abs(np.linalg.norm(adjoint) - 1) < within


def rotations(name: str, qubits: int, angles) -> list[Gate]:
    return [(name, (wire,), float(next(angles))) for wire in range(qubits)]


def chain(name: str, qubits: int, angles, step: int = 1) -> list[Gate]:
    angle = (lambda: None) if name in ("CNOT", "CZ") else (lambda: float(next(angles)))
    return [(name, (wire, (wire + step) % qubits), angle()) for wire in range(qubits)]


def ising(qubits: int, angles) -> list[Gate]:
    circuit: list[Gate] = [("Hadamard", (wire,), None) for wire in range(qubits)]
    for _ in range(3):
        circuit += chain("IsingZZ", qubits, angles) + rotations("RX", qubits, angles)
    return circuit


def efficient(qubits: int, angles) -> list[Gate]:
    circuit: list[Gate] = []
    for step in (1, 2, 5):
        circuit += rotations("RY", qubits, angles) + rotations("RZ", qubits, angles)
        circuit += chain("CNOT", qubits, angles, step)
    return circuit


def real_layers(qubits: int, angles) -> list[Gate]:
    circuit: list[Gate] = []
    for step in (1, 4):
        circuit += rotations("RY", qubits, angles) + chain("CNOT", qubits, angles, step)
        circuit += chain("CZ", qubits, angles)
    return circuit


def controlled(qubits: int, angles) -> list[Gate]:
    circuit: list[Gate] = []
    for step in (3, 5):
        circuit += rotations("RX", qubits, angles) + chain("CRX", qubits, angles, step)
        circuit += chain("CRY", qubits, angles)
        circuit += chain("ControlledPhaseShift", qubits, angles, step)
    return circuit


CIRCUITS = {
    "ising": ising, "efficient": efficient, "real": real_layers, "controlled": controlled
}  # fmt: skip


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize(("qubits", "chunk"), [(10, 0), (11, 0), (13, 12)])
def test_layers(register, name, qubits, chunk):
    angles = iter(np.random.default_rng(qubits).normal(size=1000) * 2)
    check(register, CIRCUITS[name](qubits, angles), qubits, seed=qubits, chunk=chunk)


@pytest.mark.parametrize("angle", [0.0, np.pi, np.pi / 2, 3.1, 2 * np.pi])
def test_matrices_that_can_hardly_be_divided(register, angle):
    angles = iter([angle] * 1000)
    check(register, ising(10, angles) + real_layers(10, angles), 10, seed=1)


def test_much_that_is_divided(register):
    """A product of many cosines is not smaller than what can be stored."""
    gates = [(("RX", "RY")[k % 2], (k % 10,), 3.0) for k in range(400)]
    check(register, [*gates, *rotations("RX", 10, iter([3.0] * 10))], 10, seed=2)


GATES = st.sampled_from(
    ["RX", "RY", "RZ", "IsingZZ", "IsingXX", "CRX", "CRZ", "CNOT", "CZ", "Hadamard", "SWAP"]
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), qubits=st.integers(9, 11), chunk=st.sampled_from([0, 10]))
def test_any_layers(registers, engines, data, qubits, chunk):
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    circuit: list[Gate] = []
    for name in data.draw(st.lists(GATES, min_size=1, max_size=5)):
        step = data.draw(st.integers(1, qubits - 1))
        has_angle = name not in ("CNOT", "CZ", "Hadamard", "SWAP")
        is_single = name in ("RX", "RY", "RZ", "Hadamard")
        for wire in range(0, qubits, data.draw(st.integers(1, 2))):
            wires = (wire,) if is_single else (wire, (wire + step) % qubits)
            circuit.append((name, wires, float(generator.normal() * 2) if has_angle else None))
    check(lambda n: registers(engines("double"), n), circuit, qubits, seed=0, chunk=chunk)
