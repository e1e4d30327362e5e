"""Powers of operators: values, first and second derivatives beside default.qubit, as it is.

At equal eigenvalues, too, where derivatives of eigenvectors do not exist. Each operator has an
entry of the argument of its own, and many are one circuit: an entry of the gradient says which one
is wrong. First derivatives are compared with differences of default.qubit's values, second ones
with differences of first ones.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit

SAME = np.array([1, 1, 2, 2])


def _pair(x, wires=(0, 1)):
    """The eigenvalue 1 twice, and two others."""
    return qml.prod(qml.RX(x, wires[0]), qml.RX(x, wires[1]))


def _matrix(x):
    return qml.QubitUnitary(jnp.diag(jnp.exp(1j * x * SAME)), [0, 1])


WHOLE = [
    lambda x: qml.ctrl(qml.pow(qml.prod(qml.RX(x, 0), qml.RY(x, 1)), -1), 2),
    lambda x: qml.pow(qml.CRot(x, 2 * x, 0.3, [0, 1]), -1),
    lambda x: qml.adjoint(qml.pow(qml.PCPhase(x, dim=3, wires=[0, 1]), -1)),
    lambda x: qml.pow(qml.prod(qml.RX(x, 0), qml.CNOT([0, 1])), -2.0),
    lambda x: qml.pow(_matrix(x), -1),
    lambda x: qml.pow(_matrix(x), np.int64(3)),
    lambda x: qml.pow(qml.PSWAP(x, [0, 1]), -1),
    lambda x: qml.pow(qml.ctrl(qml.Rot(x, 0.1, 0.2, 2), [0, 1]), -2),
    lambda x: qml.pow(qml.adjoint(qml.Rot(x, 0.1, 0.2, 2)), -2),
    lambda x: qml.pow(qml.OrbitalRotation(x, [0, 1, 2, 3]), -1),
    lambda x: qml.pow(qml.FermionicSWAP(x, [1, 2]), -1),
    lambda x: qml.pow(qml.PCPhase(x, dim=3, wires=[0, 1]), 0.5),
    lambda x: qml.pow(qml.MultiRZ(x, [0, 1, 2]), -0.7),
    lambda x: qml.pow(qml.exp(qml.X(0) @ qml.Y(1), 1j * x), 2),
    lambda x: qml.pow(qml.evolve(qml.X(0) @ qml.Y(1), x), -2),
    lambda x: qml.ctrl(qml.pow(qml.exp(qml.X(0) @ qml.Y(1), 1j * x), -0.5), 3, [0]),
]
FRACTIONS = [
    lambda x: qml.adjoint(qml.pow(_pair(x), 1.3)),
    lambda x: qml.ctrl(qml.pow(qml.CRot(x, 2 * x, 0.3, [0, 1]), 0.3), 2, [0]),
    lambda x: qml.pow(_matrix(x), 0.5),
    lambda x: qml.pow(_pair(x, (2, 3)), x),
    lambda x: qml.pow(qml.pow(_pair(x), 0.5), 3),
    lambda x: qml.pow(qml.prod(qml.RX(x - x, 0), qml.RY(x, 1)), 0.5),
]


def _circuit(forms, x):
    @qml.qnode(qml.device("default.qubit", wires=4))
    def circuit():
        for wire in range(4):
            qml.RY(0.3 + 0.4 * wire, wire)
            qml.RZ(0.7 - 0.3 * wire, wire)
        for number, form in enumerate(forms):
            form(x[number])
            qml.CNOT([number % 4, (number + 1) % 4])
        words = qml.X(0) @ qml.Y(1), qml.Z(2) @ qml.X(1), qml.Y(2) @ qml.X(3), qml.Z(0)
        return qml.expval(qml.dot([1.0, 0.7, 0.3, 0.2], words))

    return circuit()


def _difference(function, x, direction, step=1e-3):
    """The derivative of a function in a direction."""
    weights = np.array([1, -8, 8, -1]) / (12 * step)
    values = [np.asarray(function(x + step * k * direction)) for k in (-2, -1, 1, 2)]
    return np.tensordot(weights, values, 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("forms", [WHOLE, FRACTIONS], ids=["whole", "fractions"])
def test_powers_have_the_derivatives_of_default_qubit(forms):
    x = 0.37 + 0.05 * np.arange(len(forms))

    def circuit(x):
        return _circuit(forms, x)

    value, gradient = qjit(jax.value_and_grad(circuit))(x)
    expected = [_difference(circuit, x, unit) for unit in np.eye(len(forms))]
    np.testing.assert_allclose(value, circuit(x), atol=1e-9)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)


@pytest.mark.parametrize("form", [WHOLE[0], FRACTIONS[3]], ids=["whole", "fraction"])
def test_powers_have_second_derivatives(form):
    def circuit(x):
        return _circuit([form], [x])

    gradient, second = qjit(lambda x: jax.jvp(jax.grad(circuit), (x,), (1.0,)))(0.37)
    forward = qjit(lambda x: jax.jvp(circuit, (x,), (1.0,))[1])
    np.testing.assert_allclose(gradient, _difference(circuit, 0.37, 1.0), atol=1e-8)
    np.testing.assert_allclose(second, _difference(forward, 0.37, 1.0), atol=1e-8)
