"""Whole quantum programs: compiled once, compared with known results or with default.qubit."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop


@pytest.mark.parametrize("marked", [0, 5, 7])
def test_grover_search_for_a_traced_number(marked):
    """The oracle is built from the bits of the argument; two rounds on three qubits."""

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def search(marked: int, rounds: int):
        def flip_zeros():
            @for_loop(0, 3, 1)
            def flip(wire):
                cond((marked >> (2 - wire)) % 2 == 0)(lambda: (qml.X(wire), None)[1])()

            flip()

        for wire in range(3):
            qml.Hadamard(wire)

        @for_loop(0, rounds, 1)
        def iterate(_):
            flip_zeros()
            qml.CCZ(wires=[0, 1, 2])
            flip_zeros()
            qml.GroverOperator(wires=[0, 1, 2])

        iterate()
        return qml.probs()

    probabilities = search(marked, 2)
    angle = 5 * np.arcsin(np.sqrt(1 / 8))
    np.testing.assert_allclose(probabilities[marked], np.sin(angle) ** 2, atol=1e-12)


def test_phase_estimation_of_a_traced_phase():
    @qml.qnode(qml.device("default.qubit", wires=5))
    def estimate(phase):
        qml.X(4)
        for wire in range(4):
            qml.Hadamard(wire)
            qml.ctrl(qml.pow(qml.PhaseShift(2 * np.pi * phase, wires=4), 2 ** (3 - wire)), wire)
        qml.adjoint(qml.QFT)(wires=range(4))
        return qml.probs(wires=range(4))

    compiled = qjit(estimate)
    for phase in (0.25, 0.3, 0.8125):
        np.testing.assert_allclose(compiled(phase), estimate(phase), atol=1e-12)
    assert int(jnp.argmax(compiled(0.8125))) == 13


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_bit_flip_code_corrects_a_traced_error(damaged):
    """Syndromes are measured on reused qubits, and decide where to correct."""

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def protect(angle: float, damaged: int):
        qml.RY(angle, 0)
        qml.CNOT([0, 1])
        qml.CNOT([0, 2])
        qml.X(damaged)

        def parity(left, right):
            qml.CNOT([left, 3])
            qml.CNOT([right, 3])
            return measure(3, reset=True)

        first, second = parity(0, 1), parity(1, 2)
        broken = jnp.where(first, jnp.where(second, 1, 0), 2)
        cond(first | second)(lambda: (qml.X(broken), None)[1])()
        qml.CNOT([0, 2])
        qml.CNOT([0, 1])
        return broken, qml.expval(qml.Z(0)), qml.expval(qml.X(0)), qml.probs(wires=[1, 2, 3])

    broken, along_z, along_x, rest = protect(0.7, damaged)
    assert int(broken) == damaged
    np.testing.assert_allclose([along_z, along_x], [np.cos(0.7), np.sin(0.7)], atol=1e-12)
    np.testing.assert_allclose(rest, np.eye(8)[0], atol=1e-12)


def test_repeat_until_success_prepares_the_same_state_for_every_seed():
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def prepare():
        @while_loop(lambda failed, attempts: failed)
        def attempt(failed, attempts):
            qml.Hadamard(1)
            qml.ctrl(qml.RY(1.3, wires=0), control=1)
            qml.Hadamard(1)
            failed = measure(1, reset=True)
            cond(failed)(lambda: (measure(0, reset=True), None)[1])()
            return failed, attempts + 1

        _, attempts = attempt(True, 0)
        return attempts, qml.state()

    # The outcome 0 leaves (1 + RY)|0>, normalised, on the first qubit.
    target = np.array([1 + np.cos(0.65), np.sin(0.65)])
    expected = np.kron(target / np.linalg.norm(target), [1, 0])
    projector = np.outer(expected, expected)
    attempts = []
    for seed in range(12):
        number, state = qjit(prepare, seed=seed)()
        np.testing.assert_allclose(np.outer(state, np.conj(state)), projector, atol=1e-12)
        attempts.append(int(number))
    assert min(attempts) == 1 < max(attempts)
