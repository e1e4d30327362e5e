"""QNodes in programs: several, called several times, their devices and their settings."""

import os
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, qjit
from diastase.capture.quantum_errors import (
    OutsideQNodeError,
    UnknownWiresError,
    UnsupportedOperationError,
)
from diastase_runtime.errors import DiastaseError, OutOfMemoryError, TooManyQubitsError


def rotation(device):
    @qml.qnode(device)
    def circuit(x, wire=0):
        qml.RX(x, wire)
        return qml.expval(qml.Z(wire))

    return circuit


def test_several_qnodes_called_several_times(same_as_pennylane):
    one = rotation(qml.device("default.qubit", wires=1))
    other = rotation(qml.device("lightning.qubit", wires=3))

    def program(x):
        return one(x) + other(2 * x, wire=2) * one(other(x, 1)), other(x)

    same_as_pennylane(program, 0.3)


def test_qnode_called_in_a_loop_and_in_jax_control_flow(same_as_pennylane):
    circuit = rotation(qml.device("default.qubit", wires=2))

    def program(x):
        @for_loop(0, 3, 1)
        def body(i, total):
            return total + circuit(x * i)

        scanned = jax.lax.scan(lambda c, v: (c + circuit(v), c), 0.0, jnp.stack([x, 2 * x]))
        return body(0.0), scanned[0]

    found = qjit(program)(0.4)
    np.testing.assert_allclose(found[0], sum(np.cos(0.4 * i) for i in range(3)))
    np.testing.assert_allclose(found[1], np.cos(0.4) + np.cos(0.8))


def test_qnode_called_by_another_ones_body():
    inner = rotation(qml.device("default.qubit", wires=1))

    @qml.qnode(qml.device("default.qubit", wires=1))
    def outer(x):
        qml.RX(x, 0)
        qml.RX(inner(x), 0)
        return qml.expval(qml.Z(0))

    np.testing.assert_allclose(qjit(outer)(0.4), np.cos(0.4 + np.cos(0.4)))


def test_plain_arguments_stay_plain(same_as_pennylane):
    @qml.qnode(qml.device("default.qubit", wires=4))
    def circuit(x, layers, kind="RX"):
        for wire in range(layers):
            getattr(qml, kind)(x, wires=wire)
        return qml.probs()

    same_as_pennylane(lambda x: (circuit(x, 3), circuit(x, layers=2, kind="RY")), 0.3)


def test_eager_pennylane_is_untouched():
    circuit = rotation(qml.device("default.qubit", wires=1))
    assert circuit(0.3) == pytest.approx(np.cos(0.3))
    qjit(circuit)(0.3)
    assert isinstance(circuit(0.3), float)
    qml.X(0)  # outside of any program: allowed, as PennyLane has it


def test_two_threads():
    results = {}

    def work(number):
        circuit = rotation(qml.device("default.qubit", wires=2))
        results[number] = qjit(lambda x: circuit(x) * number)(0.3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        np.testing.assert_allclose(results[number], np.cos(0.3) * number)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda w: qml.X(w), "traced wire"),
        (lambda w: None, "names none"),
    ],
)
def test_device_without_wires(body, message):
    @qml.qnode(qml.device("lightning.qubit"))
    def circuit(wire):
        body(wire)
        return qml.probs()

    with pytest.raises(UnknownWiresError, match=message):
        qjit(circuit)(1)


def gates_without_device():
    qml.Hadamard(0)
    return 1.0


def test_gate_outside_of_a_qnode():
    with pytest.raises(OutsideQNodeError, match="Hadamard") as raised:
        qjit(gates_without_device)()
    assert "qml.Hadamard(0)" in str(raised.value)


def test_measurement_and_operator_outside_of_a_qnode():
    """An operator that is returned is a value."""
    with pytest.raises(OutsideQNodeError, match="expval"):
        qjit(lambda: qml.expval(qml.Z(0)))()
    assert qjit(lambda: qml.X(0))() == qml.X(0)


def test_tape_in_a_circuit():
    @qml.qnode(qml.device("default.qubit", wires=1))
    def circuit():
        with qml.tape.QuantumTape():
            qml.X(0)
        return qml.probs()

    with pytest.raises(UnsupportedOperationError, match="QuantumTape"):
        qjit(circuit)()


def test_tape_as_data_outside_of_a_qnode(same_as_pennylane):
    def program(x):
        with qml.tape.QuantumTape() as tape:
            qml.RX(x, 0)
            qml.CNOT([0, 1])
        return qml.matrix(tape, wire_order=[0, 1])

    same_as_pennylane(program, 0.5)


@pytest.mark.parametrize("wires", [60, 64, 200])
@pytest.mark.parametrize("measured", [qml.state, qml.probs])
def test_size_beyond_64_bits(wires, measured):
    @qml.qnode(qml.device("default.qubit", wires=wires))
    def circuit():
        return measured()

    with pytest.raises(TooManyQubitsError, match=str(wires)):
        qjit(circuit)()


def test_a_call_without_memory_releases_its_state():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=18))
    def circuit(size):
        qml.Hadamard(0)
        return jnp.ones(size), qml.expval(qml.X(0))

    def fail():
        with pytest.raises(OutOfMemoryError):
            circuit(2**50)

    fail()
    before = resident_bytes()
    for _ in range(50):
        fail()
    assert resident_bytes() - before < 20 * 2**22  # a state has 2**22 bytes
    np.testing.assert_allclose(circuit(2)[1], 1.0)


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_too_many_wires():
    @qml.qnode(qml.device("default.qubit", wires=70))
    def circuit(x):
        return qml.probs(wires=0)

    with pytest.raises(DiastaseError, match="QNode circuit") as raised:
        qjit(lambda x: circuit(x))(1.0)
    assert "test_qnodes.py" in str(raised.value)
    with pytest.raises(DiastaseError, match="QNode circuit"):
        qjit(circuit)(1.0)


def test_operators_as_data_outside_of_a_qnode(same_as_pennylane):
    @qml.qnode(qml.device("default.qubit", wires=2))
    def circuit(observable):
        qml.Hadamard(0)
        return qml.expval(observable())

    def program(x):
        hamiltonian = qml.Hamiltonian([1.0, 0.5], [qml.Z(0), qml.X(0)])
        matrix = qml.matrix(qml.RX(0.3, wires=0))
        return circuit(lambda: hamiltonian) * x + np.abs(matrix[0, 0])

    same_as_pennylane(program, 0.5)
