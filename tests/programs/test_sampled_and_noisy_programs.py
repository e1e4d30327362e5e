"""Programs with shots and with noise: statistics within bounds that fail once in a million."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import for_loop, qjit

DEVIATIONS = 4.9
"""A normal number lies further out once in a million."""


def test_chsh_from_shots():
    @qml.set_shots(20_000)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def correlation(a, b):
        qml.Hadamard(0)
        qml.CNOT([0, 1])
        qml.RY(-a, 0)
        qml.RY(-b, 1)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    @qjit(seed=8)
    def chsh(a, a2, b, b2):
        return correlation(a, b) - correlation(a, b2) + correlation(a2, b) + correlation(a2, b2)

    estimate = float(chsh(0, np.pi / 2, np.pi / 4, 3 * np.pi / 4))
    # Each of the four has the variance 1 - 1/2, over 20,000 shots.
    assert abs(estimate - 2 * np.sqrt(2)) < DEVIATIONS * np.sqrt(4 * 0.5 / 20_000)


def test_estimating_an_angle_from_ever_more_shots():
    """The number of shots is an argument: one program for all; the error falls with its root."""

    @qjit(seed=5)
    def estimate(angle, shots):
        @qml.set_shots(shots)
        @qml.qnode(qml.device("lightning.qubit", wires=1))
        def circuit(angle):
            qml.RY(angle, 0)
            return qml.sample(wires=0)

        return jnp.arccos(1 - 2 * jnp.mean(circuit(angle)))

    for shots in (100, 1_000, 100_000):
        error = abs(float(estimate(1.1, shots)) - 1.1)
        assert error < DEVIATIONS / np.sqrt(shots)


def test_ghz_counts_and_parities_come_from_the_same_shots():
    @qjit(seed=2)
    @qml.set_shots(500)
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit():
        qml.Hadamard(0)
        for wire in range(3):
            qml.CNOT([wire, wire + 1])
        return qml.counts(), qml.sample(wires=[0, 3]), qml.expval(qml.Z(1))

    counts, samples, magnetisation = circuit()
    assert set(counts) == {"0000", "1111"}
    assert sum(counts.values()) == 500
    np.testing.assert_array_equal(samples[:, 0], samples[:, 1])
    assert int(samples[:, 0].sum()) == counts["1111"]
    np.testing.assert_allclose(magnetisation, 1 - 2 * counts["1111"] / 500, atol=1e-12)
    assert abs(counts["1111"] - 250) < DEVIATIONS * np.sqrt(125)


def test_stochastic_descent_with_shots_reaches_the_ground_state():
    hamiltonian = qml.Hamiltonian([1.0, 0.5], [qml.Z(0) @ qml.Z(1), qml.X(0)])

    def circuit(parameters):
        qml.RY(parameters[0], 0)
        qml.RY(parameters[1], 1)
        return qml.expval(hamiltonian)

    device = qml.device("lightning.qubit", wires=2)
    noisy = qml.set_shots(qml.QNode(circuit, device), 400)
    exact = qml.QNode(circuit, device)

    @qjit(seed=1)
    def train(parameters):
        @for_loop(0, 150, 1)
        def step(k, parameters):
            @for_loop(0, 2, 1)
            def slope(j, gradient):
                shift = jnp.zeros(2).at[j].set(np.pi / 2)
                return gradient.at[j].set(
                    (noisy(parameters + shift) - noisy(parameters - shift)) / 2
                )

            return parameters - 0.4 / (1 + 0.02 * k) * slope(jnp.zeros(2))

        parameters = step(parameters)
        return exact(parameters)

    lowest = np.linalg.eigvalsh(qml.matrix(hamiltonian, wire_order=[0, 1]))[0]
    reached = float(train(jnp.array([0.4, 0.7])))
    assert lowest - 1e-9 <= reached < lowest + 0.03


def test_noise_of_a_traced_strength_on_a_density_matrix():
    @qml.qnode(qml.device("default.mixed", wires=3))
    def ghz(strength):
        qml.Hadamard(0)
        for wire in range(2):
            qml.CNOT([wire, wire + 1])
            qml.DepolarizingChannel(strength, wires=wire + 1)
        for wire in range(3):
            qml.AmplitudeDamping(strength / 2, wires=wire)
        return qml.expval(qml.X(0) @ qml.X(1) @ qml.X(2)), qml.probs(), qml.purity(wires=[0, 1, 2])

    compiled = qjit(ghz)
    for strength in (0.0, 0.05, 0.3):
        for ours, theirs in zip(compiled(strength), ghz(strength), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_zero_noise_extrapolation_by_folding():
    """The circuit's gates are folded a traced number of times; a line is fitted and read at 0."""

    @qml.qnode(qml.device("default.mixed", wires=2))
    def noisy(angle, folds):
        def layer():
            qml.RY(angle, 0)
            qml.CNOT([0, 1])

        def with_noise(gates):
            gates()
            for wire in range(2):
                qml.DepolarizingChannel(0.01, wires=wire)

        with_noise(layer)

        @qml.for_loop(0, folds, 1)
        def fold(_):
            with_noise(qml.adjoint(layer))
            with_noise(layer)

        fold()
        return qml.expval(qml.Z(0) @ qml.Z(1)), qml.expval(qml.X(0) @ qml.X(1))

    @qjit
    def mitigate(angle):
        values = jnp.array([noisy(angle, folds) for folds in range(3)])
        scales = jnp.array([1.0, 3.0, 5.0])
        return values[0], jnp.polyfit(scales, values, 2)[-1]

    unmitigated, mitigated = mitigate(0.8)
    interpreted = np.array([noisy(0.8, folds) for folds in range(3)])
    np.testing.assert_allclose(unmitigated, interpreted[0], atol=1e-10)
    np.testing.assert_allclose(mitigated, np.polyfit([1, 3, 5], interpreted, 2)[-1], atol=1e-9)
    ideal = np.array([1.0, np.sin(0.8)])
    assert np.all(abs(mitigated - ideal) < 0.3 * abs(interpreted[0] - ideal))


def test_readout_errors_are_undone_by_the_inverse_of_their_matrix():
    flips = 0.03, 0.08

    @qml.qnode(qml.device("default.mixed", wires=2))
    def calibrate(number, angle, is_calibration):
        qml.cond(is_calibration & ((number // 2) == 1), qml.X)(wires=0)
        qml.cond(is_calibration & ((number % 2) == 1), qml.X)(wires=1)
        qml.RY(angle, 0)
        qml.CRY(2 * angle, wires=[0, 1])
        for wire, flip in enumerate(flips):
            qml.BitFlip(flip, wires=wire)
        return qml.probs()

    @qjit
    def corrected(angle):
        confusion = jnp.stack([calibrate(k, 0.0, True) for k in range(4)], axis=1)
        measured = calibrate(0, angle, False)
        return measured, jnp.linalg.solve(confusion, measured)

    @qml.qnode(qml.device("default.qubit", wires=2))
    def ideal(angle):
        qml.RY(angle, 0)
        qml.CRY(2 * angle, wires=[0, 1])
        return qml.probs()

    measured, found = corrected(0.9)
    np.testing.assert_allclose(found, ideal(0.9), atol=1e-10)
    assert float(jnp.max(jnp.abs(measured - ideal(0.9)))) > 0.01


def test_random_circuits_estimate_a_decay_of_fidelity():
    """Benchmarking: random layers and their inverse under noise; the survival falls as p^depth."""

    @qml.qnode(qml.device("default.mixed", wires=1))
    def survive(angles):
        def layers():
            @for_loop(0, angles.shape[0], 1)
            def layer(k):
                qml.Rot(angles[k, 0], angles[k, 1], angles[k, 2], wires=0)
                qml.DepolarizingChannel(0.02, wires=0)

            layer()

        layers()

        @for_loop(0, angles.shape[0], 1)
        def back(k):
            last = angles.shape[0] - 1 - k
            qml.Rot(-angles[last, 2], -angles[last, 1], -angles[last, 0], wires=0)
            qml.DepolarizingChannel(0.02, wires=0)

        back()
        return qml.probs(wires=0)

    compiled = qjit(lambda key, depth: survive(jax.random.uniform(key, (depth, 3), maxval=6.0)))
    per_layer = (1 - 4 * 0.02 / 3) ** 2
    for depth in (0, 1, 5, 12):
        survival = compiled(jax.random.key(depth), depth)[0]
        np.testing.assert_allclose(survival, (1 + per_layer**depth) / 2, atol=1e-10)
