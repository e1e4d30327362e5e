"""Programs where JAX is told to make arrays of 32 bits: the types of default.qubit, its values."""

import warnings
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit, while_loop

X = np.array([0.3, 0.7, -0.4], np.float32)
DEVICE = qml.device("default.qubit", wires=2)


@pytest.fixture(autouse=True)
def narrow():
    with jax.enable_x64(False):
        yield


def of_pennylane(function, *args):
    """What PennyLane gives, which asks JAX for complex128 and is warned; we are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*map(jnp.asarray, args))


def rotations(x):
    qml.RX(x[0], 0)
    qml.adjoint(qml.ctrl(qml.Rot, 0))(x[0], x[1], 0.1, wires=1)
    qml.CNOT([0, 1])
    qml.QubitUnitary(jax.scipy.linalg.expm(1j * x[1] * jnp.array([[0, 1], [1, 0]])), 0)


def results(x):
    rotations(x)
    hermitian = qml.Hermitian(np.array([[1, 2j], [-2j, 1]]), 0)
    return {
        "numbers": (qml.expval(0.3 * qml.Z(0) @ qml.X(1) + x[2] * qml.Y(0)), qml.var(qml.Z(1))),
        "matrix": qml.expval(hermitian),
        "arrays": (qml.probs(wires=0), qml.density_matrix(wires=1), qml.state()),
        "entropies": (qml.purity(wires=0), qml.vn_entropy(wires=0)),
    }


def reals(tree):
    parts = [jnp.ravel(part) for leaf in jax.tree.leaves(tree) for part in (leaf.real, leaf.imag)]
    return jnp.concatenate([part.astype(np.float32) for part in parts])


def close(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for value, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(value, wanted, atol=2e-6)


@pytest.mark.thorough
def test_types_and_values_are_those_of_default_qubit():
    plain = qml.QNode(results, DEVICE, diff_method="backprop")
    compiled = qjit(plain)
    expected = of_pennylane(plain, X)
    for function in (compiled, jax.jit(compiled)):
        close(function(X), expected)
    assert jnp.ones(1).dtype == np.float32  # as it was before


@pytest.mark.thorough
def test_derivatives_and_batches():
    @qml.qnode(DEVICE, diff_method="backprop")
    def measured(x):
        rotations(x)
        return qml.expval(0.3 * qml.Z(0) @ qml.X(1) + x[2] * qml.Y(0)), qml.state()

    def plain(x):
        return reals(measured(x))

    compiled, batch = qjit(plain), np.stack([X, 2 * X])
    expected = of_pennylane(jax.jacobian(plain), X)
    inside = qjit(lambda x: (jax.jacrev(plain)(x), jax.jacfwd(plain)(x)))(X)
    for found in (jax.jit(jax.jacrev(compiled))(X), *inside):
        close(found, expected)
    expected = of_pennylane(jax.vmap(plain), batch)
    close(qjit(jax.vmap(plain))(batch), expected)
    close(jax.vmap(compiled)(batch), expected)


@pytest.mark.parametrize("method", ["adjoint", "parameter-shift"])
def test_gradients_by_method_and_to_second_order(method):
    def energy(x, count):
        @for_loop(0, count, 1)
        def layers(i):
            qml.RX(x[i % 3], wires=i % 2)
            qml.CRY(x[1] * i, wires=[0, 1])

        layers()
        return qml.expval(qml.Z(0) @ qml.X(1))

    circuit = qml.QNode(energy, DEVICE, diff_method=method)
    found = qjit(lambda x, n: (jax.value_and_grad(circuit)(x, n), jax.hessian(circuit)(x, n)))(X, 4)
    close(found, derivatives_of_pennylane())


@cache
def derivatives_of_pennylane():
    """Value, gradient and Hessian of the same, without a loop."""

    @qml.qnode(DEVICE, diff_method="backprop")
    def unrolled(x):
        for i in range(4):
            qml.RX(x[i % 3], wires=i % 2)
            qml.CRY(x[1] * i, wires=[0, 1])
        return qml.expval(qml.Z(0) @ qml.X(1))

    return tuple(of_pennylane(jax.jit(f(unrolled)), X) for f in (jax.value_and_grad, jax.hessian))


def test_shots_outcomes_loops_and_sizes():
    @qml.set_shots(20)
    @qml.qnode(qml.device("default.qubit", wires=2))
    def drawn(x):
        qml.RX(x[0], 0)
        return qml.sample(), qml.expval(qml.Z(0)), qml.probs(wires=0), qml.sample(qml.Z(0))

    found, expected = qjit(drawn)(X), of_pennylane(drawn, X)
    assert [leaf.dtype for leaf in found] == [leaf.dtype for leaf in expected]

    @qml.qnode(DEVICE)
    def steered(x):
        qml.X(0)
        outcome = measure(0)
        qml.cond(outcome, qml.RX)(x[0], 1)

        @while_loop(lambda k: k < 3)
        def more(k):
            qml.RY(x[k % 3], wires=k % 2)
            return k + 1

        return outcome, more(0), qml.expval(qml.Z(1))

    outcome, count, value = qjit(steered)(X)
    assert (outcome.dtype, count.dtype, value.dtype) == (bool, np.int32, np.float32)
    assert (bool(outcome), int(count)) == (True, 3)
    close(qjit(lambda n: jnp.ones(n + 1))(2), jnp.ones(3))
