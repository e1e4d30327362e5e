"""JAX's transformations around compiled circuits, beside PennyLane's `default.qubit`."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit

P = jnp.array([0.1, 0.7, -1.1])


@qml.qnode(qml.device("default.qubit", wires=2))
def energy(p):
    qml.RX(p[0], 0)
    qml.RY(p[1], 1)
    qml.CNOT([0, 1])
    qml.RZ(p[2], 1)
    qml.RX(p[0] * p[2], 1)
    return qml.expval(qml.Z(1) @ qml.X(0))


@qml.qnode(qml.device("default.qubit", wires=2))
def both(p):
    qml.RX(p[0], 0)
    qml.CRY(p[1] * p[2], [0, 1])
    return qml.probs(), qml.expval(qml.Y(0))


def descent(f):
    def step(p, _):
        value, gradient = jax.value_and_grad(f)(p)
        return p - 0.3 * gradient, value

    return jax.lax.scan(step, P, None, length=5)


def weighted(f):
    return lambda p: sum(jnp.sum(jnp.sin(result)) for result in f(p))


TRANSFORMATIONS = {
    "jit": lambda f, _: jax.jit(f)(P),
    "value_and_grad": lambda f, _: jax.value_and_grad(f)(P),
    "jit of hessian": lambda f, _: jax.jit(jax.hessian(f))(P),
    "vmap of grad": lambda f, _: jax.jit(jax.vmap(jax.grad(f)))(jnp.outer(jnp.arange(3.0), P)),
    "grad of vmap": lambda f, _: jax.grad(lambda p: jax.vmap(f)(jnp.stack([p, 2 * p])).sum())(P),
    "descent in a scan": lambda f, _: jax.jit(lambda: descent(f))(),
    "gradient through descent": lambda f, _: jax.grad(
        lambda p: f(p - 0.3 * jax.grad(f)(p - 0.3 * jax.grad(f)(p)))
    )(P),
    "several results": lambda _, g: jax.jit(jax.jacobian(g))(P),
    "classical code around": lambda _, g: jax.jit(jax.grad(weighted(g)))(P),
    "vjp of several": lambda _, g: jax.vjp(g, P)[1]((jnp.arange(4.0), jnp.float64(2.0)))[0],
}


@pytest.fixture(scope="module")
def compiled():
    return qjit(energy), qjit(both)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(compiled, name):
    found = TRANSFORMATIONS[name](*compiled)
    expected = TRANSFORMATIONS[name](jax.jit(energy), jax.jit(both))
    jax.tree.map(
        lambda left, right: np.testing.assert_allclose(left, right, atol=1e-8),
        jax.tree.leaves(found),
        jax.tree.leaves(expected),
    )


def test_a_training_loop_of_optax(compiled):
    optax = pytest.importorskip("optax")

    def trained(f):
        optimizer = optax.adam(0.1)

        @jax.jit
        def step(p, state):
            value, gradient = jax.value_and_grad(f)(p["angles"])
            updates, state = optimizer.update({"angles": gradient}, state)
            return optax.apply_updates(p, updates), state, value

        p = {"angles": P}
        state, values = optimizer.init(p), []
        for _ in range(20):
            p, state, value = step(p, state)
            values.append(float(value))
        return values

    found = trained(compiled[0])
    np.testing.assert_allclose(found, trained(energy), atol=1e-8)
    assert found[-1] < found[0]


def test_a_solver_of_jaxopt(compiled):
    jaxopt = pytest.importorskip("jaxopt")
    results = [
        jaxopt.GradientDescent(fun=f, stepsize=0.2, maxiter=30, acceleration=False).run(P)
        for f in (compiled[0], jax.jit(energy))
    ]
    np.testing.assert_allclose(results[0].params, results[1].params, atol=1e-8)


def test_counts_are_numbers_inside():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=2), shots=100)
    def counts(x):
        qml.RX(x, 0)
        return qml.counts(wires=0)

    zeros, ones = jax.jit(lambda x: (counts(x)["0"], counts(x)["1"]))(np.pi)
    assert (zeros, ones) == (0, 100)
