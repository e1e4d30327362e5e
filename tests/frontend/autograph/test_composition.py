"""Converted functions inside of everything, and everything inside of converted functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import cond, for_loop, grad, measure, qjit, run_autograph, vmap

X = jnp.array([0.3, 0.7, 1.2])


def f(x):
    total = 0.0
    for i in range(5):
        if x > i:
            total += jnp.sin(x) * i
        else:
            total -= x * i
    while total > 10:
        total = total / 2
    return total


def test_derivatives_and_batches_inside_and_around():
    points = jnp.array([0.3, 2.5, 7.0])
    values = [f(float(x)) for x in points]
    slope = (f(2.5 + 1e-6) - f(2.5 - 1e-6)) / 2e-6
    made_before = jax.grad(f)

    @qjit(autograph=True)
    def inside(x, points):
        return (
            grad(f)(x), jax.grad(f)(x), made_before(x), jax.jit(f)(x), vmap(f)(points),
            jax.vmap(f)(points),
            jax.lax.scan(lambda c, v: (c + (v if v > 1 else -v), c), 0.0, points),
        )  # fmt: skip

    *slopes, value, batch, other, (end, before) = inside(2.5, points)
    np.testing.assert_allclose(slopes, slope, rtol=1e-7)
    np.testing.assert_allclose([value, end], [values[1], 9.2])
    np.testing.assert_allclose([batch, other], [values, values])
    np.testing.assert_allclose(before, [0.0, -0.3, 2.2])
    compiled = qjit(f, autograph=True)
    np.testing.assert_allclose(jax.grad(compiled)(2.5), slope, rtol=1e-7)
    np.testing.assert_allclose(qjit(grad(f), autograph=True)(2.5), slope, rtol=1e-7)
    np.testing.assert_allclose(jax.vmap(compiled)(points), values)
    np.testing.assert_allclose(jax.jit(lambda x: compiled(x) + 1)(2.5), values[1] + 1)
    np.testing.assert_allclose(qjit(lambda x: compiled(x) + 1)(2.5), values[1] + 1)


def test_inside_of_control_flow_that_is_written_out():
    @qjit(autograph=True)
    def both(x, n):
        @cond(x > 1)
        def chosen():
            if x > 2:
                return x
            return 2 * x

        @chosen.otherwise
        def other():
            total = 0.0
            for _ in range(3):
                total += x
            return total

        @for_loop(0, n, 1)
        def loop(i, total):
            if i % 2 == 0:
                return total + x
            return total * 2

        return chosen(), loop(0.0)

    for x, expected in ((3.0, (3, 18)), (1.5, (3, 9)), (0.5, (1.5, 3))):
        np.testing.assert_allclose(both(x, 4), expected)


def test_sizes_known_at_run_time_only():
    def total(xs):
        found = 0.0
        for i, x in enumerate(xs):
            if x > 0:
                found += x * i
        for k in range(xs.shape[0]):
            found += xs[k]
        for a, b in zip(xs, xs, strict=False):
            found += a * b
        return found + len(xs)

    @qjit(autograph=True)
    def doubled(n):
        xs = jnp.zeros(n)
        for i in range(n):
            xs[i] = i * 2
        for _ in range(2):
            xs = jnp.concatenate([xs, xs])
        return xs

    compiled = qjit(total, autograph=True, abstracted_axes={0: "n"})
    for n in (3, 5, 0):
        assert compiled(jnp.arange(n) - 1.0) == pytest.approx(total(np.arange(n) - 1.0))
        np.testing.assert_array_equal(doubled(n), np.tile(np.arange(n) * 2.0, 4))
    assert len(compiled._programs.made.compiled()) == 1


# --- circuits ------------------------------------------------------------------------------------


def layer(x, wire):
    if x > 0.5:
        qml.RX(x, wires=wire)
    else:
        qml.RY(x, wires=wire)


def layers(x):
    for w in range(2):
        layer(x[w], w)


def circuit(x):
    for w in range(3):
        layer(x[w], w)
        if w > 0:
            qml.CNOT(wires=[w - 1, w])
    for rotation in [qml.RX, qml.RZ]:
        rotation(x[0], wires=0)
    for pair in [(0, 1), (1, 2)]:
        qml.CZ(wires=pair)
    qml.Hadamard(2)
    qml.adjoint(layers)(x)
    qml.ctrl(layers, control=2)(x)
    total, i = 0.0, 0
    while i < 3:
        total += x[i]
        i += 1
        qml.RY(total, wires=1)
        if total > 0.9:
            break
    return qml.expval(qml.PauliZ(0) @ qml.PauliX(1)), qml.probs(wires=[0, 1])


def test_circuits_as_on_default_qubit():
    expected = qml.QNode(circuit, qml.device("default.qubit", wires=3))(np.asarray(X))
    qnode = qml.QNode(circuit, qml.device("lightning.qubit", wires=3))
    found = qjit(qnode, autograph=True)(X)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)

    def called(x):
        return grad(lambda x: qnode(x)[0])(x)

    slopes = qjit(called, autograph=True)(X)
    steps = 1e-6 * np.eye(3)
    plain = qml.QNode(circuit, qml.device("default.qubit", wires=3))
    differences = [(plain(X + h)[0] - plain(X - h)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(slopes, differences, atol=1e-8)


def test_outcomes_shots_and_transforms():
    @qjit(autograph=True, seed=3)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def outcomes(x):
        count = 0
        for _ in range(6):
            qml.RX(x, 0)
            if measure(0):
                count += 1
                qml.X(0)
        qml.X(0)
        while measure(0):
            qml.X(0)
        seen = measure(1) and measure(0)
        return count, seen, qml.probs(wires=[0])

    assert [int(outcomes(x)[0]) for x in (jnp.pi, 0.0)] == [6, 0]
    np.testing.assert_allclose(outcomes(0.3)[2], [1, 0])

    @qjit(autograph=True)
    @qml.set_shots(50)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def sampled(x):
        for i in range(2):
            if x > i:
                qml.X(i)
        return qml.sample()

    assert sampled(0.5).mean(axis=0).tolist() == [1, 0]

    @qjit(autograph=True)
    @qml.transforms.cancel_inverses
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def transformed(x):
        for i in range(3):
            qml.X(i)
            qml.X(i)
            angle = x if x > i else 2 * x
            qml.RX(angle, i)
        return qml.expval(qml.Z(0) @ qml.Z(1))

    assert transformed(0.4) == pytest.approx(np.cos(0.4) * np.cos(0.8))


def layer_size(x):
    if x > 0:
        return x
    return -x


def test_methods_and_modules(monkeypatch):
    class Model:
        @qjit(autograph=True)
        def size(self, x):
            if x > 0:
                return x
            return -x

    assert Model().size(-2.0) == 2

    def called(x):
        return layer_size(x)

    monkeypatch.setitem(globals(), "__name__", "scipy.of_this_test")
    with pytest.raises(diastase.errors.TracedConditionError):
        qjit(run_autograph(called))(-1.0)
    assert qjit(called, autograph=True, autograph_include=["scipy.of_this_test"])(-1.0) == 1


def test_outside_of_programs_it_is_python():
    seen = []

    @run_autograph
    def plain(x):
        if x > 1:
            seen.append(type(x))
        return x

    assert plain(2.0) == 2.0
    assert seen == [float]
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(plain)(2.0)
