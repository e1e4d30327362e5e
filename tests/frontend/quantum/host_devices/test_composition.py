"""QNodes in programs: in control flow, in each other, in classes, on devices of both kinds.

The device `lightning.qubit` is the engine, `reference.qubit` runs in Python.
"""

import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, qjit, while_loop
from diastase.primitives.errors import NotTransformableError

DEVICES = ["lightning.qubit", "reference.qubit"]
DATA = jnp.arange(3.0)


def rotated_on(name):
    @qml.qnode(qml.device(name, wires=3))
    def rotated(x, wire=0, *, scale=1.0):
        qml.RX(scale * x, wire)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(wire))

    return rotated


def closing_on(name):
    @qml.qnode(qml.device(name, wires=3))
    def closing(i=1):
        qml.RX(DATA[i], 0)
        qml.RY(DATA.sum(), 1)
        return {"z": qml.expval(qml.Z(0) @ qml.Z(1)), "p": [qml.probs(wires=[1, 0])]}

    return closing


@pytest.mark.parametrize("name", DEVICES)
def test_arguments(same_uncompiled, name):
    rotated, closing = rotated_on(name), closing_on(name)

    def program(x):
        results = [rotated(x, wire=1), rotated(x, 2, scale=2.0), rotated(x=x, scale=x)]
        halved = functools.partial(rotated, scale=0.5)
        return results, rotated(rotated(rotated(x))), closing(), closing(i=2), halved(x, 1)

    same_uncompiled(program, 0.3)
    assert float(qjit(rotated)(0.3, scale=2.0)) == pytest.approx(float(rotated(0.3, scale=2.0)))
    same_uncompiled(closing)


@pytest.mark.parametrize("name", DEVICES)
def test_control_flow_around_qnodes(same_uncompiled, name):
    rotated, closing = rotated_on(name), closing_on(name)

    def program(x, n):
        total = for_loop(0, n, 1)(lambda i, total: total + rotated(x * i))(0.0)
        least = while_loop(lambda value, k: (value > 0.1) & (k < 5))(
            lambda value, k: (rotated(value + 0.5), k + 1)
        )(x, 0)

        @cond(x > 0.5)
        def branch():
            return rotated(x)

        @branch.otherwise
        def other():
            return 2 * closing()["z"]

        return total, least, branch()

    same_uncompiled(program, 0.3, 4)
    same_uncompiled(program, 0.8, 2)


@pytest.mark.parametrize("name", DEVICES)
def test_jax_control_flow_around_qnodes(same_uncompiled, name):
    rotated, closing = rotated_on(name), closing_on(name)

    def program(x, xs, k, n):
        return (
            jax.lax.fori_loop(0, n, lambda i, total: total + rotated(x * i), 0.0),
            jax.lax.scan(lambda c, y: (c + rotated(y), rotated(2 * y)), 0.0, xs),
            jax.lax.cond(x > 0.5, lambda: rotated(x), lambda: rotated(2 * x)),
            jax.lax.while_loop(lambda s: s[1] < 3, lambda s: (rotated(s[0]), s[1] + 1), (x, 0)),
            jax.lax.map(rotated, xs),
            jax.lax.switch(k, [lambda: rotated(x), lambda: closing()["z"]]),
            jax.jit(lambda y: rotated(y) + rotated(2 * y))(x),
        )

    same_uncompiled(program, 0.3, jnp.arange(4.0), 1, 3)


@pytest.mark.parametrize("name", DEVICES)
def test_classes(same_uncompiled, name):
    device = qml.device(name, wires=2)

    class Model:
        def __init__(self, factor):
            self.factor = factor

        def body(self, x):
            qml.RX(self.factor * x, 0)
            return qml.expval(qml.Z(0))

        def __call__(self, x):
            return qml.QNode(self.body, device)(x) + 1

        @qjit
        def compiled(self, x):
            return qml.QNode(self.body, device)(x)

    model = Model(2.0)
    same_uncompiled(model, 0.3)
    same_uncompiled(qml.QNode(model.body, device), 0.3)
    assert float(Model(3.0).compiled(0.3)) == pytest.approx(np.cos(0.9))
    assert float(model.compiled(0.3)) == pytest.approx(np.cos(0.6))


@pytest.mark.parametrize("outer", ["lightning.qubit", "default.mixed"])
@pytest.mark.parametrize("inner", ["lightning.qubit", "default.mixed"])
def test_qnodes_called_by_qnodes(same_uncompiled, outer, inner):
    rotated = rotated_on(inner)

    @qml.qnode(qml.device(outer, wires=2))
    def calling(x):
        qml.RX(rotated(x), 0)
        qml.RY(qjit(rotated)(2 * x), 1)
        return qml.expval(qml.Z(0) @ qml.Z(1)), qml.probs(wires=[0])

    same_uncompiled(calling, 0.3)


@pytest.mark.parametrize("name", DEVICES)
def test_sizes_known_only_at_run_time(name):
    rotated = rotated_on(name)

    @qjit(abstracted_axes=("n",))
    def program(angles):
        return for_loop(0, angles.shape[0], 1)(lambda i, total: total + rotated(angles[i]))(0.0)

    for size in (2, 5):
        angles = jnp.linspace(0.0, 1.0, size)
        assert float(program(angles)) == pytest.approx(float(jnp.sum(jnp.cos(angles))))


@pytest.mark.parametrize("name", DEVICES)
def test_vmap_runs_a_qnode_for_each_element(name):
    rotated, closing = rotated_on(name), closing_on(name)

    @qjit
    def program(xs, table, scale):
        each = jax.vmap(lambda x: 2 * rotated(x, scale=scale) + x)(xs)
        rows = jax.vmap(jax.vmap(rotated, out_axes=0), in_axes=1, out_axes=1)(table)
        return each, rows, jax.vmap(closing)(jnp.arange(3))

    xs, table = jnp.linspace(0.0, 1.0, 4), jnp.arange(6.0).reshape(2, 3)
    each, rows, closed = program(xs, table, 0.5)
    np.testing.assert_allclose(each, 2 * jnp.cos(xs * 0.5) + xs, atol=1e-10)
    np.testing.assert_allclose(rows, jnp.cos(table), atol=1e-10)
    for i in range(3):
        expected = closing(i)
        np.testing.assert_allclose(closed["z"][i], expected["z"], atol=1e-10)
        np.testing.assert_allclose(closed["p"][0][i], expected["p"][0], atol=1e-10)


def test_derivatives_of_devices():
    """Exact on devices that the engine stands for; refused on those in Python."""
    found = qjit(jax.grad(rotated_on("lightning.qubit")))(0.3)
    np.testing.assert_allclose(found, -np.sin(0.3), atol=1e-12)
    with pytest.raises(NotTransformableError, match="runs in Python") as raised:
        qjit(jax.grad(rotated_on("reference.qubit")))(0.3)
    assert "test_composition.py" in str(raised.value)


def test_threads_that_trace_and_run_on_devices_in_python():
    results, failures = {}, []

    def work(number):
        try:
            rotated = rotated_on("reference.qubit")
            program = qjit(lambda x: for_loop(0, 5, 1)(lambda i, s: s + rotated(x * i))(0.0))
            results[number] = [float(program(0.1 * number + repeat)) for repeat in range(3)]
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for number, found in results.items():
        for repeat, value in enumerate(found):
            assert value == pytest.approx(np.cos((0.1 * number + repeat) * np.arange(5)).sum())
