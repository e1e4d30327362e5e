"""One of everything, in seconds: run this file first after a change."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, cond, for_loop, measure, qjit


def test_a_classical_program():
    def function(x, y):
        return jnp.sin(x) @ y, {"largest": jnp.max(y)}

    x, y = jnp.arange(6.0).reshape(2, 3), jnp.array([1.0, -2.0, 0.5])
    jax.tree.map(np.testing.assert_allclose, qjit(function)(x, y), function(x, y))


def test_one_library_serves_every_size():
    traces = []

    @qjit
    def triangle(n: int):
        traces.append(n)

        @for_loop(0, n, 1)
        def add(i, row):
            return row.at[i].set(jnp.sum(jnp.arange(i + 1)))

        return add(jnp.zeros(n, int))

    for size in (3, 0, 1, 8):
        np.testing.assert_array_equal(triangle(size), np.cumsum(np.arange(size)))
    assert len(traces) == 1


def test_a_quantum_program():
    def circuit(angle, wire):
        qml.Hadamard(0)
        qml.CRX(angle, wires=[0, 1])
        qml.RY(2 * angle, wires=wire)
        return qml.expval(qml.PauliZ(0) @ qml.PauliX(1)), qml.probs(wires=[1, 0])

    found = qjit(qml.qnode(qml.device("lightning.qubit", wires=2))(circuit))(0.4, 1)
    expected = qml.qnode(qml.device("default.qubit", wires=2))(circuit)(0.4, 1)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), found, expected)


def test_a_measurement_steers_a_circuit():
    @qjit(seed=7)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def reset_both():
        qml.Hadamard(0)
        qml.CNOT([0, 1])

        @cond(measure(0))
        def flip():
            qml.PauliX(0)
            qml.PauliX(1)

        flip()
        return qml.probs()

    np.testing.assert_allclose(reset_both(), [1, 0, 0, 0], atol=1e-12)


def test_an_error_while_tracing_names_the_line():
    @qjit
    def function(x):
        return x if x > 0 else -x

    with pytest.raises(DiastaseError) as caught:
        function(1.0)
    assert caught.value.span.text == "return x if x > 0 else -x"


def test_an_error_while_running_names_the_line():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(wire):
        qml.PauliX(wires=wire)
        return qml.state()

    with pytest.raises(IndexError, match="PauliX on wire 5") as caught:
        circuit(5)
    assert caught.value.span.text == "qml.PauliX(wires=wire)"
    np.testing.assert_allclose(circuit(1), [0, 1, 0, 0])
