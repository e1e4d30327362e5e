"""CNOTs and SWAPs of qubits whose states are known."""

import itertools

import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, measure, qjit

PREPARED = {
    "0": [],
    "1": [qml.X],
    "+": [qml.H],
    "-": [qml.X, qml.H],
    None: [lambda wire: qml.RY(0.7, wire), lambda wire: qml.RZ(0.4, wire)],
}
STATES = list(itertools.product(PREPARED, PREPARED))


def prepare(state, wire):
    for gate in PREPARED[state]:
        gate(wire)


@pytest.mark.parametrize(("control", "target"), STATES)
def test_every_cnot(left_by, control, target):
    def circuit():
        prepare(control, 0)
        prepare(target, 1)
        qml.CNOT([0, 1])
        qml.CNOT([0, 1])
        qml.Toffoli([0, 2, 1])
        return qml.state()

    left = left_by("disentangle_cnot", circuit)
    kept = left[len(PREPARED[control]) + len(PREPARED[target]) :]
    if control == "0" or target == "+":
        assert kept == []
    elif control == "1":  # twice -|-> is |->
        assert kept == ["PauliX"] * 2
    elif target == "-":
        assert kept == ["PauliZ"] * 2
    else:
        assert kept == ["CNOT"] * 2


@pytest.mark.sample(13)
@pytest.mark.parametrize(("first", "second"), STATES)
def test_every_swap(left_by, first, second):
    def circuit():
        prepare(first, 0)
        prepare(second, 1)
        qml.SWAP([0, 1])
        return qml.state()

    left = left_by("disentangle_swap", circuit)
    known = {"0", "1", "+", "-"} & {first, second}
    assert ("SWAP" in left) == (not known)
    if first == second and known:
        assert left == left_by([], circuit)[:-1]


def test_controls_that_are_known(left_by):
    def circuit(x):
        qml.X(0)
        qml.RY(x, 1), qml.RY(2 * x, 2)
        qml.Toffoli([0, 1, 2])
        qml.ctrl(qml.X(2), [0, 1], control_values=[0, 1])
        qml.CSWAP([0, 1, 2])
        qml.ctrl(qml.X(2), [0, 1], control_values=[1, 0])
        return qml.state()

    left = left_by(["disentangle_cnot", "disentangle_swap"], circuit, 0.4)
    assert left == ["PauliX", "RY", "RY", "CNOT", "SWAP", "PauliX"]


def test_loops_forget_what_they_change(left_by, when):
    def circuit(n, w):
        qml.X(1)

        @for_loop(0, n, 1)
        def loop(i):
            qml.CNOT([0, 2])  # |0> in the first iteration only
            qml.CNOT([1, 3])  # |1> in all
            qml.RX(0.3, 0)

        loop()
        qml.CNOT([1, 2])
        when(n > 1, lambda: qml.X(1), lambda: qml.Y(1))
        qml.CNOT([1, 0])  # |0> on both ways
        when(n > 1, lambda: qml.X(1))
        qml.CNOT([1, 0])  # |0> or |1>
        return qml.state()

    left = left_by("disentangle_cnot", circuit, 3, 1, wires=4)
    found = ["PauliX", "CNOT", "PauliX", "RX", "PauliX", "PauliX", "PauliY", "PauliX", "CNOT"]
    assert left == found


@pytest.mark.parametrize("wire", range(3))
def test_a_wire_known_at_run_time_only_may_be_any(left_by, wire):
    def circuit(w):
        qml.CNOT([w, (w + 1) % 3])  # all are |0>
        qml.Z(w)
        qml.CNOT([0, 1])
        qml.X(w)
        qml.CNOT([0, 1])  # now any may be |1>
        return qml.state()

    left = left_by("disentangle_cnot", circuit, wire)
    assert left == ["check_wires", "PauliZ", "PauliX", "CNOT"]


def test_measurements_decide(left_by):
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(x, 1)
        measure(0, reset=True)
        measure(1, postselect=1)
        qml.RX(x, 2)
        qml.CNOT([0, 2])
        qml.CNOT([1, 2])
        return qml.probs(wires=2)

    def after_postselection(x):
        qml.RX(x, 2)
        qml.X(2)
        return qml.probs(wires=2)

    device = qml.device("lightning.qubit", wires=3)
    compiled = qjit(qml.QNode(circuit, device), circuit_transform_pipeline={"disentangle_cnot": {}})
    expected = qml.QNode(after_postselection, qml.device("default.qubit", wires=3))(0.4)
    np.testing.assert_allclose(compiled(0.4), expected, atol=1e-12)
    assert "CNOT" not in compiled.mlir
