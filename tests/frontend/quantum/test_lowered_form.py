"""What circuits look like before the pipeline: values per qubit, registers at region boundaries."""

import re

import pennylane as qml

from diastase import for_loop, qjit
from diastase.capture.pennylane_compat import describe


def mlir_of(body, *arguments):
    circuit = qml.QNode(body, qml.device("lightning.qubit", wires=3))
    return qjit(circuit).trace(*arguments).lower().as_text()


def test_gates_on_known_wires_follow_each_other_directly():
    def body(x):
        qml.RX(x, 0)
        qml.RY(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(0))

    text = mlir_of(body, 0.3)
    first, second, third = re.findall(r'(%\w+)(?::2)? = quantum\.gate "\w+"(.*)', text)
    assert first[0] in second[1]
    assert second[0] in third[1]
    assert text.count("quantum.extract") == 2
    assert text.count("quantum.insert") == 2  # before the measurement only


def test_a_traced_wire_puts_all_qubits_back():
    def body(x, wire):
        qml.RX(x, 0)
        qml.RY(x, wire)
        qml.RZ(x, 0)
        return qml.expval(qml.Z(0))

    text = mlir_of(body, 0.3, 1)
    order = re.findall(r"quantum\.(extract|insert|gate)", text)
    assert order == ["extract", "gate", "insert"] * 3


def test_loops_carry_the_register():
    def body(x):
        qml.Hadamard(0)

        @for_loop(0, 3, 1)
        def layer(i):
            qml.RX(x, i)

        layer()
        return qml.probs()

    text = mlir_of(body, 0.3)
    assert "!quantum.register" in re.search(r"scf\.\w+.*->.*", text).group()


def test_a_loop_without_gates_does_not_carry_the_register():
    def body(x):
        qml.Hadamard(0)

        @for_loop(0, 3, 1)
        def double(i, value):
            return value * 2

        qml.RX(double(x), 0)
        return qml.probs()

    text = mlir_of(body, 0.3)
    assert "stablehlo.while" in text
    assert "scf." not in text


def test_operators_are_described_by_name_and_wires():
    assert describe(qml.CRX(0.1, wires=[0, "a"])) == "CRX(wires=[0, 'a'])"
    assert describe(qml.GlobalPhase(0.1)) == "GlobalPhase"
