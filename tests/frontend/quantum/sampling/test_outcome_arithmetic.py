"""Arithmetic of mid-circuit outcomes: numbers, as with PennyLane, not JAX's sums of booleans."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit
from diastase.capture.control_flow.errors import CarryTypeError

CALCULATIONS = [
    lambda m, n: m + n,
    lambda m, n: m + n + m,
    lambda m, n: n - m,
    lambda m, n: m * n + (m | n),
    lambda m, n: 2 * (m * n) + m,
    lambda m, n: (m == 1) + (n == 1),
    lambda m, n: (m == 1) - (n == 0),
    lambda m, n: (~m) + (~n),
    lambda m, n: (m & n) + (m | n),
    lambda m, n: (m ^ n) + m,
    lambda m, n: (m + n) % 2,
    lambda m, n: True + m - n,
    lambda m, n: (m + True) * n,
    lambda m, n: 1 / (m + n + 1),
    lambda m, n: 3.5 * m - n * m / 4,
    lambda m, n: sum([m, n, n]),
]


def circuit(x):
    qml.RX(x, 0)
    first = qml.measure(0)
    qml.cond(first, qml.RX)(x / 2, 1)
    qml.RY(x, 1)
    second = qml.measure(1)
    values = [calculate(first, second) for calculate in CALCULATIONS]
    for place, value in enumerate(values):
        qml.cond(value, qml.RX)(0.1 * place, 2)
        qml.cond(value == 2, qml.RY)(0.3, 2)
    averages = [function(value) for function in (qml.expval, qml.var) for value in values]
    return *averages, qml.expval(qml.Z(2))


@pytest.mark.parametrize("method", ["deferred", "tree-traversal"])
def test_averages(method):
    qnode = qml.QNode(circuit, qml.device("default.qubit", wires=3), mcm_method=method)
    reference = qml.QNode(circuit, qml.device("default.qubit", wires=5), mcm_method="deferred")
    np.testing.assert_allclose(qjit(qnode)(0.8), reference(0.8), atol=1e-10)


def test_numbers_of_each_shot():
    @qml.qnode(qml.device("lightning.qubit", wires=2), shots=40)
    def body():
        qml.Hadamard(0)
        qml.X(1)
        m, n = qml.measure(0), qml.measure(1)
        return qml.sample(m), qml.sample(m + n), qml.sample(m - n), m * n + n, qml.counts(m + n)

    first, total, difference, product, counts = qjit(body, seed=4)()
    assert set(first.tolist()) == {0, 1}
    np.testing.assert_array_equal(total, first + 1)
    np.testing.assert_array_equal(difference, first - 1)
    np.testing.assert_array_equal(product, first + 1)
    assert counts == {1: int((first == 0).sum()), 2: int((first == 1).sum())}


def test_outcomes_carried_by_loops_are_numbers():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def body():
        qml.X(0)
        pair = for_loop(0, 2, 1)(lambda _, pair: (pair[1], measure(0)))((False, False))
        return pair[0] + pair[1], pair[0] - pair[1], jnp.ones(pair[0] + pair[1])

    total, difference, ones = qjit(body)()
    assert (total, difference, ones.shape) == (2, 0, (2,))


def test_a_sum_cannot_be_carried_as_a_boolean():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def body():
        return for_loop(0, 2, 1)(lambda _, total: total + measure(0))(measure(0))

    with pytest.raises(CarryTypeError):
        qjit(body)()


def test_booleans_that_are_no_outcomes_are_jax_s():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def unmeasured(x):
        qml.RX(x * ((x > 0) + (x > 0.1)), 0)
        return qml.expval(qml.Z(0))

    @qjit
    def program(x):
        return (x > 0) + (x > 0.1), unmeasured(x)

    flag, mean = program(0.7)
    assert flag.dtype == bool
    np.testing.assert_allclose(mean, np.cos(0.7), atol=1e-12)
