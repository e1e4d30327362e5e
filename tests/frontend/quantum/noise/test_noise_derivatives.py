"""Derivatives of noisy QNodes beside differences: in batches, over outcomes, at the ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import measure, qjit

DEVICE = qml.device("default.mixed", wires=3)
STEP = 1e-5


@qml.qnode(DEVICE)
def noisy(angle, strength):
    qml.RX(angle, 0)
    qml.CNOT([0, 1])
    qml.AmplitudeDamping(strength, wires=1)
    return qml.expval(qml.Z(0) @ qml.Z(1) + 0.3 * qml.X(0) @ qml.Y(1))


@pytest.mark.parametrize("derivative", [jax.grad, diastase.grad, jax.jacfwd])
def test_derivative_of_a_batch(derivative):
    def loss(strengths):
        return jnp.sum(jnp.sin(jax.vmap(lambda strength: noisy(0.7, strength))(strengths)))

    strengths = jnp.array([0.1, 0.4, 0.2])
    value = qjit(loss)
    steps = STEP * np.eye(3)
    wanted = [(value(strengths + d) - value(strengths - d)) / (2 * STEP) for d in steps]
    np.testing.assert_allclose(qjit(derivative(loss))(strengths), wanted, atol=1e-7)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("postselect", [None, 0, 1])
def test_derivative_over_outcomes(reset, postselect):
    @qml.qnode(DEVICE)
    def circuit(angle, strength):
        qml.RX(angle, 0)
        qml.BitFlip(strength, wires=0)
        qml.CRY(1.0, [0, 1])
        qml.RX(angle, 0)
        first = measure(0, reset=reset)
        qml.cond(first, qml.RY)(angle * strength + 0.4, 2)
        second = measure(1, postselect=postselect)
        qml.AmplitudeDamping(strength, wires=1)
        qml.cond(second, qml.RX)(angle, 2)
        return qml.expval(qml.Z(2)), qml.expval(qml.Z(0) @ qml.Z(1)), qml.expval(first)

    value = qjit(circuit)
    found = qjit(diastase.jacobian(circuit, argnums=(0, 1)))(0.6, 0.2)

    def slope(step):
        up, down = value(0.6 + step[0], 0.2 + step[1]), value(0.6 - step[0], 0.2 - step[1])
        return (np.array(up) - np.array(down)) / (2 * STEP)

    wanted = np.transpose([slope((STEP, 0)), slope((0, STEP))])
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.parametrize("channel", [qml.AmplitudeDamping, qml.PhaseDamping])
@pytest.mark.parametrize("derivative", [jax.grad, jax.jacfwd])
def test_populations_have_derivatives_at_full_strength(channel, derivative):
    @qml.qnode(DEVICE)
    def population(angle, strength):
        qml.RX(angle, 0)
        channel(strength, wires=0)
        return qml.expval(qml.Z(0))

    wanted = 1 - np.cos(0.6) if channel is qml.AmplitudeDamping else 0.0
    found = qjit(derivative(population, argnums=(0, 1)))(0.6, 1.0)
    kept = 0.0 if channel is qml.AmplitudeDamping else 1.0
    np.testing.assert_allclose(found, [-kept * np.sin(0.6), wanted], atol=1e-7)
