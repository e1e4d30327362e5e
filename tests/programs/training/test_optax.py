"""Optax and JAXopt: loops that train inside of programs, and around compiled functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit

optax = pytest.importorskip("optax")

START = jnp.array([0.1, 0.2])
STEPS = 12
OPTIMIZERS = {
    "sgd": lambda: optax.sgd(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: optax.adam(0.1),
    "adamw": lambda: optax.adamw(0.1),
    "rmsprop": lambda: optax.rmsprop(0.05),
    "adagrad": lambda: optax.adagrad(0.3),
    "chain": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(0.1, STEPS))
    ),
}


@qml.qnode(qml.device("default.qubit", wires=2))
def circuit(p):
    qml.RX(p[0], 0)
    qml.RY(p[1], 1)
    qml.CNOT([0, 1])
    return qml.expval(qml.Z(0) + qml.X(1))


def same_cost(p):
    """What the circuit computes, as one line."""
    return jnp.cos(p[0]) + jnp.sin(p[1])


def training(cost, optimizer, more=lambda value, gradient: {}):
    """The loop as a function of the first parameters, and the cost after each step."""

    def train(p):
        state = optimizer.init(p)

        @for_loop(0, STEPS, 1)
        def step(k, p, state, costs):
            value, gradient = jax.value_and_grad(cost)(p)
            options = more(value, gradient)
            updates, state = optimizer.update(gradient, state, p, **options)
            return optax.apply_updates(p, updates), state, costs.at[k].set(value)

        p, _, costs = step(p, state, jnp.zeros(STEPS))
        return p, costs

    return train


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_whole_training_loop_is_one_program(name):
    optimizer = OPTIMIZERS[name]()
    found, costs = qjit(training(circuit, optimizer))(START)
    expected, expected_costs = training(same_cost, optimizer)(START)
    np.testing.assert_allclose(costs, expected_costs, atol=1e-10)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert costs[-1] < costs[0] - 0.3


def test_lbfgs_searches_along_lines_in_the_program():
    def more(cost):
        return lambda value, gradient: {"value": value, "grad": gradient, "value_fn": cost}

    found, costs = qjit(training(circuit, optax.lbfgs(), more(circuit)))(START)
    np.testing.assert_allclose(found, [np.pi, -np.pi / 2], atol=1e-6)
    assert costs[-1] == pytest.approx(-2, abs=1e-10)


def test_a_loop_in_python_around_compiled_gradients():
    optimizer, value_and_grad = optax.adam(0.1), qjit(jax.value_and_grad(circuit))
    p, state, costs = START, optimizer.init(START), []
    for _ in range(STEPS):
        value, gradient = value_and_grad(p)
        updates, state = optimizer.update(gradient, state, p)
        p = optax.apply_updates(p, updates)
        costs.append(value)
    _, expected = training(same_cost, optimizer)(START)
    np.testing.assert_allclose(costs, expected, atol=1e-10)


def test_parameters_as_a_tree_and_data_in_batches():
    points, labels = jnp.linspace(-1, 1, 8), jnp.sign(jnp.linspace(-1, 1, 8))
    optimizer = optax.adam(0.2)

    @qml.qnode(qml.device("default.qubit", wires=1))
    def model(weights, x):
        qml.RY(weights["slope"] * x + weights["shift"][0], 0)
        return qml.expval(qml.X(0))

    def cost(weights):
        return jnp.mean((jax.vmap(model, in_axes=(None, 0))(weights, points) - labels) ** 2)

    @qjit
    def train(weights):
        state = optimizer.init(weights)

        @for_loop(0, 15, 1)
        def step(k, weights, state):
            updates, state = optimizer.update(jax.grad(cost)(weights), state)
            return optax.apply_updates(weights, updates), state

        weights, _ = step(weights, state)
        return cost(weights), weights

    start = {"slope": jnp.array(0.5), "shift": jnp.array([0.3])}
    found, weights = train(start)
    assert set(weights) == {"slope", "shift"}
    slope, shift = weights["slope"], weights["shift"][0]
    assert found == pytest.approx(np.mean((np.sin(slope * points + shift) - labels) ** 2))
    assert found < 0.2


def test_jax_differentiates_and_compiles_around_a_compiled_cost():
    compiled, optimizer = qjit(circuit), optax.adam(0.1)

    @jax.jit
    def train(p):
        def step(carry, _):
            p, state = carry
            value, gradient = jax.value_and_grad(compiled)(p)
            updates, state = optimizer.update(gradient, state, p)
            return (optax.apply_updates(p, updates), state), value

        (p, _), costs = jax.lax.scan(step, (p, optimizer.init(p)), None, length=STEPS)
        return p, costs

    for mine, expected in zip(train(START), training(same_cost, optimizer)(START), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-10)


def test_jaxopt_around_a_compiled_function():
    jaxopt = pytest.importorskip("jaxopt")
    found = jaxopt.ScipyMinimize(fun=qjit(circuit), maxiter=30).run(START).params
    np.testing.assert_allclose(found, [np.pi, -np.pi / 2], atol=1e-4)


def test_jaxopt_inside_of_a_program():
    jaxopt = pytest.importorskip("jaxopt")

    @qjit
    def minimum(p):
        return jaxopt.GradientDescent(circuit, maxiter=25).run(p).params

    np.testing.assert_allclose(minimum(START), [np.pi, -np.pi / 2], atol=1e-4)
