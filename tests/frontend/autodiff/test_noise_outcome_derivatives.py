"""Derivatives of averages over outcomes of noisy circuits."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import measure, qjit


@pytest.mark.parametrize("postselect", [None, 1])
@pytest.mark.parametrize("reset", [False, True])
def test_averages_over_outcomes(reset, postselect):
    """A measurement that decides what follows, against finite differences."""

    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit(x, p):
        qml.RX(x, 0)
        qml.BitFlip(p, wires=0)
        outcome = measure(0, reset=reset)
        qml.cond(outcome, qml.RY)(2 * x, 1)
        if postselect is not None:
            qml.CNOT([0, 1])
            measure(1, postselect=postselect)
        qml.AmplitudeDamping(p, wires=1)
        return qml.expval(qml.Z(1) @ qml.X(0)), qml.probs(wires=[1, 0])

    def loss(x, p):
        value, probabilities = circuit(x, p)
        return value + probabilities @ jnp.arange(4.0)

    compiled, found = qjit(loss), qjit(jax.grad(loss, argnums=(0, 1)))(0.4, 0.1)
    for position, derivative in enumerate(found):
        ends = [[0.4, 0.1], [0.4, 0.1]]
        ends[0][position] -= 1e-5
        ends[1][position] += 1e-5
        below, above = (compiled(*end) for end in ends)
        np.testing.assert_allclose(derivative, (above - below) / 2e-5, atol=1e-8)
