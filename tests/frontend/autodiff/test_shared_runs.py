"""A QNode's value and its gradient are found by one run; checked by the gates that are applied."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from jax.experimental import io_callback

from diastase import for_loop, profile, qjit
from diastase.primitives.errors import NoDerivativeError

GATES = 5
X = jnp.array([0.3, -0.7])
device = qml.device("default.qubit", wires=2)


def ansatz(x):
    qml.RX(x[0], 0)
    qml.CNOT([0, 1])
    qml.CRY(x[1] * x[0], [0, 1])
    qml.RZ(x[1], 1)
    qml.RX(0.4, 1)


def energy(x):
    ansatz(x)
    return qml.expval(qml.Z(0) @ qml.X(1) + 0.3 * qml.Y(1))


def several(x):
    ansatz(x)
    return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1])


def of(body, **options):
    return qml.QNode(body, device, **options)


def sums(pair):
    return pair[0] + jnp.sum(pair[1] ** 2)


def pulled_back(f):
    """Two gradients of one run, for the value and for 3."""

    def function(x):
        value, pull_back = jax.vjp(f, x)
        return value, pull_back(value), pull_back(jnp.float64(3))

    return function


def trained(f):
    def step(_, x):
        return x - 0.1 * jax.value_and_grad(lambda x: f(x) ** 2)(x)[1]

    return lambda x: jax.lax.fori_loop(0, 4, step, x)


ONE_RUN = {
    "grad": (jax.grad, energy, 1),
    "value and grad": (jax.value_and_grad, energy, 1),
    "square": (lambda f: jax.value_and_grad(lambda x: 1 - f(x) ** 2), energy, 1),
    "two gradients": (pulled_back, energy, 1),
    "at two points": (lambda f: jax.value_and_grad(lambda x: f(x) * f(2 * x)), energy, 2),
    "loss of a batch": (
        lambda f: jax.value_and_grad(
            lambda x: jnp.mean((jax.vmap(lambda a: f(a * x))(jnp.arange(1.0, 4.0)) - 0.2) ** 2)
        ),
        energy,
        3,
    ),
    "batch of gradients": (
        lambda f: lambda x: jax.vmap(jax.value_and_grad(f))(jnp.stack([x, 2 * x, 3 * x])),
        energy,
        3,
    ),
    "training": (trained, energy, 4),
    "results with cotangents that are known": (
        lambda f: jax.value_and_grad(lambda x: f(x)[0] + 2 * f(x)[1][0]),
        several,
        2,
    ),
    "results with others": (lambda f: jax.value_and_grad(lambda x: sums(f(x))), several, 2),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ONE_RUN)
def test_one_run_gives_both(name):
    transform, body, runs = ONE_RUN[name]
    compiled = qjit(transform(of(body)))
    found, expected = compiled(X), transform(of(body, diff_method="backprop"))(X)
    for value, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(value, wanted, atol=1e-9)
    with profile() as seen:
        compiled(X)
    (program,) = seen.programs.values()
    assert program.gates // GATES == runs  # probabilities have a gate more


def test_one_call_gives_both_around_compiled_functions():
    compiled = qjit(of(energy))
    step = jax.jit(jax.value_and_grad(lambda x: compiled(x) ** 2))
    found = step(X)
    expected = jax.value_and_grad(lambda x: of(energy, diff_method="backprop")(x) ** 2)(X)
    for value, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(value, wanted, atol=1e-9)
    with profile() as seen:
        jax.block_until_ready(step(X))
    (program,) = seen.programs.values()
    assert (program.calls, program.gates) == (1, GATES)


def test_complex_and_integer_arguments_single_precision_and_loops():
    @qml.qnode(qml.device("lightning.qubit", wires=2, c_dtype=np.complex64))
    def single(x, z, n):
        @for_loop(0, n, 1)
        def layers(k):
            qml.RX(x * jnp.abs(z) + k, wires=k % 2)
            qml.CNOT([0, 1])

        layers()
        return qml.expval(qml.Z(1))

    def plain(x, z):
        @qml.qnode(device, diff_method="backprop")
        def circuit(x, z):
            for k in range(3):
                qml.RX(x * jnp.abs(z) + k, wires=k % 2)
                qml.CNOT([0, 1])
            return qml.expval(qml.Z(1))

        return jax.value_and_grad(lambda x, z: circuit(x, z) ** 3, (0, 1))(x, z)

    function = qjit(jax.value_and_grad(lambda *args: single(*args) ** 3, (0, 1)))
    value, (by_x, by_z) = function(jnp.float32(0.4), 0.3 + 0.4j, 3)
    expected, (wanted_x, wanted_z) = plain(0.4, 0.3 + 0.4j)
    assert (by_x.dtype, by_z.dtype) == (np.float32, np.complex128)
    np.testing.assert_allclose([value, by_x], [expected, wanted_x], atol=1e-5)
    np.testing.assert_allclose(by_z, wanted_z, atol=1e-5)


def test_draws_and_shifted_runs_are_their_own():
    sampled = qml.set_shots(of(energy, diff_method="parameter-shift"), 50)
    for circuit in (sampled, of(energy, diff_method="finite-diff")):
        compiled = qjit(jax.value_and_grad(circuit))
        compiled(X)
        with profile() as seen:
            compiled(X)
        (program,) = seen.programs.values()
        assert program.gates > 2 * GATES


def test_runs_whose_cotangents_are_computed_together():
    """What both cotangents are made of stands before the first run, once."""
    called = []

    def weight(x):
        called.append(None)
        return np.sin(x)

    def loss(x):
        first, second = of(several)(x), of(several)(x + 1)
        factor = jax.pure_callback(weight, jnp.zeros(()), jax.lax.stop_gradient(x[0]))
        return sum(factor * (pair[0] + 2 * pair[1][1]) for pair in (first, second))

    found = qjit(jax.grad(loss))(X)
    assert len(called) == 1
    called.clear()
    np.testing.assert_allclose(found, jax.grad(loss)(X), atol=1e-12)


@pytest.mark.parametrize("method", ["best", "parameter-shift"])
def test_python_numbers_as_tangents(method):
    """`jax.jvp` hands them on as they are."""

    def body(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    def program(x):
        f = of(body, diff_method=method)
        return jax.jvp(f, (x,), (1.0,)), jax.jvp(jax.grad(f), (x,), (2.0,))

    (value, slope), (gradient, bend) = qjit(program)(0.3)
    expected = np.cos(0.3), -np.sin(0.3), -np.sin(0.3), -2 * np.cos(0.3)
    np.testing.assert_allclose([value, slope, gradient, bend], expected, atol=1e-12)


def test_what_is_run_again_has_no_state():
    """A loop's body and a QNode's are run again, and a callback may give something else then."""
    given = jax.ShapeDtypeStruct((), jnp.float64)

    def drawn():
        return io_callback(lambda: np.float64(2), given, ordered=True)

    def node(x):
        qml.RX(x * drawn(), 0)
        return qml.expval(qml.Z(0))

    def loop(x):
        return for_loop(0, 3, 1)(lambda _, y: jnp.sin(y * drawn()))(x)

    for function, text in ((of(node), "QNode node is run again"), (loop, "for_loop in reverse is")):
        assert np.isfinite(qjit(function)(0.3))
        with pytest.raises(NoDerivativeError, match=f"io_callback has no.*{text}") as raised:
            qjit(jax.grad(function))(0.3)
        assert "return io_callback" in str(raised.value)
    outside = qjit(jax.grad(lambda x: loop_of(x, drawn())))(0.3)
    np.testing.assert_allclose(outside, jax.grad(lambda x: jnp.sin(2 * jnp.sin(2 * x)))(0.3))


def loop_of(x, number):
    return for_loop(0, 2, 1)(lambda _, y: jnp.sin(y * number))(x)
