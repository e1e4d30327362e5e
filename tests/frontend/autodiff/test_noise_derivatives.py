"""Derivatives of QNodes on density matrices, compared with PennyLane's default.mixed under JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit

X = jnp.array([0.3, 0.5, 0.7, 0.9])
HERMITIAN = np.array([[1, 0.2j], [-0.2j, 0.3]])


def noisy(x: Any) -> None:
    qml.RX(x[0], wires=0)
    qml.CRY(x[1], wires=[0, 1])
    qml.DepolarizingChannel(x[2] / 4, wires=0)
    qml.Rot(x[0], x[1], x[2], wires=1)
    qml.AmplitudeDamping(x[3] / 3, wires=1)
    qml.IsingXY(x[3], wires=[0, 1])
    qml.BitFlip(0.1, wires=0)


def words() -> Any:
    return qml.X(0) @ qml.Y(1) + 0.3 * qml.Z(0) + 0.2 * qml.X(1)


MEASUREMENTS = {
    "expval": lambda x: qml.expval(words()),
    "var": lambda x: qml.var(words()),
    "matrix": lambda x: qml.expval(qml.Hermitian(HERMITIAN, wires=1)),
    "probs": lambda x: qml.probs(wires=[1]),
    "purity": lambda x: qml.purity([0]),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("derivative", [jax.jacrev, jax.jacfwd, jax.hessian])
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_against_default_mixed(name: str, derivative: Any) -> None:
    def circuit(x: Any) -> Any:
        noisy(x)
        return MEASUREMENTS[name](x)

    device = qml.device("default.mixed", wires=2)
    wanted = derivative(qml.QNode(circuit, device, interface="jax", diff_method="backprop"))(X)
    found = qjit(derivative(qml.QNode(circuit, device)))(X)
    np.testing.assert_allclose(found, wanted, atol=1e-8)
