"""Derivatives of statistics of shots: unbiased, with the variances of their formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit

DEVICE = qml.device("default.qubit", wires=3)
X = jnp.array([0.3, 0.7, -1.1])
C = jnp.array([0.3, -0.4, 0.5])
HERMITIAN = jnp.array([[1.0, 0.5j], [-0.5j, -0.3]])


def varied(x):
    """Gates with generators of one word and of several, under controls, none; arrays; a loop."""
    qml.StatePrep(jnp.array([jnp.cos(x[0]), jnp.sin(x[0])]), 0)
    qml.CRZ(x[2], [0, 1])
    qml.IsingXY(x[1], [0, 2])
    qml.ctrl(qml.RY(x[2] * x[0], 1), [0, 2], control_values=[1, 0])
    qml.Rot(x[0], 0.3, x[1], 2)
    qml.QubitUnitary(qml.RX.compute_matrix(x[0]), 0)

    @for_loop(0, 2, 1)
    def loop(i):
        qml.MultiRZ(x[2], [i, i + 1])
        qml.RX(x[1] * (i + 1.0), i)

    loop()
    words = [qml.Z(0) @ qml.X(2), qml.Y(1), qml.Identity(0)]
    energy = qml.expval(qml.Hamiltonian(C * x[0], words))
    return energy, qml.probs([0, 2]), qml.expval(qml.Hermitian(HERMITIAN, 1))


def as_vector(node):
    return lambda *args: jnp.concatenate([jnp.ravel(value) for value in node(*args)])


def node_of(body, method, shots, options=None):
    made = qml.QNode(body, DEVICE, diff_method=method, gradient_kwargs=options or {})
    return qml.set_shots(made, shots)


def estimates(function, count, seed=11):
    """Results of many calls, each with draws of its own."""
    repeated = qjit(lambda xs: jax.lax.map(function, xs), seed=seed)
    return jax.tree.map(np.array, repeated(jnp.broadcast_to(X, (count, 3))))


def assert_unbiased(found, exact):
    error = found.std(axis=0) / len(found) ** 0.5
    np.testing.assert_array_less(np.abs(found.mean(axis=0) - exact), 5 * error + 1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", ["parameter-shift", "hadamard"])
def test_estimates_are_unbiased(method):
    function = as_vector(node_of(varied, method, 30))
    exact = np.array(qjit(jax.jacrev(as_vector(node_of(varied, "best", None))))(X))
    forwards, backwards = estimates(
        lambda x: (jax.jacfwd(function)(x), jax.jacrev(function)(x)), 400
    )
    assert_unbiased(forwards, exact)
    assert_unbiased(backwards, exact)


def rotated(x):
    qml.RX(x[0], 0)
    qml.RY(x[1], 0)
    return qml.expval(qml.Z(0))


def test_variances():
    """By RX: of a Hadamard test 1 - D^2 a shot, of two shifted runs a quarter of both of theirs."""
    shots, count = 10, 3000
    cosine, sine = np.cos(X[0]) * np.cos(X[1]), -np.sin(X[0]) * np.cos(X[1])
    shifted = [np.cos(X[0] + shift) * np.cos(X[1]) for shift in (np.pi / 2, -np.pi / 2)]
    expected = {
        ("hadamard", "standard"): 1 - sine**2,
        ("hadamard", "direct"): sum(1 - value**2 for value in shifted) / 4,
        ("parameter-shift", None): sum(1 - value**2 for value in shifted) / 4,
    }
    nodes = [
        node_of(rotated, method, shots, {"mode": mode} if mode else {}) for method, mode in expected
    ]
    second = [nodes[0], nodes[2]]
    gradients, hessians = estimates(
        lambda x: (
            [jax.grad(node)(x)[0] for node in nodes],
            [jax.hessian(node)(x)[0, 0] for node in second],
        ),
        count,
    )
    for found, variance in zip(gradients, expected.values(), strict=True):
        assert_unbiased(found, sine)
        np.testing.assert_allclose(found.var() * shots, variance, rtol=0.15)
    for found in hessians:
        assert_unbiased(found, -cosine)


def test_shot_vectors_and_known_coefficients_of_words_without_letters():
    """Each partition has a derivative; what depends on no outcome has none, on average."""

    def body(x):
        qml.RX(x[0], 0)
        return qml.expval(2.0 * qml.Identity(0) + qml.Z(0))

    gradient = jax.jacrev(lambda x: jnp.stack(node_of(body, "hadamard", (4000, 6000))(x)))
    found = qjit(gradient, seed=3)(X)
    np.testing.assert_allclose(found[:, 0], -np.sin(X[0]), atol=0.15)
    np.testing.assert_array_equal(found[:, 1:], 0.0)
