"""Long circuits written out: one operation for many gates, with the results of single ones."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, adjoint, ctrl, for_loop, passes, qjit
from diastase_mlir.gate_runs import LEAST, MOST

WIRES = 5
KINDS = [
    ("RX", 1, 1), ("RY", 1, 1), ("RZ", 1, 1), ("Rot", 1, 3), ("U2", 1, 2), ("Hadamard", 1, 0),
    ("T", 1, 0), ("CNOT", 2, 0), ("CRZ", 2, 1), ("CRot", 2, 3), ("SWAP", 2, 0), ("PSWAP", 2, 1),
    ("IsingXY", 2, 1), ("DoubleExcitation", 4, 1), ("OrbitalRotation", 4, 1), ("MultiRZ", 3, 1),
    ("PauliX", 1, 0), ("CSWAP", 3, 0), ("ISWAP", 2, 0),
]  # fmt: skip


def mixed(x, count, seed=0):
    """Gates of all kinds; their parameters are constants, `x`, or computed from `x`."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        name, width, parameters = KINDS[random.integers(len(KINDS))]
        wires = [int(wire) for wire in random.permutation(WIRES)]
        angle = float(random.normal())
        choices = [angle, x, x * angle]
        angles = [choices[random.integers(3)] for _ in range(parameters)]
        gate = getattr(qml, name)(*angles, wires=wires[:width])
        if random.random() < 0.2:
            qml.ctrl(gate, control=wires[width:], control_values=[0] * (WIRES - width))


def both(circuit, *arguments):
    """Results of a quantum function, compiled and by PennyLane."""
    compiled = qjit(qml.QNode(circuit, qml.device("lightning.qubit", wires=WIRES)))(*arguments)
    return compiled, qml.QNode(circuit, qml.device("default.qubit", wires=WIRES))(*arguments)


@pytest.mark.parametrize("count", [LEAST - 1, LEAST, LEAST + 1, 1000])
def test_mixed_gates_give_what_pennylane_gives(count):
    def circuit(x):
        mixed(x, count)
        return qml.state()

    np.testing.assert_allclose(*both(circuit, 0.37), atol=1e-12)


def test_runs_in_loops_in_adjoints_and_under_controls():
    def block(x):
        mixed(x, 2 * LEAST, seed=1)

    def controlled(x):
        for number in range(LEAST):
            qml.RX(x * number, wires=1 + number % (WIRES - 1))

    def circuit(x, loop, undo, control):
        @loop
        def body(k, y):
            block(y)
            return y + 0.1 * k

        y = body(x)
        undo(block)(y)
        control(controlled, control=0)(x)
        return qml.probs(wires=range(WIRES))

    def in_python(function):
        def run(y):
            for k in range(3):
                y = function(k, y)
            return y

        return run

    ours = qml.QNode(
        lambda x: circuit(x, for_loop(0, 3, 1), adjoint, ctrl),
        qml.device("lightning.qubit", wires=WIRES),
    )
    plain = qml.QNode(
        lambda x: circuit(x, in_python, qml.adjoint, qml.ctrl),
        qml.device("default.qubit", wires=WIRES),
    )
    np.testing.assert_allclose(qjit(ours)(0.37), plain(0.37), atol=1e-12)


def test_wires_known_at_run_time_only_split_a_run():
    def circuit(x, wire):
        mixed(x, 2 * LEAST, seed=2)
        qml.RX(x, wires=wire)
        mixed(x, 2 * LEAST, seed=3)
        return qml.state()

    np.testing.assert_allclose(*both(circuit, 0.37, 2), atol=1e-12)


@pytest.mark.parametrize("angle", [np.inf, -0.0, 1e-310, 0.1 + 0.2, 1e22, -5])
def test_constants_are_written_and_read_exactly(angle):
    def circuit(x):
        for wire in range(LEAST):
            qml.RX(angle, wires=wire % WIRES)
        return qml.expval(qml.PauliY(0))

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def singly(x, angle):
        @for_loop(0, LEAST, 1)
        def body(k):
            qml.RX(angle, wires=k % WIRES)

        body()
        return qml.expval(qml.PauliY(0))

    ours = qjit(qml.QNode(circuit, qml.device("lightning.qubit", wires=WIRES)))(0.0)
    np.testing.assert_array_equal(ours, singly(0.0, float(angle)))


@pytest.mark.thorough
def test_more_parameters_than_one_run_takes():
    def circuit(x):
        for number in range(MOST + 10):
            qml.RY(x[number % 7] if number % 1000 else 2 * x[0], wires=number % WIRES)
        return qml.probs(wires=range(WIRES))

    np.testing.assert_allclose(*both(circuit, jnp.arange(7) / 7), atol=1e-10)


def test_a_gate_that_fails_inside_of_a_run_is_named():
    @qjit
    def program(n):
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            for _ in range(LEAST):
                qml.Hadamard(0)
            qml.CNOT([1, 3])  # this one
            for _ in range(LEAST):
                qml.PauliX(4)
            return qml.expval(qml.Z(0))

        return circuit()

    with pytest.raises(DiastaseError) as raised:
        program(3)
    error = raised.value
    assert error.span is not None
    with open(__file__) as source:
        assert "# this one" in source.readlines()[error.span.line - 1]
    assert "CNOT" in str(error)
    assert "3" in str(error)
    np.testing.assert_allclose(program(5), 1.0, atol=1e-12)


# --- structure -----------------------------------------------------------------------------------


def long_circuit(count):
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def circuit(x):
        for number in range(count // 4):
            qml.RX(x, wires=number % WIRES)
            qml.RY(0.01 * number, wires=(number + 1) % WIRES)
            qml.RZ(0.5, wires=(number + 2) % WIRES)
            qml.CNOT([number % WIRES, (number + 3) % WIRES])
        return qml.expval(qml.Z(0))

    return circuit


def operations(text):
    """How many operations each line of a module has, in all."""
    return len(re.findall(r"^ +(?:%|\"|[a-z]+\.)", text, re.MULTILINE))


def test_a_module_does_not_grow_with_the_number_of_gates():
    short, long = (qjit(long_circuit(count)).lower(0.3) for count in (100, 2000))
    assert operations(short.as_text()) == operations(long.as_text())
    assert short.as_text().count("quantum.run") == long.as_text().count("quantum.run") == 1
    assert operations(short.as_text("llvm_dialect")) == operations(long.as_text("llvm_dialect"))


def test_gates_of_a_run_can_be_read():
    text = qjit(long_circuit(100)).lower(0.3).as_text()
    gates = [line.partition(" {site")[0].strip() for line in text.splitlines()]
    start = gates.index("RX 0 : %0")
    assert gates[start : start + 4] == ["RX 0 : %0", "RY 1 : 0.0", "RZ 2 : 0.5", "CNOT 0 3"]
    assert "quantum.gate" not in text


def test_few_gates_stay_operations_of_their_own():
    text = qjit(long_circuit(LEAST - 4)).lower(0.3).as_text()
    assert text.count("quantum.gate") == LEAST - 4
    assert "quantum.run" not in text


def test_circuits_with_passes_print_as_the_others_do():
    plain = long_circuit(100)
    circuit = passes.merge_rotations(plain)  # that finds nothing to merge here
    texts = (qjit(function).lower(0.3).as_text() for function in (circuit, plain))
    form, expected = (re.sub(r" \{site[^}]*\}", "", text) for text in texts)
    assert form == expected
    assert form.count("quantum.run") == 1
    np.testing.assert_allclose(qjit(circuit)(0.3), qjit(plain)(0.3), atol=1e-12)


def test_equal_parameters_are_one_operand():
    @qml.qnode(qml.device("lightning.qubit", wires=1))
    def circuit(x, y):
        for _ in range(LEAST):
            qml.RX(x, wires=0)
            qml.RY(y, wires=0)
        return qml.expval(qml.Z(0))

    run = re.search(r"quantum\.run.*", qjit(circuit).lower(0.1, 0.2).as_text(generic=True))
    assert run is not None
    assert run[0].endswith(": (!quantum.register, tensor<f64>, tensor<f64>) -> !quantum.register")


def test_every_gate_is_an_equation_of_its_own_in_the_jaxpr():
    lowered = qjit(long_circuit(100)).lower(0.3)
    (qnode,) = [e for e in lowered.traced.program.jaxpr.eqns if e.primitive.name == "qnode"]
    gates = [e for e in qnode.params["jaxpr"].eqns if e.primitive.name == "gate"]
    assert len(gates) == 100
    assert jax.tree_util.tree_leaves(lowered.out_info)
