"""Circuits made of the gates of a set: the same state, and no other gates, wherever they stand."""

import re

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import adjoint, cond, ctrl, for_loop, passes, qjit

DEVICE = qml.device("lightning.qubit", wires=4)
ROTATIONS = {"RZ", "RX", "CNOT"}


class Mine(qml.operation.Operation):
    """An operator of a user's, with a decomposition that the graph knows nothing of."""

    num_params = 1
    num_wires = 2

    def decomposition(self):
        @for_loop(0, 2, 1)
        def loop(i):
            qml.RY(self.parameters[0] * i, self.wires[0])
            qml.T(self.wires[1])

        loop()
        return [qml.CZ(self.wires), qml.S(self.wires[1])]


def everywhere(x, n):
    """Gates in all kinds of places."""
    qml.Hadamard(0)
    qml.QFT(wires=[0, 1, 2])

    @for_loop(0, n, 1)
    def loop(i):
        qml.Rot(x * i, x, 0.2, wires=i)
        qml.CRY(x, [i, (i + 1) % 3])
        qml.Toffoli([0, 1, 2])

    loop()

    @cond(n > 2)
    def branch():
        qml.SWAP([0, 1])
        qml.T(2)

    branch()

    def inner():
        qml.T(0)
        qml.S(1)
        qml.IsingXY(x, [0, 1])
        qml.GlobalPhase(0.3)
        Mine(x, wires=[1, 2])

        @for_loop(0, n, 1)
        def again(i):
            qml.PhaseShift(x * i, i)
            qml.CNOT([i, (i + 1) % 3])

        again()

    adjoint(inner)()
    qml.Hadamard(3)
    ctrl(inner, control=3, control_values=[0])()
    adjoint(lambda: ctrl(inner, control=3)())()
    adjoint(lambda: adjoint(inner)())()
    qml.PauliRot(x, "XYZ", wires=[0, 1, 2])
    return qml.state()


def gates(compiled):
    """The names of all gates of a program."""
    found = re.findall(r"gate\[\s*[^\]]*?name=([^\s\]]+(?:\])?)", str(compiled.jaxpr))
    others = {name for name in ("unitary[", "diagonal[") if name in str(compiled.jaxpr)}
    assert not others
    return {name.strip() for name in found}


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("decorate", "allowed"),
    [
        (passes.graph_decomposition(gate_set=ROTATIONS), ROTATIONS),
        (passes.graph_decomposition(gate_set={qml.RX: 1.0, qml.RY: 1.0, qml.CZ: 9.0}), None),
        (
            passes.graph_decomposition(gate_set={"H", "S", "T", "Adjoint(T)", "RZ", "CNOT"}),
            {"Hadamard", "S", "T", "Adjoint(T)", "RZ", "CNOT"},
        ),
        (passes.ions_decomposition, {"RX", "RY", "IsingXX"}),
    ],
)
def test_nothing_but_gates_of_the_set(decorate, allowed):
    compiled = qjit(decorate(qml.QNode(everywhere, DEVICE)))
    plain = qjit(qml.QNode(everywhere, DEVICE))
    for arguments in [(0.3, 3), (1.9, 1)]:
        np.testing.assert_allclose(compiled(*arguments), plain(*arguments), atol=1e-10)
    assert gates(compiled) <= (allowed or {"RX", "RY", "CZ"})
    assert "for_loop" in str(compiled.jaxpr)


def test_the_state_is_pennylanes():
    def circuit(x):
        qml.QFT(wires=[0, 1, 2])
        qml.ctrl(qml.Rot(x, 0.1, 0.2, wires=0), control=[1, 2], control_values=[0, 1])
        qml.MultiControlledX([0, 1, 2, 3])
        qml.adjoint(qml.SX(2))
        return qml.state()

    compiled = qjit(passes.graph_decomposition(qml.QNode(circuit, DEVICE), gate_set=ROTATIONS))
    wanted = qml.QNode(circuit, qml.device("default.qubit", wires=4))(0.4)
    np.testing.assert_allclose(compiled(0.4), wanted, atol=1e-10)
    assert gates(compiled) <= ROTATIONS


@pytest.mark.parametrize("method", ["adjoint", "parameter-shift"])
def test_derivatives(method):
    def circuit(x, n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.CRY(x * i, [0, 1])
            adjoint(qml.IsingXY)(x, [1, 2])
            Mine(x, wires=[0, 1])

        loop()
        return qml.expval(qml.X(0) @ qml.Y(1))

    qnode = passes.ions_decomposition(qml.QNode(circuit, DEVICE, diff_method=method))
    wanted = qjit(jax.grad(qml.QNode(circuit, DEVICE)))(0.3, 2)
    np.testing.assert_allclose(qjit(jax.grad(qnode))(0.3, 2), wanted, atol=1e-8)


def test_rules_of_ones_own_and_costs():
    @qml.register_resources({qml.H: 2, qml.CZ: 1})
    def by_cz(wires, **_):
        qml.H(wires[1])
        qml.CZ(wires)
        qml.H(wires[1])

    def circuit():
        qml.CNOT([0, 1])
        return qml.state()

    qnode = qml.QNode(circuit, DEVICE)
    options = {"gate_set": {"H", "CZ", "RZ"}, "fixed_decomps": {qml.CNOT: by_cz}}
    fixed = qjit(passes.graph_decomposition(qnode, **options))
    fixed()
    assert gates(fixed) == {"Hadamard", "CZ"}
    dear = {"H": 1.0, "S": 1.0, "CZ": 100.0, "IsingXX": 1.0, "RX": 1.0, "RY": 1.0}
    cheap = qjit(passes.graph_decomposition(qnode, gate_set={**dear, "CNOT": 200.0}))
    cheap()
    assert gates(cheap) == {"CNOT"}


def test_work_wires():
    device = qml.device("lightning.qubit", wires=6)

    def circuit(x):
        for wire in range(3):
            qml.RY(x, wire)
        qml.MultiControlledX([0, 1, 2, 3])
        return qml.probs(wires=range(4))

    cliffords = {"H", "S", "T", "Adjoint(T)", "CNOT", "RY"}
    decorate = passes.graph_decomposition(gate_set=cliffords, num_work_wires=2)
    compiled = qjit(decorate(qml.QNode(circuit, device)))
    wanted = qjit(qml.QNode(circuit, device))(1.1)
    np.testing.assert_allclose(compiled(1.1), wanted, atol=1e-10)
    assert gates(compiled) <= {"Hadamard", "S", "T", "Adjoint(T)", "CNOT", "RY"}


@pytest.mark.parametrize("graph", [False, True])
def test_pennylanes_decompose_keeps_loops(graph):
    def circuit(x, n):
        @for_loop(0, n, 1)
        def loop(i):
            qml.CRY(x * i, [i, (i + 1) % 3])

        loop()
        return qml.state()

    if graph:
        qml.decomposition.enable_graph()
    try:
        decompose = qml.transforms.decompose(gate_set={"RY", "CNOT", "GlobalPhase"})
        compiled = qjit(decompose(qml.QNode(circuit, DEVICE)))
        found = compiled(0.3, 3)
    finally:
        qml.decomposition.disable_graph()
    np.testing.assert_allclose(found, qjit(qml.QNode(circuit, DEVICE))(0.3, 3), atol=1e-12)
    assert "for_loop" in str(compiled.jaxpr)
    assert gates(compiled) <= {"RY", "CNOT"}
