"""Derivatives of circuits to any order, beside PennyLane's backprop on `default.qubit`."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit, while_loop
from diastase.primitives.errors import NotTransformableError

DEVICE = qml.device("default.qubit", wires=3)
HERMITIAN = np.array([[1, 2j], [-2j, 0.5]])
X = jnp.array([0.3, 0.7, -1.1])

MEASUREMENTS = {
    "expval of a word": lambda: qml.expval(qml.Z(0) @ qml.X(2)),
    "expval of a sum": lambda: qml.expval(0.5 * qml.Z(0) + 1.5 * qml.X(1) @ qml.Y(2)),
    "expval of a matrix": lambda: qml.expval(qml.Hermitian(HERMITIAN, 1)),
    "expval of a projector": lambda: qml.expval(qml.Projector([1, 0], [0, 2])),
    "var of words": lambda: qml.var(qml.Z(0) @ qml.X(1) + qml.Y(2)),
    "var of a matrix": lambda: qml.var(qml.Hermitian(HERMITIAN, 1)),
    "probs": qml.probs,
    "probs of some wires": lambda: qml.probs([2, 0]),
    "state": qml.state,
    "density matrix": lambda: qml.density_matrix([1]),
}


def circuit(measured):
    def body(x):
        qml.RX(x[0], 0)
        qml.RY(x[1] * x[0], 1)
        qml.CNOT([0, 1])
        qml.CRZ(x[2], [1, 2])
        qml.Hadamard(2)
        qml.IsingXX(x[1], [0, 2])
        qml.ctrl(qml.RY(x[2] ** 2, 1), [0, 2], control_values=[1, 0])
        qml.GlobalPhase(x[0])
        return measured()

    return body


def reference(body):
    return qml.QNode(body, DEVICE, diff_method="backprop")


def as_real(node):
    """Real and imaginary parts of all results, in one vector."""

    def real(*args):
        result = jnp.ravel(node(*args))
        return jnp.concatenate([jnp.real(result), jnp.imag(result)])

    return real


def by_backprop(transformed, body, x):
    """PennyLane's, compiled by JAX: one compilation instead of hundreds."""
    return jax.jit(lambda x: transformed(reference(body), x))(x)


def derivatives(function, argument):
    return (
        jax.jacfwd(function)(argument),
        jax.jacrev(function)(argument),
        jax.hessian(function)(argument),
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("measured", MEASUREMENTS.values(), ids=MEASUREMENTS)
def test_first_and_second_derivatives(measured):
    body = circuit(measured)
    node = qml.QNode(body, DEVICE)
    found = qjit(lambda x: derivatives(as_real(node), x))(X)
    expected = by_backprop(lambda node, x: derivatives(as_real(node), x), body, X)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_third_derivative_and_reverse_over_reverse():
    def body(x):
        qml.RX(x[0], 0)
        qml.RY(x[1] * x[0], 1)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))

    def all_of(function, x):
        twice = jax.jacrev(jax.jacrev(function))(x)
        return twice, jax.jacfwd(jax.jacrev(jax.jacfwd(function)))(x)

    node, x = qml.QNode(body, DEVICE), X[:2]
    found = qjit(lambda x: all_of(node, x))(x)
    for mine, theirs in zip(found, by_backprop(all_of, body, x), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_operands_other_than_angles():
    def body(amplitudes, matrix, coefficients, elements):
        qml.StatePrep(amplitudes / jnp.linalg.norm(amplitudes), [0, 1])
        qml.QubitUnitary(jax.scipy.linalg.expm(1j * (matrix + matrix.T)), [1, 2])
        qml.DiagonalQubitUnitary(jnp.exp(1j * elements), [0, 2])
        words = [qml.X(0), qml.Z(1) @ qml.Y(2)]
        return qml.expval(qml.Hamiltonian(coefficients, words))

    generator = np.random.default_rng(3)
    arguments = tuple(
        jnp.asarray(generator.normal(size=size)) for size in ((4,), (4, 4), (2,), (4,))
    )
    node, positions = qml.QNode(body, DEVICE), (0, 1, 2, 3)

    def both(function):
        return lambda *args: (
            jax.jacfwd(function, positions)(*args),
            jax.grad(function, positions)(*args),
        )

    found = qjit(both(node))(*arguments)
    expected = jax.jit(both(reference(body)))(*arguments)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-10), found, expected)


@pytest.mark.thorough
def test_control_flow_forwards():
    @qml.qnode(DEVICE)
    def node(x, n):
        @for_loop(0, n, 1)
        def layers(index, angle):
            qml.RX(angle * x[0], index % 3)
            qml.CNOT([index % 3, (index + 1) % 3])
            return angle * x[1]

        @while_loop(lambda angle: angle < 2.0)
        def more(angle):
            qml.RY(angle + x[2], 1)
            return angle + 0.5

        more(layers(x[0]) * 0.0)
        return qml.expval(qml.Z(0) @ qml.X(2))

    def unrolled(x):
        angle = x[0]
        for index in range(4):
            qml.RX(angle * x[0], index % 3)
            qml.CNOT([index % 3, (index + 1) % 3])
            angle = angle * x[1]
        for angle in (0.0, 0.5, 1.0, 1.5):
            qml.RY(angle + x[2], 1)
        return qml.expval(qml.Z(0) @ qml.X(2))

    def both(function, x):
        return jax.jacfwd(function)(x), jax.grad(function)(x), jax.hessian(function)(x)

    found = qjit(lambda x, n: both(lambda y: node(y, n), x))(X, 4)
    for mine, theirs in zip(found, by_backprop(both, unrolled, X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_adjoint_of_a_function():
    def body(x):
        def part(angle):
            qml.RX(angle, 0)
            qml.CNOT([0, 1])
            qml.RY(angle * x[1], 1)

        part(x[0])
        qml.adjoint(part)(x[2])
        qml.Hadamard(0)
        return qml.expval(qml.X(1) @ qml.Y(0))

    node = qml.QNode(body, DEVICE)
    found = qjit(lambda x: derivatives(node, x))(X)
    for mine, theirs in zip(found, by_backprop(derivatives, body, X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_outcomes_have_no_derivative():
    @qml.qnode(DEVICE)
    def node(x):
        qml.RX(x, 0)
        measure(0)
        return qml.expval(qml.Z(0))

    with pytest.raises(NotTransformableError, match="measure"):
        qjit(jax.grad(node))(0.3)
