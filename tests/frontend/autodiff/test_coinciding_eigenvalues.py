"""Derivatives, first and second, of what is computed of eigenvalues, where they coincide."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import measure, qjit

DEVICE = qml.device("default.qubit", wires=4)
MATRIX = np.random.default_rng(1).normal(size=(2, 2))


def check(circuit, *points):
    """Value, gradient, and their derivatives, by finite differences of the value.

    The value beside a gradient is differentiated again: its derivative is the gradient.
    """

    def total(x, *operands):
        return jnp.sum(jnp.asarray(circuit(x, *operands)))

    def both(x, *operands):
        return jax.jvp(lambda x: jax.value_and_grad(total)(x, *operands), (x,), (1.0,))

    values, derivatives, step = qjit(total), qjit(both), 1e-3
    for x, *operands in points:
        below, here, above = (float(values(x + k * step, *operands)) for k in (-1, 0, 1))
        (value, slope), (same, bend) = derivatives(x, *operands)
        np.testing.assert_allclose(value, here, atol=1e-12)
        np.testing.assert_allclose([slope, same], (above - below) / (2 * step), atol=1e-5)
        np.testing.assert_allclose(bend, (above - 2 * here + below) / step**2, atol=1e-5)


def two_pairs(x):
    """At 0, two pairs of wires in maximally entangled states."""
    for wire in (0, 1):
        qml.H(wire)
        qml.CNOT([wire, wire + 2])
    qml.RX(x, 0)
    qml.CRY(x, [2, 0])
    qml.IsingXY(x, [0, 1])
    return qml.vn_entropy([0, 1], log_base=2)


def one_pair_of_four_weights(x):
    """Of the weights of two wires' state two are zero for all angles, and two equal at pi/2."""
    qml.RY(x, 0)
    qml.CNOT([0, 2])
    qml.CRX(x, [0, 1])
    return qml.vn_entropy([0, 1])


def test_entropies():
    check(qml.QNode(two_pairs, DEVICE), (0.0,), (0.4,))
    check(qml.QNode(one_pair_of_four_weights, DEVICE), (np.pi / 2,), (0.7,))


def test_entropy_of_a_mixture_of_outcomes():
    @qml.qnode(DEVICE, mcm_method="tree-traversal")
    def mixed(x):
        qml.H(0)
        qml.H(1)
        measure(0)
        measure(1)
        qml.RX(x, 0)
        qml.CRY(x, [0, 1])
        qml.CNOT([1, 2])
        return qml.vn_entropy([0, 1, 2])

    check(mixed, (0.0,))


@pytest.mark.thorough
def test_block_encodings():
    @qml.qnode(DEVICE)
    def circuit(x, matrices):
        qml.RX(0.4, 0)
        qml.RY(0.3, 1)
        qml.CNOT([0, 1])
        factors = jnp.stack([1.0, x, jnp.cos(x), jnp.sin(x)])
        qml.BlockEncode(jnp.tensordot(factors, matrices, 1), wires=[0, 1])
        return qml.expval(qml.Z(0) @ qml.X(1)), qml.expval(qml.Y(1))

    one, none, turn = np.eye(2), np.zeros((2, 2)), np.array([[0, 1], [-1, 0]])
    first, other = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    other_values = [
        (0.3, [none, one, none, none]),
        (0.3, [none, none, 0.5 * one, 0.5j * one]),
        (0.0, [0.5 * one, 0.1 * MATRIX, none, none]),
        (0.3, [none, none, one, turn]),  # unitary: all singular values are 1
        (0.3, [first, other, none, none]),
    ]
    points = [(x, np.array(matrices, complex)) for x, matrices in other_values]
    compiled = qjit(circuit)
    for x, matrices in points:
        np.testing.assert_allclose(compiled(x, matrices), circuit(x, matrices), atol=1e-7)
    check(circuit, *points)


def test_eigenvectors_that_are_chance_have_no_derivatives():
    """LAPACK's eigenvalues differ by rounding: quotients of rounding errors were derivatives."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    known = rotation @ np.diag([1.0, 1.0, 2.0, 3.0]) @ rotation.T
    direction = np.arange(16.0).reshape(4, 4) / 10
    direction = direction + direction.T

    @qml.qnode(DEVICE)
    def circuit(x):
        qml.RX(0.3, 0)
        qml.RY(0.5, 1)
        qml.CNOT([0, 1])
        return qml.probs(op=qml.Hermitian(known + x * direction, [0, 1]))

    slopes = qjit(jax.jacfwd(circuit))
    with pytest.warns(UserWarning, match="lexicographical"):
        at_zero = slopes(0.0)
    assert np.isnan(at_zero[:2]).all()
    beside, values = slopes(0.3), qjit(circuit)
    with pytest.warns(UserWarning, match="lexicographical"):
        around = [values(0.3 - 1e-6)]
    around.append(values(0.3 + 1e-6))
    np.testing.assert_allclose(beside, (around[1] - around[0]) / 2e-6, atol=1e-7)
