"""QNodes with snapshots return `(snapshots, results)`: what PennyLane's debugger sees."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, grad, measure, qjit, value_and_grad, vmap


def quantum_function(x):
    qml.Snapshot()
    qml.RX(x, 0)
    qml.Snapshot("tag")
    qml.CNOT([0, 1])
    qml.Snapshot(measurement=qml.expval(qml.Z(1)))
    return {"mean": qml.expval(qml.Z(0)), "probs": qml.probs(wires=[0, 1])}


def circuit(wires=2, function=quantum_function, **settings):
    return qml.QNode(function, qml.device("lightning.qubit", wires=wires), **settings)


def test_what_snapshots_see():
    seen = qml.snapshots(qml.QNode(quantum_function, qml.device("default.qubit", wires=2)))(0.3)
    *wanted, results = seen.values()
    for compiled in (qjit(circuit()), qjit(circuit(wires=None)), qjit(qml.compile(circuit()))):
        snapshots, found = compiled(0.3)
        assert isinstance(snapshots, list)
        for one, other in zip(snapshots, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
        assert found.keys() == results.keys()
        np.testing.assert_allclose(found["probs"], results["probs"], atol=1e-12)


def test_inside_of_programs_and_of_batches():
    def program(x):
        snapshots, results = circuit()(x)
        return jnp.abs(snapshots[1]) ** 2, results["mean"]

    angles = jnp.array([0.1, 0.2])
    for batched in (qjit(vmap(program)), qjit(program), jax.vmap(qjit(program))):
        probabilities, means = batched(angles)
        np.testing.assert_allclose(means, np.cos(angles), atol=1e-12)
        np.testing.assert_allclose(probabilities[:, 2], np.sin(angles / 2) ** 2, atol=1e-12)


def test_states_beside_shots_and_outcomes():
    def sampled(x):
        qml.RX(x, 0)
        qml.Snapshot()
        measure(0, reset=True)
        return qml.sample()

    (state,), samples = qjit(circuit(1, sampled, shots=5))(0.3)
    np.testing.assert_allclose(state, [np.cos(0.15), -1j * np.sin(0.15)], atol=1e-12)
    assert samples.shape == (5, 1)


@pytest.mark.parametrize("method", ["adjoint", "finite-diff"])
def test_derivatives_are_of_the_results(method):
    def mean(x):
        qml.RX(x, 0)
        qml.Snapshot()
        return qml.expval(qml.Z(0))

    program = circuit(1, mean, diff_method=method)
    np.testing.assert_allclose(qjit(grad(program))(0.3), -np.sin(0.3), rtol=1e-6)
    value, gradient = qjit(value_and_grad(program))(0.3)
    np.testing.assert_allclose([value, gradient], [np.cos(0.3), -np.sin(0.3)], rtol=1e-6)
    around = jax.grad(lambda x: qjit(program)(x)[1])
    np.testing.assert_allclose(around(0.3), -np.sin(0.3), rtol=1e-6)


def test_a_branch_never_taken_takes_none():
    def without(x):
        cond(False)(lambda: (qml.Snapshot(), None)[1])()
        return qml.expval(qml.Z(0))

    assert qjit(circuit(1, without))(0.3) == 1
