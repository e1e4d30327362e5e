"""Classical values beside measurements of a broadcast parameter: they are what they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import measure, qjit

DEVICE = qml.device("default.qubit", wires=2)


def beside(x):
    qml.RX(x, 0)
    return {"energy": qml.expval(qml.Z(0)), "values": (2 * x, 3.0, jnp.outer(x, x))}


def test_values_that_need_no_circuit_have_no_axis_of_the_batch():
    for qnode in (qml.QNode(beside, DEVICE), qml.QNode(beside, DEVICE, shots=10)):
        for x in (np.array([0.1, 0.2, 0.3]), np.array([0.4]), np.zeros(0)):
            found = qjit(qnode)(x)
            assert found["energy"].shape == x.shape
            double, constant, product = found["values"]
            np.testing.assert_allclose(double, 2 * x)
            assert constant == 3.0
            np.testing.assert_allclose(product, np.outer(x, x))


def test_outcomes_and_gradients():
    x = np.array([0.1, 0.2, 0.3])

    @qml.qnode(DEVICE)
    def measured(x):
        qml.RX(np.pi + 0 * x, 0)
        return qml.expval(qml.Z(1)), 2 * measure(0), x

    energies, outcomes, same = qjit(measured)(x)
    np.testing.assert_allclose(energies, np.ones(3))
    np.testing.assert_array_equal(outcomes, [2, 2, 2])
    np.testing.assert_array_equal(same, x)

    def total(x):
        found = qml.QNode(beside, DEVICE)(x)
        return jnp.sum(found["energy"]) + jnp.sum(found["values"][0])

    np.testing.assert_allclose(qjit(jax.grad(total))(x), 2 - np.sin(x))
    rows = qjit(jax.vmap(qml.QNode(beside, DEVICE)))(np.stack([x, 3 * x]))
    np.testing.assert_allclose(rows["values"][0], np.stack([2 * x, 6 * x]))
    np.testing.assert_allclose(rows["energy"], np.cos([x, 3 * x]))
