"""Gates as rotations about Pauli words, moved and joined: the same unitary, and fewer T gates."""

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, passes, qjit
from diastase.inspection.levels import levels_of
from diastase_mlir import UnsuitableCircuitError
from diastase_mlir.passes.circuits.pauli_products.paulis import Frame, Pauli
from diastase_runtime.gate_table import GATES

WIRES = 5


def rotations(compiled, *arguments):
    """Words and angles of the circuit, in order, those that are traced without an angle."""
    (level,) = levels_of(compiled, "user", arguments, {})
    (circuit,) = level.circuits
    return [
        (equation.params["name"][9:-1], getattr(equation.invars[1], "val", None))
        for equation in circuit.traced.jaxpr.jaxpr.eqns
        if equation.params.get("name", "").startswith("PauliRot[")
    ]


def t_gates(compiled, *arguments):
    eighths = [angle / (np.pi / 4) for _, angle in rotations(compiled, *arguments)]
    return sum(round(number) % 2 for number in eighths)


def compiled(function, *names, wires=WIRES):
    qnode = qml.QNode(function, qml.device("lightning.qubit", wires=wires))
    for name in names:
        qnode = passes.apply_pass(name)(qnode)
    return qjit(qnode)


def same_state(function, *names, arguments=(), wires=WIRES):
    found = compiled(function, *names, wires=wires)
    wanted = qml.QNode(function, qml.device("default.qubit", wires=wires))(*arguments)
    np.testing.assert_allclose(found(*arguments), wanted, atol=1e-9)
    return found


@pytest.mark.parametrize("controls", [0, 2])
def test_every_gate_of_the_table(controls):
    angles = np.random.default_rng(1).uniform(-3, 3, (len(GATES), 3))
    wires = WIRES + controls

    def circuit(angles):
        for wire in range(wires):
            qml.Rot(0.3 + wire, 0.7, 0.2 * wire, wire)
        for row, gate in enumerate(GATES.values()):
            base = gate.name.removeprefix("Adjoint(").removesuffix(")")
            on = np.roll(range(WIRES), row)[: gate.wires or 3]
            operator = getattr(qml, base)(*angles[row][: gate.parameters], wires=on.tolist())
            if base != gate.name:
                operator = qml.adjoint(operator)
            if controls:
                qml.ctrl(operator, [WIRES, WIRES + 1], control_values=[True, row % 2 == 0])
        return qml.state()

    found = same_state(circuit, "to_ppr", arguments=(angles,), wires=wires)
    (level,) = levels_of(found, "user", (angles,), {})
    names = {e.params.get("name") for e in level.circuits[0].traced.jaxpr.jaxpr.eqns}
    assert all(name is None or name.startswith("PauliRot[") for name in names - {"RZ"})


def test_in_loops_and_branches_with_traced_angles():
    def circuit(x, n):
        def body(i):
            qml.Hadamard(i % 3)
            qml.T(0)
            qml.CRX(x * i, [0, 1])
            cond(x > 0)(lambda: [qml.CNOT([1, 2]), qml.S(2), None][2])()

        for_loop(0, n, 1)(body)()
        qml.adjoint(for_loop(0, n, 1)(lambda i: [qml.ctrl(qml.RY, 2)(x, i % 2), None][1]))()
        return qml.state()

    for names in (["to_ppr"], ["to_ppr", "commute_ppr"], ["to_ppr", "reduce_t_depth"]):
        same_state(circuit, *names, arguments=(0.3, 4), wires=3)


@pytest.mark.parametrize("name", ["commute_ppr", "reduce_t_depth", "merge_ppr_ppm"])
def test_derivatives_are_those_of_the_circuit(name):
    def circuit(x):
        qml.Hadamard(0)
        qml.RX(x[0], 0)
        qml.S(0)
        qml.CNOT([0, 1])
        qml.RZ(x[1], 1)
        qml.CNOT([1, 2])
        qml.Hadamard(1)
        qml.RX(x[0] * x[1], 2)
        return qml.expval(qml.Z(1) @ qml.X(2))

    x, step = np.array([0.3, 0.7]), 1e-5
    found = qjit(jax.grad(compiled(circuit, "to_ppr", name, wires=3)))(x)
    reference = qml.QNode(circuit, qml.device("default.qubit", wires=3))
    for place, direction in enumerate(np.eye(2) * step):
        wanted = (reference(x + direction) - reference(x - direction)) / (2 * step)
        np.testing.assert_allclose(found[place], wanted, atol=1e-8)


def test_clifford_rotations_come_last():
    def circuit():
        qml.Hadamard(0)
        qml.T(0)
        qml.CNOT([0, 1])
        qml.T(1)
        return qml.state()

    found = rotations(same_state(circuit, "to_ppr", "commute_ppr", wires=2))
    assert [word for word, _ in found[:2]] == ["X", "XZ"]
    quarters = [angle / (np.pi / 2) for _, angle in found[2:]]
    np.testing.assert_allclose(quarters, np.round(quarters))


def test_words_no_longer_than_asked_for():
    def circuit():
        for wire in range(4):
            qml.CNOT([wire, wire + 1])
        qml.Hadamard(0)
        qml.T(4)
        qml.T(0)
        return qml.state()

    longest = {}
    for size in (0, 2):
        qnode = qml.QNode(circuit, qml.device("lightning.qubit", wires=WIRES))
        found = qjit(passes.commute_ppr(passes.to_ppr(qnode), max_pauli_size=size))
        reference = qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))()
        np.testing.assert_allclose(found(), reference, atol=1e-9)
        words = [word for word, angle in rotations(found) if abs(angle) < 1]
        longest[size] = max(map(len, words))
    assert longest == {0: 5, 2: 1}


def test_t_gates_that_meet_are_one():
    """Two T gates about equal words are an S gate, wherever they can meet."""

    def circuit():
        qml.T(0)
        qml.CNOT([0, 1])
        qml.T(1)
        qml.CNOT([0, 1])
        qml.T(0)
        qml.Hadamard(0)
        qml.T(0)
        qml.adjoint(qml.T(0))
        return qml.state()

    found = same_state(circuit, "to_ppr", "reduce_t_depth", wires=2)
    assert t_gates(compiled(circuit, "to_ppr", wires=2)) == 5
    assert t_gates(found) == 1


def test_two_toffolis_have_no_t_gates():
    def circuit():
        qml.Toffoli([0, 1, 2])
        qml.Toffoli([0, 1, 2])
        return qml.state()

    assert t_gates(compiled(circuit, "to_ppr", wires=3)) == 14
    assert t_gates(same_state(circuit, "to_ppr", "reduce_t_depth", wires=3)) == 0


def test_refused():
    def circuit(matrix):
        qml.QubitUnitary(matrix, 0)
        return qml.state()

    with pytest.raises(UnsuitableCircuitError, match="a gate given by a matrix"):
        compiled(circuit, "to_ppr")(np.eye(2))


def test_a_frame_is_the_rotations_that_were_passed():
    """C* Q C by matrices, for words of all letters and all quarter turns."""
    generator = np.random.default_rng(3)

    def matrix(word):
        sign = -1 if word.is_negative else 1
        letters = dict(word.letters())
        return sign * qml.pauli.PauliWord(letters).to_mat(wire_order=range(3))

    def drawn():
        letters = "".join(generator.choice(list("IXYZ"), 3))
        return Pauli.of(letters, (0, 1, 2))

    for _ in range(40):
        frame, whole = Frame(), np.eye(8)
        for _ in range(6):
            word, turns = drawn(), int(generator.integers(-3, 5))
            frame.pass_by(word, turns)
            angle = turns * np.pi / 4
            whole = (np.cos(angle) * np.eye(8) - 1j * np.sin(angle) * matrix(word)) @ whole
        word = drawn()
        image = whole.conj().T @ matrix(word) @ whole
        np.testing.assert_allclose(matrix(frame.image(word)), image, atol=1e-12)
