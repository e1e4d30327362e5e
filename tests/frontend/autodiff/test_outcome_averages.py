"""Derivatives of averages over mid-circuit outcomes, beside PennyLane's deferred measurements."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit
from diastase.primitives.errors import NoDerivativeError

DEVICE = qml.device("default.qubit", wires=3)
DEFERRED = qml.device("default.qubit")
X = jnp.array([0.3, 0.7, -1.1])


def if_else(outcome, one, other):
    branch = cond(outcome)(one)
    branch.otherwise(other)
    branch()


OURS = (measure, if_else)
PENNYLANES = (qml.measure, lambda outcome, one, other: qml.cond(outcome, one, other)())


def ours(body, method="best", mcm_method="deferred"):
    return qml.QNode(body, DEVICE, diff_method=method, mcm_method=mcm_method)


def theirs(body):
    return qml.QNode(body, DEFERRED, diff_method="backprop", mcm_method="deferred")


def as_vector(node):
    return lambda *args: jnp.concatenate([jnp.ravel(value) for value in node(*args)])


def every_measurement(measured, chosen):
    def body(x):
        qml.RX(x[0], 0)
        qml.CNOT([0, 1])
        first = measured(0, reset=True)
        chosen(first, lambda: qml.RY(x[1], 1), lambda: qml.RZ(x[2], 1))
        qml.CRX(x[1] * x[0], [1, 0])
        qml.Hadamard(2)
        second = measured(1)
        chosen(second, lambda: qml.RX(x[2], 2), lambda: qml.RY(x[2] * 0.3, 2))
        observable = qml.Z(0) @ qml.Y(2) + 0.7 * qml.X(2) + 0.2 * qml.I(0)
        of_state = qml.expval(observable), qml.probs([0, 2]), qml.var(qml.Z(2))
        return *of_state, qml.expval(first), qml.var(second), qml.probs(op=[first, second])

    return body


def energy(measured, chosen, **options):
    def body(x):
        qml.RX(x[0], 0)
        qml.RY(x[1], 1)
        outcome = measured(0, **options)
        chosen(outcome, lambda: qml.RY(x[1] * x[0], 1), lambda: qml.RX(x[2], 1))
        qml.CNOT([1, 2])
        return qml.expval(qml.Z(2) + 0.5 * qml.Z(0) @ qml.Z(1) + 2 * qml.I(0))

    return body


def test_all_that_is_measured():
    mine = as_vector(ours(every_measurement(*OURS), mcm_method="tree-traversal"))
    reference = jax.jit(jax.jacrev(as_vector(theirs(every_measurement(*PENNYLANES)))))(X)
    found = qjit(lambda x: (jax.jacfwd(mine)(x), jax.jacrev(mine)(x)))(X)
    for jacobian in found:
        np.testing.assert_allclose(jacobian, reference, atol=1e-12)


@pytest.mark.thorough
def test_second_derivatives_also_where_an_outcome_is_impossible():
    mine = qjit(lambda x: [jax.hessian(ours(energy(*OURS), method))(x) for method in METHODS])
    reference = jax.jit(jax.hessian(theirs(energy(*PENNYLANES))))
    for point in (X, jnp.zeros(3), jnp.array([np.pi, 0.4, 0.2])):
        np.testing.assert_allclose(mine(point), [reference(point)] * 2, atol=1e-11)


METHODS = ("best", "parameter-shift")


def test_batches_and_derivatives_through_loops():
    node, reference = ours(energy(*OURS)), theirs(energy(*PENNYLANES))
    batch = jnp.stack([X, 2 * X, X + 1])

    def steps(function):
        return lambda x: jnp.sum(function(x - 0.1 * jax.grad(function)(x)))

    @qjit
    def all_of(x, batch):
        trained = for_loop(0, 1, 1)(lambda _, y: y - 0.1 * jax.grad(node)(y))(x)
        of_sum = jax.grad(lambda each: jnp.sum(jax.vmap(node)(each)))(batch)
        return trained, jax.vmap(jax.grad(node))(batch), of_sum, jax.grad(steps(node))(x)

    trained, each, of_sum, through = all_of(X, batch)
    gradients = jax.jit(jax.vmap(jax.grad(reference)))(batch)
    np.testing.assert_allclose(trained, X - 0.1 * gradients[0], atol=1e-12)
    np.testing.assert_allclose(each, gradients, atol=1e-12)
    np.testing.assert_allclose(of_sum, gradients, atol=1e-12)
    np.testing.assert_allclose(through, jax.jit(jax.grad(steps(reference)))(X), atol=1e-11)


def in_a_loop(turns):
    def body(x):
        @for_loop(0, turns, 1)
        def loop(i):
            qml.RX(x[0] * (i + 1), 0)
            cond(measure(0))(lambda: qml.RY(x[1], 1))()

        loop()
        return qml.expval(qml.Z(1))

    return body


def in_a_row(x):
    for i in range(3):
        qml.RX(x[0] * (i + 1), 0)
        qml.cond(qml.measure(0), qml.RY)(x[1], 1)
    return qml.expval(qml.Z(1))


def in_a_branch(x):
    def more():
        qml.RX(x[1], 1)
        cond(measure(1))(lambda: qml.RY(x[2], 2))()

    qml.RX(x[0], 0)
    cond(measure(0))(more)()
    return qml.expval(qml.Z(2) + qml.Z(0))


def controlled(x):
    qml.RX(x[0], 0)
    first = qml.measure(0)
    qml.cond(first, qml.RX)(x[1], 1)
    qml.cond(qml.measure(1), qml.RY)(x[2], 2)
    return qml.expval(qml.Z(2) + qml.Z(0))


def test_postselection_loops_and_outcomes_in_branches():
    """In a branch, one string of outcomes may be shorter than another."""
    pairs = [
        (energy(*OURS, postselect=1), energy(*PENNYLANES, postselect=1)),
        (in_a_loop(3), in_a_row),
        (in_a_branch, controlled),
    ]
    found = qjit(lambda x: [jax.grad(ours(body))(x) for body, _ in pairs])(X)
    for mine, (_, body) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(mine, jax.jit(jax.grad(theirs(body)))(X), atol=1e-12)


def test_what_is_refused():
    body = energy(*OURS)
    cases = [
        (ours(body, "adjoint"), "measure has no derivative: diff_method='adjoint' is for circuits"),
        (ours(body, "best", None), "outcome jumps.*mcm_method='deferred' or 'tree-traversal'"),
        (qml.set_shots(ours(body), 10), "run for each shot, .*without shots, with"),
        (ours(in_a_loop(11)), "measure has no derivative: .*with 11 measurements.*10 are the most"),
    ]
    for node, text in cases:
        for derivative in (jax.grad, jax.jacfwd):
            with pytest.raises(NoDerivativeError, match=text) as raised:
                qjit(derivative(node))(X)
            assert "test_outcome_averages.py" in str(raised.value)
    with pytest.raises(NoDerivativeError, match=r"measure in a for_loop has no.*only at run time"):
        qjit(lambda x, n: jax.grad(ours(in_a_loop(n)))(x))(X, 3)
