"""`f.qasm`, read by others: every gate as a matrix, programs by what they give."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import openqasm3
import pennylane as qml
import pytest

import diastase
from diastase import cond, for_loop, measure, qjit, while_loop
from diastase.inspection.circuit_texts.gates import STEPS
from diastase_runtime.gate_table import GATES, gate_of
from openqasm_reader import matrix_of, quantum_function, unread
from qir_reader import Module
from qir_reader import probabilities as probabilities_of


def device(wires):
    return qml.device("lightning.qubit", wires=wires)


def compiled(wires, **options):
    """Compile a quantum function for so many wires."""

    def decorate(function):
        return qjit(qml.QNode(function, device(wires), **options))

    return decorate


def text_of(function, *args):
    text = function.trace(*args).qasm
    openqasm3.parse(text)
    return text


def body_of(text):
    """The statements between the declarations and the measurements at the end."""
    lines = text.splitlines()
    kept = [
        line for line in lines if not re.match(r"OPENQASM|include|input|qubit|bit\[|c\[|//", line)
    ]
    return "\n".join(kept)


# --- gates ---------------------------------------------------------------------------------------

ROTATIONS = ["PauliRot[XYZ]", "PauliRot[Y]", "PauliRot[ZX]"]


def operator(name, angles, wires):
    """PennyLane's operator for a row of the gate table."""
    if name.startswith("PauliRot"):
        return qml.PauliRot(*angles, name[9:-1], wires=wires)
    if name.startswith("Adjoint"):
        return qml.adjoint(getattr(qml, name[8:-1]))(wires=wires)
    return getattr(qml, name)(*angles, wires=wires)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", [*GATES, *ROTATIONS])
def test_gate_is_its_matrix_controlled_too(name):
    gate = gate_of(name)
    assert gate is not None
    count = gate.wires or 3
    angles = [0.3, -1.1, 2.3][: gate.parameters]
    targets = [4, 0, 2, 1][:count]

    @compiled(5)
    def circuit(values):
        operator(name, list(values), targets)
        qml.ctrl(operator(name, list(values), targets), 3, control_values=[0])
        return qml.probs(wires=[0])

    def expected():
        operator(name, angles, targets)
        qml.ctrl(operator(name, angles, targets), 3, control_values=[0])

    text = text_of(circuit, jnp.asarray(angles))
    found = matrix_of(text, 5, **({"values": angles} if angles else {}))
    np.testing.assert_allclose(found, qml.matrix(expected, wire_order=range(5))(), atol=1e-12)


def test_every_gate_of_the_table_has_steps_or_is_a_rotation():
    assert set(GATES) - set(STEPS) == {"MultiRZ", "IsingXX", "IsingYY", "IsingZZ"}


def _unitary(seed):
    matrix = np.random.default_rng(seed).normal(size=(2, 2, 2)) @ [1, 1j]
    return np.linalg.qr(matrix)[0]


@pytest.mark.parametrize(
    "matrix", [_unitary(1), _unitary(2), np.array([[0, 1j], [-1, 0]]), np.diag([1j, -1])]
)
def test_matrices_on_one_wire_and_diagonals(matrix):
    diagonal = np.exp(1j * np.array([0.1, 0.2, 0.3, 0.0]))

    def operations():
        qml.QubitUnitary(matrix, wires=0)
        qml.ctrl(qml.QubitUnitary(matrix, wires=1), 2)
        qml.DiagonalQubitUnitary(diagonal, wires=[2, 0])

    @compiled(3)
    def circuit():
        operations()
        return qml.probs(wires=[0])

    expected = qml.matrix(operations, wire_order=range(3))()
    np.testing.assert_allclose(matrix_of(text_of(circuit), 3), expected, atol=1e-12)


# --- programs ------------------------------------------------------------------------------------


def probabilities(text, wires, **inputs):
    """Of all wires, on default.qubit, by PennyLane's reader."""
    assert unread(text) is None
    run = quantum_function(text, **inputs)

    @qml.qnode(qml.device("default.qubit"))
    def circuit():
        run()
        return qml.probs(wires=[f"q[{wire}]" for wire in range(wires)])

    return np.asarray(circuit())


def test_arguments_are_inputs_and_their_arithmetic_is_in_the_text():
    @compiled(2)
    def circuit(x, params):
        qml.RX(2 * x + params["w"][1] ** 2, wires=0)
        qml.RY(jnp.sin(x) / 3 - jnp.pi, wires=1)
        return qml.probs()

    text = text_of(circuit, 0.3, {"w": jnp.array([0.5, 0.7])})
    assert text == (
        'OPENQASM 3.0;\ninclude "stdgates.inc";\n'
        "input float[64] x_;\ninput array[float[64], 2] params_w;\nqubit[2] q;\nbit[2] c;\n"
        "rx(2.0 * x_ + params_w[1] ** 2) q[0];\n"
        "ry(sin(x_) / 3.0 - 3.141592653589793) q[1];\n"
        "c[0] = measure q[0];\nc[1] = measure q[1];\n"
        "// probs of c[0], c[1]\n"
    )
    found = probabilities(text, 2, x_=0.3, params_w=np.array([0.5, 0.7]))
    np.testing.assert_allclose(found, circuit(0.3, {"w": jnp.array([0.5, 0.7])}), atol=1e-10)


def test_loops_keep_the_bounds_that_the_user_gave():
    @compiled(4)
    def circuit(x, n):
        @for_loop(0, n, 1)
        def layer(i):
            qml.RX(x * (i + 1), wires=i)
            qml.CNOT([i, (i + 1) % 4])

        layer()

        @for_loop(3, -1, -2)
        def back(i):
            qml.RY(0.1 * i, wires=i)

        back()
        return qml.probs()

    text = text_of(circuit, 0.3, 3)
    assert "for int i in [0:n - 1] {\n  rx(x_ * (i + 1)) q[i];\n  cx q[i], q[(i + 1) % 4];" in text
    assert "for int i in [3:-2:1] {" in text
    for n in (0, 3):
        found = probabilities(text, 4, x_=0.3, n=n)
        np.testing.assert_allclose(found, circuit(0.3, n), atol=1e-10)


def test_what_a_loop_carries_is_assigned_all_at_once():
    @compiled(1)
    def circuit(x, n):
        @for_loop(0, n, 1)
        def fibonacci(i, one, other):
            qml.RX(one, wires=0)
            return other, one + other

        fibonacci(x, 2 * x)

        @while_loop(lambda y: y < 1)
        def grown(y):
            qml.RY(y, wires=0)
            return 1.5 * y

        grown(x)
        return qml.probs()

    text = text_of(circuit, 0.1, 4)
    assert "while (v" in text
    np.testing.assert_allclose(probabilities(text, 1, x_=0.1, n=4), circuit(0.1, 4), atol=1e-10)


def test_outcomes_decide_by_if():
    def circuit(x):
        qml.RX(x, wires=0)
        first = measure(0, reset=True)
        qml.Hadamard(2)
        second = measure(2)

        @cond(first)
        def flipped():
            qml.RY(x, wires=1)

        @flipped.otherwise
        def turned():
            qml.RX(x, wires=1)

        flipped()
        cond(jnp.logical_not(first) & second)(lambda: qml.Z(1))()
        cond(1 * first + second == 1)(lambda: qml.SX(1))()
        qml.RZ(0.3 * second, wires=1)
        return qml.probs(wires=[0, 1, 2])

    text = text_of(compiled(3)(circuit), 0.7)
    assert body_of(text).startswith(
        "rx(x_) q[0];\nbit m0 = measure q[0];\nreset q[0];\nh q[2];\nbit m1 = measure q[2];\n"
        "if (m0) {\n  ry(x_) q[1];\n}\nelse {\n  rx(x_) q[1];\n}\n"
        "if ((m0 == 0) & m1) {\n  z q[1];\n}\n"
    )
    exact = compiled(3, mcm_method="deferred")(circuit)(0.7)
    np.testing.assert_allclose(probabilities(text, 3, x_=0.7), exact, atol=1e-10)


def test_a_value_that_a_branch_gives_is_a_variable():
    @compiled(1)
    def circuit(x, n):
        angle = cond(x > 0.2)(lambda: 2 * x)
        angle.otherwise(lambda: x - 1)
        qml.RX(angle(), wires=0)
        qml.RY(jnp.where(n == 2, 0.3, 0.4), wires=0)
        qml.RZ(jax.lax.switch(n, [lambda y: y, lambda y: 3 * y, lambda y: y * y], x), wires=0)
        qml.RX(0.2, wires=0)
        return qml.probs()

    text = text_of(circuit, 0.1, 2)
    for x in (0.1, 0.5):
        for n in (0, 1, 2):
            found = probabilities(text, 1, x_=x, n=n)
            np.testing.assert_allclose(found, circuit(x, n), atol=1e-10)


def test_observables_are_measured_in_the_basis_of_their_words():
    @compiled(3)
    def circuit():
        qml.Hadamard(0)
        return qml.expval(0.5 * qml.X(0) @ qml.Y(2) - 2 * qml.Z(1)), qml.var(qml.X(0))

    assert text_of(circuit).splitlines()[3:] == [
        "bit[3] c;", "h q[0];", "h q[0];", "sdg q[2];", "h q[2];",
        "c[0] = measure q[0];", "c[1] = measure q[1];", "c[2] = measure q[2];",
        "// expval of 0.5 X[0] Y[2] + -2.0 Z[1]", "// var of 1.0 X[0]",
    ]  # fmt: skip


def test_shots_of_a_qnode_are_one_shot_of_the_text():
    @qjit(seed=1)
    @qml.set_shots(100)
    @qml.qnode(device(2))
    def circuit(x: float):
        qml.RX(x, wires=0)
        cond(measure(0))(lambda: qml.CNOT([0, 1]))()
        return qml.counts()

    assert body_of(circuit.qasm) == (
        "rx(x_) q[0];\nbit m0 = measure q[0];\nif (m0) {\n  cx q[0], q[1];\n}"
    )
    assert circuit.qasm.count("= measure q[1];") == 1


def test_the_basis_of_shots_is_in_a_comment():
    matrix = np.array([[1, 2], [2, 1]])

    def comment(*measured):
        circuit = qml.set_shots(qml.QNode(lambda: [one() for one in measured], device(3)), 10)
        return text_of(qjit(circuit)).splitlines()[-1]

    def product():
        return qml.expval(qml.X(0) @ qml.Y(2))

    assert comment(product, lambda: qml.sample(qml.Z(1))) == "// shots of X[0] Y[2] Z[1]"
    assert comment(qml.sample) == "// shots of c[0], c[1], c[2]"
    assert comment(lambda: qml.sample(qml.Hermitian(matrix, 1))) == "// shots of c[1]"


def test_branches_in_branches_are_read_once():
    """Reading them twice at each level would take for ever."""

    def below(depth):
        if depth == 0:
            return 0.1
        qml.Hadamard(0)
        outcome = cond(measure(0))(lambda: 1.5 * below(depth - 1))
        outcome.otherwise(lambda: 0.2)
        return outcome()

    def circuit(depth):
        qml.RX(below(depth), wires=0)
        return qml.probs()

    text = text_of(qjit(qml.QNode(lambda: circuit(40), device(1))))
    assert text.count("measure q[0];") == 41
    found = Module(qjit(qml.QNode(lambda: circuit(3), device(1))).qir).outcomes()
    wanted = compiled(1, mcm_method="tree-traversal")(lambda: circuit(3))()
    np.testing.assert_allclose(probabilities_of(found, "0_probs"), wanted, atol=1e-12)


@pytest.mark.parametrize("method", ["deferred", "tree-traversal"])
def test_averages_over_outcomes_are_of_the_same_circuit(method):
    def circuit(x):
        qml.RX(x[0, 1], wires=0)
        cond(measure(0))(lambda: qml.RX(x[1, 0], wires=1))()
        return qml.probs(wires=[1])

    x = jnp.array([[0.1, 0.2], [0.3, 0.4]])
    text = text_of(compiled(2, mcm_method=method)(circuit), x)
    assert body_of(text) == (
        "rx(x_[0, 1]) q[0];\nbit m0 = measure q[0];\nif (m0) {\n  rx(x_[1, 0]) q[1];\n}"
    )


def test_a_result_of_an_earlier_state_is_an_error():
    @compiled(1)
    def circuit(x):
        qml.Snapshot(measurement=qml.probs())
        qml.RX(x, wires=0)
        return measure(0)

    traced = circuit.trace(0.3)
    with pytest.raises(NotImplementedError, match="results that are of an earlier state"):
        traced.qasm  # noqa: B018


def test_passes_have_been_applied():
    @qjit
    @diastase.passes.cancel_inverses
    @qml.qnode(device(1))
    def circuit():
        qml.X(0)
        qml.X(0)
        qml.Hadamard(0)
        return qml.probs()

    assert body_of(text_of(circuit)) == "h q[0];"


def test_every_stage_has_it():
    @compiled(1)
    def circuit(x: float):
        qml.RX(x, wires=0)
        return qml.probs()

    traced = circuit.trace(0.3)
    assert circuit.qasm == traced.qasm == traced.lower().qasm == traced.lower().compile().qasm


def test_pennylane_reads_openqasm_where_diastase_is_imported_first():
    """It asks which compilers are active while it is imported, with `openqasm3` installed."""
    with qml.queuing.AnnotatedQueue() as queue:
        qml.from_qasm3("qubit q0; rx(0.3) q0;")()
    assert [str(operator) for operator in queue.queue] == [str(qml.RX(0.3, "q0"))]


def test_pennylane_leaves_out_the_end_of_a_range():
    """Unlike the specification; `openqasm_reader` says it otherwise while this holds."""
    with qml.queuing.AnnotatedQueue() as queue:
        qml.from_qasm3("qubit q0; for int i in [0:2] { x q0; }")()
    assert len(queue.queue) == 2
