"""Classical values beside measurements of a broadcast parameter: they are what they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop

DEVICE = qml.device("default.qubit", wires=2)


def beside(x):
    qml.RX(x, 0)
    return {"energy": qml.expval(qml.Z(0)), "values": (2 * x, 3.0, jnp.outer(x, x))}


def test_values_that_need_no_circuit_have_no_axis_of_the_batch():
    for qnode in (qml.QNode(beside, DEVICE), qml.QNode(beside, DEVICE, shots=10)):
        for x in (np.array([0.1, 0.2, 0.3]), np.array([0.4]), np.zeros(0)):
            found = qjit(qnode)(x)
            assert found["energy"].shape == x.shape
            double, constant, product = found["values"]
            np.testing.assert_allclose(double, 2 * x)
            assert constant == 3.0
            np.testing.assert_allclose(product, np.outer(x, x))


def test_outcomes_and_gradients():
    x = np.array([0.1, 0.2, 0.3])

    @qml.qnode(DEVICE)
    def measured(x):
        qml.RX(np.pi + 0 * x, 0)
        return qml.expval(qml.Z(1)), 2 * measure(0), x

    energies, outcomes, same = qjit(measured)(x)
    np.testing.assert_allclose(energies, np.ones(3))
    np.testing.assert_array_equal(outcomes, [2, 2, 2])
    np.testing.assert_array_equal(same, x)

    def total(x):
        found = qml.QNode(beside, DEVICE)(x)
        return jnp.sum(found["energy"]) + jnp.sum(found["values"][0])

    np.testing.assert_allclose(qjit(jax.grad(total))(x), 2 - np.sin(x))
    rows = qjit(jax.vmap(qml.QNode(beside, DEVICE)))(np.stack([x, 3 * x]))
    np.testing.assert_allclose(rows["values"][0], np.stack([2 * x, 6 * x]))
    np.testing.assert_allclose(rows["energy"], np.cos([x, 3 * x]))


def counted(x, n):
    @for_loop(0, n, 1)
    def loop(i, total, dead):
        qml.RX(x, 0)
        return total + 2.0 * i, dead + total

    return loop(1.0, 0.0)


def doubled(x, n):
    @while_loop(lambda i, _: i < n)
    def loop(i, value):
        qml.RX(x, 0)
        return i + 1, value * 2

    return loop(0, jnp.ones(2))


def chosen(x, n):
    @cond(n > 2)
    def choice():
        qml.RX(x, 0)
        return 3.0 * n, x

    @choice.otherwise
    def choice():
        return 5.0 * n, 2 * x

    return choice()


def nested(x, n):
    @for_loop(0, n, 1)
    def loop(i, value, total):
        @for_loop(0, i, 1)
        def inner(j, value):
            qml.RX(x, 0)

            @cond(j > 1)
            def more():
                qml.RY(x, 1)
                return 1.0 * j

            @more.otherwise
            def more():
                return 2.0 * j

            return value + more()

        return inner(value), total + jnp.sum(x)

    return loop(0.0, 0.0)


WAYS = (
    {},
    {"mcm_method": "tree-traversal"},
    {"diff_method": "parameter-shift"},
    {"shots": 7},
    {"shots": 7, "mcm_method": "one-shot"},
)


@pytest.mark.sample(2)
@pytest.mark.parametrize("body", [counted, doubled, chosen, nested])
def test_values_carried_through_gates_have_no_axis_of_the_batch(body):
    def circuit(x, n):
        values = body(x, n)
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(1)), values

    for k, x in enumerate((np.array([0.1, 0.2, 0.3]), np.array([0.4]), np.zeros(0), 0.5)):
        energies = energies_of(body, x, 4) if np.size(x) else (np.zeros(0), np.zeros(0))
        expected = values_of(body, x, 4)

        for way in WAYS if k == 0 else WAYS[k : k + 1]:
            shots, options = way.get("shots"), {k: v for k, v in way.items() if k != "shots"}
            *found, values = qjit(qml.QNode(circuit, DEVICE, shots=shots, **options))(x, 4)
            for energy, right in zip(found, energies, strict=True):
                assert energy.shape == np.shape(x)
                if shots is None:
                    np.testing.assert_allclose(energy, right, atol=1e-12)
            for value, right in zip(values, expected, strict=True):
                assert value.shape == np.shape(right), (way, np.shape(x))
                np.testing.assert_allclose(value, right)


def energies_of(body, x, n):
    """PennyLane's own, of the body run by Python."""

    @qml.qnode(DEVICE)
    def circuit(x):
        body(x, n)
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(1))

    return circuit(x)


def values_of(body, x, n):
    """The classical values, in plain Python; its operators go nowhere."""
    with qml.QueuingManager.stop_recording():
        return body(x, n)


def test_carried_beside_outcomes():
    def circuit(x, n):
        @for_loop(0, n, 1)
        def loop(i, value, outcomes):
            qml.RX(x, 0)
            return value + i, outcomes + measure(1)

        value, outcomes = loop(1.0, 0)
        return qml.expval(qml.Z(0)), value, outcomes

    x = np.array([0.1, 0.2, 0.3])
    _, value, outcomes = qjit(qml.QNode(circuit, DEVICE, shots=5))(x, 3)
    assert (value, outcomes.shape) == (4.0, (3, 5))
    _, value, outcomes = qjit(qml.QNode(circuit, DEVICE, shots=5))(0.1, 3)
    assert (value, outcomes.shape) == (4.0, (5,))

    def averaged(x, n):
        energy, value, _ = circuit(x, n)
        return energy, value

    energy, value = qjit(qml.QNode(averaged, DEVICE, mcm_method="tree-traversal"))(x, 3)
    np.testing.assert_allclose(energy, np.cos(3 * x))
    assert value == 4.0


def test_carried_by_jax_and_of_sizes_known_at_run_time():
    def circuit(x, n):
        def step(i, value):
            qml.RX(x, 0)
            return value + i * jnp.ones(n)

        def rows(value, row):
            qml.RY(x, 1)
            return value + row, value * 2

        first = jax.lax.fori_loop(0, n, step, jnp.zeros(n))
        return qml.expval(qml.Z(0)), first, jax.lax.scan(rows, 0.0, jnp.arange(n) * 1.0), n

    x = np.array([0.1, 0.2, 0.3])
    for n in (3, 4):
        energy, first, (last, rows), size = qjit(qml.QNode(circuit, DEVICE))(x, n)
        np.testing.assert_allclose(energy, np.cos(n * x))
        total = n * (n - 1) / 2
        np.testing.assert_allclose(first, np.full(n, total))
        np.testing.assert_allclose([last, size], [total, n])
        np.testing.assert_allclose(rows, 2 * np.cumsum([0, *range(n - 1)]))


def test_gradients_of_carried_values_and_axes_of_vmap():
    def circuit(x, a):
        @for_loop(0, 3, 1)
        def loop(i, value):
            qml.RX(x, 0)
            return value * a

        return qml.expval(qml.Z(0)), loop(1.0)

    def total(x, a):
        energies, value = qml.QNode(circuit, DEVICE)(x, a)
        return jnp.sum(energies) + value

    x = np.array([0.1, 0.2, 0.3])
    by_x, by_a = qjit(jax.grad(total, argnums=(0, 1)))(x, 2.0)
    np.testing.assert_allclose(by_x, -3 * np.sin(3 * x))
    np.testing.assert_allclose([by_a, qjit(jax.hessian(total, argnums=1))(x, 2.0)], [12, 12])
    each = jax.vmap(qml.QNode(circuit, DEVICE), in_axes=(0, None), out_axes=(0, None))
    energies, value = qjit(each)(x, 2.0)
    np.testing.assert_allclose(energies, np.cos(3 * x))
    assert value == 8.0


def test_what_several_results_are_computed_of_is_computed_once():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x, y):
        turned, doubled = for_loop(0, 5, 1)(lambda k, s, t: (s + y * k, 2 * t))(0.0, 1.0)
        qml.RX(x, wires=0)
        return qml.expval(qml.Z(0)), [turned * k for k in range(4)], doubled, turned + x

    compiled = qjit(circuit)
    means, multiples, doubled, moved = compiled(jnp.array([0.1, 0.2]), 0.5)
    np.testing.assert_allclose(means, np.cos([0.1, 0.2]))
    np.testing.assert_allclose(multiples, [0.0, 5.0, 10.0, 15.0])
    assert doubled == 32.0
    np.testing.assert_allclose(moved, [5.1, 5.2])
    assert str(compiled.jaxpr).count("for_loop[") == 2  # in the circuit and beside it
