"""Compiled functions that close over tracers of JAX's transformations around them, or get sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase.capture.tracer_errors import LeakedTracerError

X = jnp.array([0.3, 0.7])
SIZES = jnp.arange(1.0, 4.0)
device = qml.device("default.qubit", wires=2)


def product(compile):
    """Calls with an argument, without one, and of a declared type: the last two compile early."""

    def function(x):
        def declared(y: float):
            return x + y

        return compile(lambda y: x**3 * y)(2.0) + compile(lambda: jnp.sin(x))() * compile(declared)(
            0.5
        )

    return function


def circuits(compile):
    """Two calls of one function that closes over `x`, one with an argument that depends on it."""

    def function(x):
        @compile
        @qml.qnode(device, diff_method="backprop")
        def circuit(y, *, more):
            qml.RX(x[0] * y, 0)
            qml.RY(x[1] + more["angle"], 1)
            qml.CNOT([0, 1])
            return {"value": qml.expval(qml.Z(1)), "parts": (qml.probs(wires=0),)}

        return circuit(1.0, more={"angle": 0.1}), circuit(x[0], more={"angle": x[1]})

    return function


def step(compile):
    return lambda x: jax.lax.scan(lambda c, t: (compile(lambda y: y * t)(c), c), x, SIZES)


TRANSFORMATIONS = {
    "jit": lambda f, _, __: jax.jit(f)(3.0),
    "third derivative": lambda f, _, __: jax.jit(jax.grad(jax.grad(jax.grad(f))))(3.0),
    "vmap": lambda f, _, __: jax.vmap(jax.value_and_grad(f))(SIZES),
    "circuits": lambda _, g, __: jax.jit(g)(X),
    "jacrev of circuits": lambda _, g, __: jax.jacrev(g)(X),
    "batch of jacfwd of circuits": lambda _, g, __: jax.jit(jax.vmap(jax.jacfwd(g)))(
        jnp.stack([X, 2 * X])
    ),
    "scan": lambda _, __, h: jax.value_and_grad(lambda x: h(x)[0])(1.5),
}


def close(found, expected):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for value, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(value, wanted, atol=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_tracers_that_are_closed_over_become_arguments(name):
    transform = TRANSFORMATIONS[name]
    functions = [[make(how) for make in (product, circuits, step)] for how in (qjit, lambda f: f)]
    close(transform(*functions[0]), transform(*functions[1]))


def test_the_next_call_closes_over_other_tracers():
    held = []
    compiled = qjit(lambda y: y * held[-1])

    def function(x):
        held.append(x)
        return compiled(2.0) + compiled(x)

    assert jax.jit(function)(3.0) == 15.0
    assert jax.grad(function)(3.0) == 8.0
    held[:] = [5.0]
    assert compiled(2.0) == 10.0


def test_leaked_tracers_are_refused():
    leaked = []
    jax.jit(lambda x: (leaked.append(x), x)[1])(1.0)
    multiply = qjit(lambda y: y * leaked[0])
    with pytest.raises(LeakedTracerError):
        multiply(2.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.jit(multiply)(2.0)


def test_integers_that_are_known_may_be_sizes_of_results():
    spread = qjit(lambda x, n, *, rows=1: jnp.ones((rows, n)) * x[0])
    function = jax.jit(lambda x: (spread(x, 3), spread(x, np.int32(2), rows=2), spread(x, 3)))
    found = function(X)
    first, _, third = jax.make_jaxpr(lambda x: function.__wrapped__(x))(X).eqns
    assert first.params["program"] is third.params["program"]
    close(found, (0.3 * jnp.ones((1, 3)), 0.3 * jnp.ones((2, 2)), 0.3 * jnp.ones((1, 3))))
    close(jax.jacobian(spread)(X, 2), jnp.broadcast_to(jnp.array([1.0, 0.0]), (1, 2, 2)))
    close(jax.vmap(spread, (0, None))(jnp.stack([X, 2 * X]), 2)[1], 0.6 * jnp.ones((1, 2)))
    close(jax.jit(lambda x: qjit(lambda n: x * jnp.ones(n))(3))(2.0), 2 * jnp.ones(3))
    with pytest.raises(TypeError, match="only when it has run"):
        jax.jit(spread)(X, 3)
