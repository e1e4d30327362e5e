"""Random circuits against a plain dense simulation, and fused against unfused ones."""

from collections.abc import Callable

import numpy as np
import pytest

from random_circuits import (
    Step,
    apply_engine,
    dense_amplitudes,
    random_circuit,
)


@pytest.mark.sample(13)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("qubits", range(1, 11))
def test_random_circuit(register: Callable, qubits: int, seed: int) -> None:
    circuit = random_circuit(np.random.default_rng([qubits, seed]), qubits, 120)
    state = register(qubits)
    for step in circuit:
        apply_engine(state, step)
    assert state.error[0] == 0
    np.testing.assert_allclose(
        state.amplitudes, dense_amplitudes(circuit, qubits), atol=state.within(1e-12)
    )


@pytest.mark.parametrize("seed", range(20))
def test_fusion_changes_nothing(register: Callable, seed: int) -> None:
    qubits = 2 + seed % 6
    circuit = random_circuit(np.random.default_rng(seed), qubits, 150)
    fused, unfused = register(qubits), register(qubits)
    for step in circuit:
        apply_engine(fused, step)
        apply_engine(unfused, step)
        unfused.probabilities()  # applies what waits
    np.testing.assert_allclose(fused.amplitudes, unfused.amplitudes, atol=fused.within(1e-13))


def test_more_operations_than_the_queue_holds(register: Callable) -> None:
    circuit = [
        Step("CRX", (k % 4, (k + 1 + k // 7 % 3) % 4), (0.1 + 0.01 * (k % 50),))
        for k in range(1500)
    ]
    state = register(4)
    for step in circuit:
        apply_engine(state, step)
    np.testing.assert_allclose(
        state.amplitudes, dense_amplitudes(circuit, 4), atol=state.within(1e-12)
    )


@pytest.mark.parametrize("width", [2, 4, 5])
def test_matrices_need_not_be_unitary(register: Callable, width: int) -> None:
    generator = np.random.default_rng(width)
    matrix = generator.normal(size=(2**width,) * 2) + 1j * generator.normal(size=(2**width,) * 2)
    order = tuple(int(wire) for wire in generator.permutation(6))
    step = Step("unitary", order[:width], (), order[width:], (1,) * (6 - width), matrix)
    circuit = [*(Step("RY", (wire,), (0.3 + wire,)) for wire in range(6)), step]
    state = register(6)
    for each in circuit:
        apply_engine(state, each)
    np.testing.assert_allclose(
        state.amplitudes, dense_amplitudes(circuit, 6), atol=state.within(1e-12)
    )


ROTATIONS = ("RX", "RY", "RZ", "PhaseShift", "Rot")
SELECTED = ("CNOT", "CY", "CZ", "CRX", "CRY", "IsingZZ")


def rotations_and_selections(generator: np.random.Generator, qubits: int) -> list[Step]:
    """What has the form of `ratios`, and what meets it: on all bits, selected by all others."""
    counts = {"CNOT": 0, "CY": 0, "CZ": 0, "Rot": 3}
    steps = []
    for _ in range(60 * qubits):
        name = str(generator.choice(ROTATIONS if generator.random() < 0.7 else SELECTED))
        wires = tuple(int(wire) for wire in generator.permutation(qubits))
        # Some with sines and cosines that are small, or zero.
        spread = generator.choice([0.0, 1e-3, 3.0])
        angles = generator.choice([0.0, np.pi]) + spread * generator.normal(size=3)
        parameters = tuple(float(angle) for angle in angles[: counts.get(name, 1)])
        steps.append(Step(name, wires[: 1 if name in ROTATIONS else 2], parameters))
    return steps


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("qubits", [8, 9, 10, 11])
def test_amplitudes_with_their_phases(register: Callable, qubits: int, seed: int) -> None:
    circuit = rotations_and_selections(np.random.default_rng([qubits, seed]), qubits)
    state = register(qubits)
    for step in circuit:
        apply_engine(state, step)
    np.testing.assert_allclose(
        state.amplitudes, dense_amplitudes(circuit, qubits), atol=state.within(1e-12, 1e-5)
    )


@pytest.mark.parametrize("size", [0.99, 0.04, 30.0])
def test_as_many_numbers_as_the_queue_holds(register: Callable, size: float) -> None:
    """Their product is far from what can be stored: the size of a state is what it should be."""
    qubits, state = 9, register(9)
    turn = np.array([[0.6, -0.8], [0.8j, 0.6j]])
    state.prepare(np.eye(2**qubits)[0])
    for wire in range(qubits):
        state.unitary(turn, [wire])
    before = state.amplitudes
    for k in range(200):
        first, second = k % qubits, (k + 1) % qubits
        state.gate("CNOT", [first, second])
        state.unitary(size * turn, [second])
        state.gate("CNOT", [second, first])
        state.unitary(np.linalg.inv(turn) / size, [second])
        state.gate("CNOT", [second, first])
        state.unitary(turn * size, [second])
        state.unitary(np.linalg.inv(turn) / size, [second])
        state.gate("CNOT", [first, second])
    expected = np.linalg.norm(before)
    np.testing.assert_allclose(
        np.linalg.norm(state.amplitudes), expected, rtol=state.within(1e-11, 1e-4)
    )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("qubits", [1, 2, 3, 5, 8, 10])
def test_weights_of_a_measurement(register: Callable, qubits: int, seed: int) -> None:
    """The same outcomes and states as where nothing waits when it begins."""
    generator = np.random.default_rng([qubits, seed])
    waiting, applied = register(qubits, seed=seed), register(qubits, seed=seed)
    for _ in range(12):
        steps = random_circuit(generator, qubits, int(generator.integers(0, 8)))
        if qubits > 1 and generator.random() < 0.5:
            wires = tuple(int(wire) for wire in generator.permutation(qubits)[:2])
            steps.append(Step("CNOT", wires))
            wire = wires[int(generator.integers(2))]
        else:
            wire = int(generator.integers(qubits))
        for step in steps:
            apply_engine(waiting, step)
            apply_engine(applied, step)
        applied.work_done  # noqa: B018  applies what waits
        reset = bool(generator.integers(2))
        assert waiting.measure(wire, reset=reset) == applied.measure(wire, reset=reset)
        if generator.random() < 0.3:
            np.testing.assert_allclose(
                waiting.amplitudes, applied.amplitudes, atol=waiting.within(1e-13)
            )
    np.testing.assert_allclose(
        waiting.amplitudes, applied.amplitudes, atol=waiting.within(1e-13, 1e-5)
    )
