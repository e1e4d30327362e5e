"""Operators as results, and what control flow, `adjoint` and `ctrl` have applied as operators."""

import numpy as np
import pennylane as qml
import pytest
from pennylane.tape import QuantumTape

from diastase import DiastaseError, adjoint, cond, ctrl, for_loop, qjit

DEVICE = qml.device("lightning.qubit", wires=3)


def test_operators_are_results_of_compiled_functions():
    def operators(x, given):
        return {
            "adjoint": qml.adjoint(qml.RX(x, 0)),
            "others": [qml.ctrl(qml.Rot(x, 2 * x, x, "a"), 0), qml.prod(qml.X(0), qml.RZ(x, 3))],
            "observable": x * qml.Z(0) + 2 * qml.X(1) @ qml.Y("b"),
            "given": (given, given.parameters[0] * 2),
        }

    given = qml.Hamiltonian([0.2, 0.3], [qml.X(0), qml.Z(1)])
    found, wanted = qjit(operators)(0.7, given), operators(0.7, given)
    for name in ("adjoint", "observable"):
        assert qml.equal(found[name], wanted[name], check_interface=False)
    for one, other in zip(found["others"], wanted["others"], strict=True):
        assert qml.equal(one, other, check_interface=False)
    assert qml.equal(found["given"][0], given, check_interface=False)


def test_operators_whose_wires_are_traced_are_refused():
    with pytest.raises(DiastaseError, match="returned a RX"):
        qjit(lambda wire: qml.RX(0.1, wire))(0)


def layer(x):
    qml.RX(x, 0)
    qml.CNOT([0, 1])


def test_what_adjoint_and_ctrl_have_applied():
    seen = {}

    @qjit
    @qml.qnode(DEVICE)
    def circuit(x):
        qml.Hadamard(2)
        seen["adjoint"], seen["ctrl"] = adjoint(layer)(x), ctrl(layer, 2)(x)
        for name in ("adjoint", "ctrl"):
            seen[name] = seen[name].wires, [op.name for op in seen[name].decomposition()]
        cond(x > 0)(lambda: adjoint(layer)(x))()
        for_loop(0, 2, 1)(lambda i: ctrl(layer, 2)(x * i))()
        return qml.state()

    @qml.qnode(DEVICE)
    def reference(x):
        qml.Hadamard(2)
        qml.adjoint(layer)(x)
        qml.ctrl(layer, 2)(x)
        qml.adjoint(layer)(x)
        for i in range(2):
            qml.ctrl(layer, 2)(x * i)
        return qml.state()

    np.testing.assert_allclose(circuit(0.3), reference(0.3), atol=1e-12)
    assert seen["adjoint"] == (qml.wires.Wires([0, 1]), ["Adjoint(CNOT)", "Adjoint(RX)"])
    assert seen["ctrl"] == (qml.wires.Wires([2, 0, 1]), ["CRX", "Toffoli"])


class InATape(qml.operation.Operation):
    num_wires = 1

    @staticmethod
    def compute_decomposition(x, wires):
        with QuantumTape() as tape:
            qml.Hadamard(wires[0])
            for_loop(0, 3, 1)(lambda i: (qml.RX(x * i, wires[0]), None)[1])()
            qml.T(wires[0])
            cond(x > 0)(lambda: (qml.RZ(x, wires[0]), None)[1])()
        return tape.operations


class AsOperations(qml.operation.Operation):
    num_wires = 1

    @staticmethod
    def compute_decomposition(x, wires):
        qml.Hadamard(wires[0])
        loop = for_loop(0, 3, 1)(lambda i: (qml.RX(x * i, wires[0]), None)[1])
        loop()
        qml.T(wires[0])
        branch = cond(x > 0)(lambda: (qml.RZ(x, wires[0]), None)[1])
        branch()
        return [loop.operation, branch.operation]


@pytest.mark.parametrize("kind", [InATape, AsOperations])
def test_control_flow_in_decompositions(kind):
    @qml.qnode(DEVICE)
    def circuit(x):
        qml.Hadamard(2)
        kind(x, wires=0)
        ctrl(kind, 2)(-x, wires=1)
        return qml.state()

    @qml.qnode(DEVICE)
    def reference(x):
        def factors(x, wire):
            qml.Hadamard(wire)
            qml.RX(3 * x, wire)
            qml.T(wire)
            if x > 0:
                qml.RZ(x, wire)

        qml.Hadamard(2)
        factors(x, 0)
        qml.ctrl(factors, 2)(-x, 1)
        return qml.state()

    for x in (0.3, -0.2):
        np.testing.assert_allclose(qjit(circuit)(x), reference(x), atol=1e-12)


def test_what_has_been_applied_is_not_applied_twice():
    @qjit
    @qml.qnode(DEVICE)
    def circuit(x):
        adjoint(adjoint(layer)(x))
        return qml.state()

    with pytest.raises(DiastaseError, match="was applied before"):
        circuit(0.3)
