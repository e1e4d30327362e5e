"""PennyLane's optimizers around compiled cost functions, and inside of programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit

START = (0.1, 0.2)
MINIMUM = np.array([np.pi, -np.pi / 2])


@qml.qnode(qml.device("default.qubit", wires=2))
def circuit(p):
    qml.RX(p[0], 0)
    qml.RY(p[1], 1)
    qml.CNOT([0, 1])
    return qml.expval(qml.Z(0) + qml.X(1))


def start():
    return qml.numpy.array(START, requires_grad=True)


def trained(optimizer, cost, steps=5, **options):
    p, costs = start(), []
    for _ in range(steps):
        p, value = optimizer.step_and_cost(cost, p, **options)
        costs.append(float(value))
    assert isinstance(p, qml.numpy.tensor)
    assert p.requires_grad
    return p, costs


@pytest.mark.parametrize(
    "name", ["GradientDescent", "Momentum", "NesterovMomentum", "Adam", "Adagrad", "RMSProp"]
)
def test_with_and_without_a_gradient_function(name):
    make = getattr(qml, f"{name}Optimizer")
    compiled, gradient = qjit(circuit), qjit(jax.grad(circuit))
    expected, expected_costs = trained(make(0.1), circuit)
    p, costs = trained(make(0.1), compiled)
    np.testing.assert_allclose(p, expected, atol=1e-10)
    np.testing.assert_allclose(costs, expected_costs, atol=1e-10)
    p, costs = trained(make(0.1), compiled, grad_fn=gradient)
    np.testing.assert_allclose(p, expected, atol=1e-10)
    assert costs[-1] < costs[0]


def test_quantum_natural_gradient():
    options = {
        "grad_fn": qjit(jax.grad(circuit)),
        "metric_tensor_fn": qjit(qml.metric_tensor(circuit, approx="block-diag")),
    }
    p, costs = trained(qml.QNGOptimizer(0.2), qjit(circuit), **options)
    expected, expected_costs = trained(qml.QNGOptimizer(0.2), circuit)
    np.testing.assert_allclose(p, expected, atol=1e-10)
    np.testing.assert_allclose(costs, expected_costs, atol=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize("approx", [None, "block-diag", "diag"])
def test_natural_gradient_as_one_program(approx):
    optimizer = qml.QNGOptimizerQJIT(stepsize=0.2, approx=approx)

    def train(p):
        @for_loop(0, 30, 1)
        def step(k, p):
            return optimizer.step(circuit, p, None)[0]

        return step(p)

    np.testing.assert_allclose(qjit(train)(jnp.array(START)), MINIMUM, atol=1e-4)


def test_natural_gradient_with_momentum_as_one_program():
    optimizer = qml.MomentumQNGOptimizerQJIT(stepsize=0.1)

    @qjit
    def train(p):
        @for_loop(0, 8, 1)
        def step(k, p, state, costs):
            p, state, cost = optimizer.step_and_cost(circuit, p, state)
            return p, state, costs.at[k].set(cost)

        return step(p, optimizer.init(p), jnp.zeros(8))[2]

    _, expected = trained(qml.MomentumQNGOptimizer(0.1), circuit, 8)
    np.testing.assert_allclose(train(jnp.array(START)), expected, atol=1e-10)


def test_rotosolve_finds_the_minimum_at_once():
    @qjit
    def cost(p):
        return circuit(p)

    frequencies = {"p": {(0,): 1, (1,): 1}}
    p, _ = trained(qml.RotosolveOptimizer(), cost, 2, nums_frequency=frequencies)
    np.testing.assert_allclose(np.cos(p), np.cos(MINIMUM), atol=1e-6)
    assert circuit(p) == pytest.approx(-2)


def test_spsa_is_the_same_around_a_compiled_function():
    results = []
    for cost in (circuit, qjit(circuit)):
        np.random.seed(7)  # PennyLane draws from numpy's own generator
        results.append(trained(qml.SPSAOptimizer(maxiter=20), cost, 20))
    np.testing.assert_allclose(*(p for p, _ in results), atol=1e-10)
    np.testing.assert_allclose(*(costs for _, costs in results), atol=1e-10)


def test_autograd_differentiates_compiled_functions_to_second_order():
    compiled = qjit(circuit)
    for order in (qml.grad, lambda f: qml.jacobian(qml.grad(f))):
        np.testing.assert_allclose(order(compiled)(start()), order(circuit)(start()), atol=1e-12)


def test_autograd_and_functions_of_many_results():
    anp = qml.numpy

    @qjit
    def many(p, count):
        return {"sine": jnp.sin(p), "parts": (p[0] * p[1], jnp.exp(1j * p)), "count": count}

    def of_compiled(p):
        found = many(p, 3)
        wave = found["parts"][1]
        sums = anp.sum(found["sine"]) * anp.real(wave[1] * 2j)
        return sums + found["parts"][0] * found["count"]

    def written_out(p):
        return -2 * anp.sum(anp.sin(p)) * anp.sin(p[1]) + 3 * p[0] * p[1]

    np.testing.assert_allclose(
        qml.grad(of_compiled)(start()), qml.grad(written_out)(start()), atol=1e-12
    )


def test_static_and_keyword_arguments_under_autograd():
    @qjit(static_argnums=1)
    def power(p, exponent, *, factor):
        return factor * jnp.sum(p**exponent)

    def slope(exponent):
        return qml.grad(lambda p: power(p, exponent, factor=p[0]))(start())

    p = np.array(START)
    np.testing.assert_allclose(slope(2), 2 * p[0] * p + [np.sum(p**2), 0], atol=1e-12)
    np.testing.assert_allclose(slope(3), 3 * p[0] * p**2 + [np.sum(p**3), 0], atol=1e-12)


def test_methods_of_pytrees_under_autograd():
    @jax.tree_util.register_pytree_node_class
    class Model:
        def __init__(self, weight):
            self.weight = weight

        def tree_flatten(self):
            return (self.weight,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

        @qjit
        def scaled(self, x):
            return self.weight * x**2

    x = qml.numpy.array(2.0, requires_grad=True)
    assert qml.grad(Model(3.0).scaled)(x) == 12.0


def test_results_are_trainable_if_an_argument_is():
    double = qjit(lambda x, y: (2 * x + y, x.shape[0]))
    values = qml.numpy.array([1.0, 2.0], requires_grad=False)
    (untrained, _), (trained_, size) = double(values, 1.0), double(start(), 1.0)
    assert (untrained.requires_grad, trained_.requires_grad) == (False, True)
    np.testing.assert_array_equal(untrained, [3.0, 5.0])
    assert isinstance(double(np.array([1.0, 2.0]), 1.0)[0], jax.Array)
    trained_[0] = 7.0
    assert size == 2
