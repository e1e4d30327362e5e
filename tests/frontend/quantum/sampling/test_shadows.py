"""Classical shadows: bits against the state, estimates against exact expectation values."""

import numpy as np
import pennylane as qml
import pytest

from diastase import measure, qjit
from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedObservableError

SHOTS = 12_000


def test_bits_and_recipes(prepared, exact, exact_bits, frequencies):
    @qml.qnode(qml.device("lightning.qubit", wires=4), shots=SHOTS)
    def circuit(wire):
        prepared()
        return qml.classical_shadow([2, 0]), qml.classical_shadow([wire]), qml.probs(wires=[1, 3])

    shadow, traced, probs = qjit(circuit, seed=6)(3)
    assert shadow.shape == (2, SHOTS, 2)
    assert shadow.dtype == np.int8
    bits, recipes = np.asarray(shadow, int)
    pairs = recipes @ np.array([3, 1])
    frequencies(np.bincount(pairs, minlength=9), np.full(9, 1 / 9))
    for k, (first, second) in enumerate(np.ndindex(3, 3)):
        chosen = bits[pairs == k]
        words = [(qml.X, qml.Y, qml.Z)[recipe] for recipe in (first, second)]
        exact(words[0](2) @ words[1](0)).check_samples(1 - 2 * (chosen.sum(axis=1) % 2))
        exact(words[0](2)).check_samples(1 - 2 * chosen[:, 0])
        exact(words[1](0)).check_samples(1 - 2 * chosen[:, 1])
    bits, recipes = np.asarray(traced, int)
    exact(qml.Y(3)).check_samples(1 - 2 * bits[recipes[:, 0] == 1, 0])
    frequencies(np.asarray(probs) * SHOTS, exact_bits(1, 3))


def test_estimates(prepared, exact):
    observables = [
        qml.X(0) @ qml.Z(2),
        qml.Hamiltonian([0.5, -1.0, 2.0], [qml.Y(1), qml.Z(0) @ qml.Z(1), qml.I(0)]),
        qml.Z(3),
    ]

    @qml.qnode(qml.device("lightning.qubit", wires=4), shots=SHOTS)
    def circuit():
        prepared()
        return (
            qml.shadow_expval(observables),
            qml.shadow_expval(observables[0], k=3),
            qml.shadow_expval(observables[1]),
            qml.shadow_expval(qml.I(1)),
        )

    several, median, one, identity = qjit(circuit, seed=4)()
    assert several.shape == (3,)
    spreads = [3.0, 0.5 * 3**0.5 + 3.0, 3**0.5]
    for found, observable, spread in zip(several, observables, spreads, strict=True):
        assert abs(found - exact(observable).mean) < 4.9 * spread / np.sqrt(SHOTS)
    assert abs(median - exact(observables[0]).mean) < 2 * 4.9 * 3.0 / np.sqrt(SHOTS)
    assert abs(one - exact(observables[1]).mean) < 4.9 * spreads[1] / np.sqrt(SHOTS)
    assert identity == 1


def test_shapes_are_pennylanes():
    @qml.qnode(qml.device("default.qubit", wires=2), shots=[5, 3])
    def circuit():
        qml.Hadamard(0)
        return qml.classical_shadow([0, 1]), qml.shadow_expval(qml.X(0))

    for found, wanted in zip(qjit(circuit)(), circuit(), strict=True):
        assert [part.shape for part in found] == [np.shape(part) for part in wanted]


def test_traced_shots_and_seeds():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit():
        qml.Hadamard(0)
        return qml.classical_shadow(0), qml.shadow_expval(qml.X(0), k=2)

    def program(n):
        return qml.set_shots(circuit, n)()

    seeded = qjit(program, seed=1)
    for shots in (40, 7):
        np.testing.assert_array_equal(seeded(shots)[0], seeded(shots)[0])
        assert seeded(shots)[0].shape == (2, shots, 1)
    unseeded = qjit(program)
    assert (unseeded(40)[0] != unseeded(40)[0]).any()


def test_with_a_measurement_in_the_middle():
    """A shadow of each shot's own state."""

    @qml.qnode(qml.device("lightning.qubit", wires=2), shots=600)
    def circuit():
        qml.Hadamard(0)
        outcome = measure(0)
        return qml.sample(outcome), qml.classical_shadow([0])

    outcomes, (bits, recipes) = qjit(circuit, seed=2)()
    in_z = recipes[:, 0] == 2
    np.testing.assert_array_equal(bits[in_z, 0], outcomes[in_z])
    assert 0.2 < np.mean(bits[~in_z]) < 0.8


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda wire: qml.shadow_expval(qml.Hermitian(np.eye(2), 0)), UnsupportedObservableError,
         "no sum of Pauli words"),
        (lambda wire: qml.shadow_expval(qml.Z(wire)), UnsupportedMeasurementError, "traced wires"),
    ],
)  # fmt: skip
def test_refused(make, error, message):
    @qml.qnode(qml.device("lightning.qubit", wires=2), shots=5)
    def circuit(wire):
        return make(wire)

    with pytest.raises(error, match=message):
        qjit(circuit)(1)
