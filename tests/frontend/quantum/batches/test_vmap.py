"""`jax.vmap` of QNodes inside of compiled programs, beside PennyLane's `default.qubit`."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, vmap

DEVICE = qml.device("default.qubit", wires=3)
RANDOM = np.random.default_rng(6)
X = jnp.array(RANDOM.normal(size=(4, 3)))
Y = jnp.array(RANDOM.normal(size=5))


@qml.qnode(DEVICE)
def node(x, y):
    qml.RX(x[0], 0)
    qml.RY(x[1] * y, 1)
    qml.CNOT([0, 1])
    qml.CRZ(x[2], [1, 2])
    qml.Hadamard(2)
    return qml.expval(qml.Z(0) @ qml.X(2))


def over_rows(x, y):
    return jax.vmap(node, (0, None))(x, y)


def over_both(x, y):
    return jax.vmap(lambda a: jax.vmap(lambda b: node(a, b))(y), out_axes=1)(x)


def loss(batch):
    return lambda x, y: jnp.sum(jnp.sin(batch(x, y)))


TRANSFORMED = {
    "one axis": (over_rows, (X, 0.3)),
    "two axes": (over_both, (X, Y)),
    "grad inside": (jax.vmap(jax.grad(node, (0, 1)), (0, None)), (X, 0.3)),
    "grad outside": (jax.grad(loss(over_rows), (0, 1)), (X, 0.3)),
    "grad of two axes": (jax.grad(loss(over_both), (0, 1)), (X, Y)),
    "hessian inside": (jax.vmap(jax.hessian(node), (0, None)), (X[:2], 0.3)),
    "hessian outside": (jax.hessian(loss(over_rows), (0, 1)), (X[:2], 0.3)),
    "directions": (
        lambda x, y: jax.vmap(lambda t: jax.jvp(node, (x[0], y), (t, 1.0)))(x),
        (X, 0.3),
    ),
    "cotangents": (lambda x, y: jax.vmap(lambda t: jax.vjp(node, x[0], y)[1](t))(x[0]), (X, 0.3)),
    "jacrev": (jax.jacrev(over_rows), (X[:2], 0.3)),
    "a named axis": (
        jax.vmap(lambda a, y: node(a, y) / jax.lax.psum(node(a, y), "i"), (0, None), axis_name="i"),
        (X, 0.3),
    ),
    "nothing mapped": (
        lambda x, y: jax.vmap(lambda a: node(a, y), in_axes=None, axis_size=3)(x[0]),
        (X, 0.3),
    ),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed_batches(name):
    function, arguments = TRANSFORMED[name]
    found = jax.tree.leaves(qjit(function)(*arguments))
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for own, other in zip(found, expected, strict=True):
        assert own.shape == other.shape
        np.testing.assert_allclose(own, other, atol=1e-12)


def test_sizes_known_when_the_program_runs():
    value = qjit(lambda x: over_rows(x, 0.3), abstracted_axes={0: "n"})
    reference = jax.jit(jax.value_and_grad(node))
    gradient = qjit(jax.grad(lambda x: loss(over_rows)(x, 0.3)), abstracted_axes={0: "n"})
    for size in (0, 1, 3):
        x = X[:size]
        pairs = [reference(row, 0.3) for row in x]
        expected = np.array([value for value, _ in pairs]).reshape(size)
        np.testing.assert_allclose(value(x), expected, atol=1e-12)
        each = [np.cos(value) * slope for value, slope in pairs]
        np.testing.assert_allclose(gradient(x), np.array(each).reshape(size, 3), atol=1e-12)


def test_a_batch_is_one_loop_of_elements():
    program = qjit(jax.grad(loss(over_both), (0, 1)))
    program(X, Y)
    text = program.mlir
    elements = text.count("func.func private @diastase_element_")
    assert elements == 1, "the value and its gradient are one run"
    assert "scf.for" not in text
    assert "stablehlo.while" not in text


@qml.qnode(qml.device("default.qubit", wires=1), shots=200)
def sampled(x):
    qml.RX(x, 0)
    return qml.expval(qml.Z(0))


@qml.qnode(qml.device("default.qubit", wires=1))
def measured():
    qml.Hadamard(0)
    return measure(0)


def test_each_element_draws_for_itself_also_where_none_of_its_arguments_is_of_the_batch():
    @qjit(seed=4)
    def program(x, numbers):
        for_all = jax.vmap(lambda _: (sampled(x), jax.grad(sampled)(x), measured()))
        of_rows = jax.vmap(lambda _: jax.vmap(lambda _: sampled(x))(numbers))
        return for_all(numbers), of_rows(numbers[:3])

    (values, gradients, outcomes), rows = program(1.2, np.arange(30))
    for draws in (values, gradients, *rows):
        assert len(set(draws.tolist())) > 5
    assert len({tuple(row.tolist()) for row in rows}) == 3
    assert abs(values.mean() - np.cos(1.2)) < 0.07  # more than five standard deviations
    assert 3 < outcomes.sum() < 27


def test_loops_and_branches_that_draw_are_of_each_element():
    def ours(x):
        return for_loop(0, 2, 1)(lambda _, total: total + sampled(x))(0.0)

    def body(_, total):
        return total + sampled(1.2)

    def branches(x):
        return cond(x > 0)(lambda: sampled(x)).otherwise(lambda: 0.0)()

    @qjit(seed=4)
    def program(x, numbers):
        def element(_):
            lax_loop = jax.lax.fori_loop(0, 2, body, 0.0)
            outcomes = for_loop(0, 9, 1)(lambda _, total: total + measured())(0)
            return ours(x), jax.grad(ours)(x), branches(x), lax_loop, outcomes

        rows = jax.vmap(lambda _: vmap(lambda _: ours(x))(numbers))(numbers[:3])
        return jax.vmap(element)(numbers), vmap(element)(numbers), rows

    first, second, rows = program(1.2, np.arange(30))
    for draws in (*first, *second, *rows):
        assert len(set(draws.tolist())) > 4
    assert len({tuple(row.tolist()) for row in rows}) == 3
    assert abs(first[0].mean() - 2 * np.cos(1.2)) < 0.1


def test_a_batch_of_tangents_is_of_one_value():
    def energy(x):
        return sampled(x[0]) + for_loop(0, 2, 1)(lambda _, total: total + sampled(x[1]))(0.0)

    x = jnp.array([0.4, 1.2])
    transformed = qjit(lambda x: (jax.jacfwd(energy)(x), jax.hessian(energy)(x)), seed=4)
    slopes, curvatures = transformed(x)
    np.testing.assert_allclose(slopes, [-np.sin(0.4), -2 * np.sin(1.2)], atol=0.4)
    expected = np.diag([-np.cos(0.4), -2 * np.cos(1.2)])
    np.testing.assert_allclose(curvatures, expected, atol=0.6)
