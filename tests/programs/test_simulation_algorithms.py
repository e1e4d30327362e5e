"""Dynamics in time, walks, random circuits: against the same QNodes interpreted."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit

STRENGTHS = (0.9, 1.1, 0.7, 0.4)


def heisenberg(wires):
    """A chain with a field."""
    x, y, z, field = STRENGTHS
    terms, coefficients = [], []
    for wire in range(wires - 1):
        terms += [pauli(wire) @ pauli(wire + 1) for pauli in (qml.X, qml.Y, qml.Z)]
        coefficients += [x, y, z]
    return qml.Hamiltonian(
        coefficients + [field] * wires, terms + [qml.Z(wire) for wire in range(wires)]
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_trotter_steps_in_a_loop(steps):
    @qml.qnode(qml.device("default.qubit", wires=4))
    def evolve(time, steps):
        qml.X(0)
        qml.X(2)
        dt = time / jnp.maximum(steps, 1)

        @qml.for_loop(0, steps, 1)
        def step(_):
            for first in (0, 1):
                for wire in range(first, 3, 2):
                    qml.IsingXX(2 * STRENGTHS[0] * dt, wires=[wire, wire + 1])
                    qml.IsingYY(2 * STRENGTHS[1] * dt, wires=[wire, wire + 1])
                    qml.IsingZZ(2 * STRENGTHS[2] * dt, wires=[wire, wire + 1])
            for wire in range(4):
                qml.RZ(2 * STRENGTHS[3] * dt, wires=wire)

        step()
        return [qml.expval(qml.Z(wire)) for wire in range(4)]

    np.testing.assert_allclose(qjit(evolve)(1.3, steps), evolve(1.3, steps), atol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
def test_trotter_product_with_a_traced_time(order):
    chain = heisenberg(3)

    @qml.qnode(qml.device("default.qubit", wires=3))
    def evolve(time):
        qml.X(1)
        qml.TrotterProduct(chain, time, n=4, order=order)
        return qml.expval(qml.Z(1)), qml.state()

    for ours, theirs in zip(qjit(evolve)(0.8), evolve(0.8), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_adiabatic_path_to_the_ground_state():
    """From a field along x to an antiferromagnetic chain in a small field along z."""

    @qml.qnode(qml.device("default.qubit", wires=4))
    def anneal(steps, dt):
        for wire in range(4):
            qml.Hadamard(wire)
            qml.Z(wire)

        @qml.for_loop(0, steps, 1)
        def step(k):
            done = (k + 0.5) / steps
            for wire in range(3):
                qml.IsingZZ(2 * dt * done, wires=[wire, wire + 1])
            qml.RZ(0.6 * dt * done, wires=0)
            for wire in range(4):
                qml.RX(2 * dt * (1 - done), wires=wire)

        step()
        return qml.probs()

    compiled = qjit(anneal)
    np.testing.assert_allclose(compiled(20, 0.2), anneal(20, 0.2), atol=1e-10)
    assert float(compiled(600, 0.1)[0b1010]) > 0.95


@pytest.mark.parametrize("steps", [0, 3, 8])
def test_walk_on_a_cycle(steps):
    """A coin (wire 0) moves a position of three bits forth or back."""

    @qml.qnode(qml.device("default.qubit", wires=4))
    def walk(steps):
        def increment():
            qml.Toffoli([3, 2, 1])
            qml.CNOT([3, 2])
            qml.X(3)

        @qml.for_loop(0, steps, 1)
        def step(_):
            qml.Hadamard(0)
            qml.ctrl(increment, control=0)()
            qml.ctrl(qml.adjoint(increment), control=0, control_values=0)()

        step()
        return qml.probs(wires=[1, 2, 3])

    np.testing.assert_allclose(qjit(walk)(steps), walk(steps), atol=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(3))
def test_quantum_volume_circuits_have_heavy_outputs(seed):
    random = np.random.default_rng(seed)
    width = 4
    orders = np.array([random.permutation(width) for _ in range(width)])
    gates = random.normal(size=(width, width // 2, 4, 4, 2)) @ [1, 1j]
    unitaries = jnp.asarray(np.linalg.qr(gates)[0])

    @qml.qnode(qml.device("default.qubit", wires=width))
    def circuit(unitaries, orders):
        @qml.for_loop(0, width, 1)
        def layer(k):
            for pair in range(width // 2):
                wires = [orders[k, 2 * pair], orders[k, 2 * pair + 1]]
                qml.QubitUnitary(unitaries[k, pair], wires=wires)

        layer()
        return qml.probs()

    probabilities = qjit(circuit)(unitaries, jnp.asarray(orders))
    np.testing.assert_allclose(probabilities, circuit(unitaries, orders), atol=1e-10)
    heavy = probabilities[probabilities > jnp.median(probabilities)].sum()
    assert 0.6 < float(heavy) < 1


def test_swap_test_of_two_traced_states():
    @qml.qnode(qml.device("default.qubit", wires=3))
    def compare(angle, other):
        qml.RY(angle, 1)
        qml.RY(other, 2)
        qml.Hadamard(0)
        qml.CSWAP([0, 1, 2])
        qml.Hadamard(0)
        return qml.expval(qml.Z(0))

    compiled = qjit(compare)
    for angle, other in [(0.3, 0.3), (0.0, np.pi), (0.4, 1.7)]:
        ours = compiled(angle, other)
        np.testing.assert_allclose(ours, compare(angle, other), atol=1e-12)
        np.testing.assert_allclose(ours, np.cos((angle - other) / 2) ** 2, atol=1e-12)


def test_hidden_shift_of_a_bent_function():
    @qml.qnode(qml.device("default.qubit", wires=4))
    def find(shift):
        def shifted():
            @qml.for_loop(0, 4, 1)
            def flip(wire):
                qml.cond((shift >> (3 - wire)) % 2 == 1, qml.X)(wires=wire)

            flip()

        def bent():
            qml.CZ([0, 1])
            qml.CZ([2, 3])

        for wire in range(4):
            qml.Hadamard(wire)
        shifted()
        bent()
        shifted()
        for wire in range(4):
            qml.Hadamard(wire)
        bent()
        for wire in range(4):
            qml.Hadamard(wire)
        return qml.probs()

    compiled = qjit(find)
    for shift in range(16):
        probabilities = compiled(shift)
        np.testing.assert_allclose(probabilities, find(shift), atol=1e-10)
