"""Gates that undo each other go; gates that only look like it stay."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import for_loop, passes, qjit


def ready():
    """A state on which nothing is an eigenvector by accident."""
    for wire in range(3):
        qml.RY(0.3 + 0.4 * wire, wire)
        qml.RX(0.7 - 0.2 * wire, wire)


READY = ["RY", "RX"] * 3

LARGE = qml.matrix(qml.QFT(range(4)))
PAIRS = {
    "self-inverse": lambda x: (qml.H(0), qml.H(0)),
    "a nest": lambda x: (qml.H(0), qml.X(0), qml.Y(0), qml.Y(0), qml.X(0), qml.H(0)),
    "adjoint by name": lambda x: (qml.S(0), qml.adjoint(qml.S(0)), qml.adjoint(qml.T(1)), qml.T(1)),
    "symmetric": lambda x: (qml.CZ([0, 1]), qml.CZ([1, 0]), qml.SWAP([2, 0]), qml.SWAP([0, 2])),
    "two forms": lambda x: (qml.CNOT([0, 1]), qml.ctrl(qml.X(1), 0)),
    "controls in any order": lambda x: (qml.Toffoli([0, 1, 2]), qml.Toffoli([1, 0, 2])),
    "control values": lambda x: [
        qml.ctrl(qml.Y(0), [1, 2], control_values=[0, 1]),
        qml.ctrl(qml.Y(0), [2, 1], control_values=[1, 0]),
    ],
    "opposite numbers": lambda x: (qml.RX(0.4, 0), qml.RX(-0.4, 0)),
    "opposite angles": lambda x: (qml.CRY(x, [0, 1]), qml.adjoint(qml.CRY(x, [0, 1]))),
    "general rotations": lambda x: (qml.Rot(x, 0.2, 0.3, 1), qml.Rot(-0.3, -0.2, -x, 1)),
    "phases": lambda x: (qml.ControlledPhaseShift(x, [0, 1]), qml.CPhase(-x, [1, 0])),
    "matrices": lambda x: [
        qml.QubitUnitary(qml.matrix(qml.Rot(0.1, 0.2, 0.3, 0)), 0),
        qml.QubitUnitary(qml.matrix(qml.Rot(0.1, 0.2, 0.3, 0)).conj().T, 0),
    ],
    "larger matrices": lambda x: [
        qml.ctrl(qml.QubitUnitary(LARGE, range(4)), 4),
        qml.ctrl(qml.QubitUnitary(LARGE.conj().T, range(4)), 4),
        qml.QubitUnitary(np.eye(4), [0, 1]),
        qml.QubitUnitary(np.eye(4), [0, 1]),
    ],
    "other wires in between": lambda x: (qml.H(0), qml.RX(x, 1), qml.CNOT([1, 2]), qml.H(0)),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("case", PAIRS)
def test_pairs_go(left_by, case):
    def circuit(x):
        ready()
        PAIRS[case](x)
        return qml.state()

    left = left_by("cancel_inverses", circuit, jnp.asarray(0.8), wires=5)
    between = ["RX", "CNOT"] if case == "other wires in between" else []
    assert left == READY + between


OTHERS = {
    "not inverse": lambda x: (qml.S(0), qml.S(0)),
    "exchanged": lambda x: (qml.CNOT([0, 1]), qml.CNOT([1, 0])),
    "one wire shared": lambda x: (qml.CNOT([0, 1]), qml.CNOT([0, 2])),
    "something in between": lambda x: (qml.CNOT([0, 1]), qml.RX(x, 1), qml.CNOT([0, 1])),
    "other control value": lambda x: (qml.CNOT([0, 1]), qml.ctrl(qml.X(1), 0, control_values=0)),
    "other angle": lambda x: (qml.RX(x, 0), qml.RX(-2 * x, 0)),
    "same angle": lambda x: (qml.RX(x, 0), qml.RX(x, 0)),
    "not unitary": lambda x: (qml.QubitUnitary(np.eye(2) * 2, 0), qml.QubitUnitary(np.eye(2), 0)),
    "ordered targets": lambda x: [
        qml.SingleExcitation(0.4, [0, 1]), qml.SingleExcitation(-0.4, [1, 0]),
    ],
    "rotation order": lambda x: (qml.Rot(x, 0.2, 0.3, 1), qml.Rot(-x, -0.2, -0.3, 1)),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_others_stay(left_by, case):
    def circuit(x):
        ready()
        OTHERS[case](x)
        return qml.state()

    left = left_by("cancel_inverses", circuit, jnp.asarray(0.8))
    assert len(left) == 6 + (3 if case == "something in between" else 2)


def test_a_loop_that_touches_other_wires_is_no_obstacle(left_by, when):
    def circuit(x):
        ready()
        qml.H(0)

        @for_loop(0, 3, 1)
        def loop(i):
            qml.RX(x, 1)
            qml.T(2)
            qml.adjoint(qml.T(2))

        loop()
        qml.H(0)
        qml.Y(1)
        when(x > 0, lambda: qml.Z(0), lambda: qml.X(1))
        qml.Y(1)
        return qml.state()

    left = left_by("cancel_inverses", circuit, jnp.asarray(0.8))
    assert left == [*READY, "RX", "PauliY", "PauliZ", "PauliX", "PauliY"]


@pytest.mark.parametrize("wires", [(0, 1), (1, 1), (2, 0)])
def test_wires_known_at_run_time_only(left_by, wires):
    """What is on the same value meets; any two values may be the same wire."""

    def circuit(v, w):
        ready()
        qml.H(v), qml.H(v)
        qml.X(v), qml.Z(w), qml.X(v)
        qml.S(0), qml.T(w), qml.adjoint(qml.S(0))
        return qml.state()

    left = left_by("cancel_inverses", circuit, *wires)
    known = ["check_wires", "PauliX", "PauliZ", "PauliX", "S", "T", "Adjoint(S)"]
    assert left == READY + known


def test_wires_that_an_operation_tells_apart(left_by):
    def circuit(v, w):
        ready()
        qml.CNOT([v, w])
        qml.H(v), qml.T(w), qml.H(v)
        qml.CZ([w, v]), qml.CZ([v, w])
        return qml.state()

    assert left_by("cancel_inverses", circuit, 2, 0) == [*READY, "CNOT", "T"]


def test_opposite_numbers_are_found_in_arrays_and_other_precisions(left_by):
    def circuit(x, y):
        opposite = -x
        qml.RX(opposite[1], 0), qml.RX(x[1], 0)
        qml.RX(x[0], 0), qml.RX(opposite[0], 0), qml.RX(opposite[0], 0), qml.RX(x[0], 0)
        qml.RZ(y, 1), qml.RZ(-y, 1)
        qml.RY(x[0], 0), qml.RY(opposite[1], 0)
        return qml.state()

    assert left_by("cancel_inverses", circuit, jnp.array([0.8, 0.3]), np.float32(0.4)) == ["RY"] * 2


ARGUMENTS = {
    "opposite": (lambda x: (x, -x), 0),
    "twice opposite": (lambda x: (jnp.negative(-x), -x), 0),
    "equal": (lambda x: (x, x), 2),
    "something else": (lambda x: (jnp.sin(x), -x), 2),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_opposite_numbers_are_found_around_the_circuit(case):
    def circuit(x, y):
        qml.H(0), qml.RZ(x, 0), qml.RZ(y, 0)
        return qml.expval(qml.X(0))

    arguments, left = ARGUMENTS[case]
    qnode = passes.cancel_inverses(qml.QNode(circuit, qml.device("lightning.qubit", wires=1)))
    program, wanted = lambda x: qnode(*arguments(x)), lambda x: jnp.cos(sum(arguments(x)))
    compiled = qjit(program)
    np.testing.assert_allclose(compiled(0.3), wanted(0.3), atol=1e-12)
    assert str(compiled.jaxpr).count("name=RZ") == left
    gradient = qjit(jax.grad(program))(0.3)
    np.testing.assert_allclose(gradient, jax.grad(wanted)(0.3), atol=1e-12)


def test_a_value_without_a_gradient_is_not_its_equal():
    def circuit(x, y):
        qml.H(0), qml.RZ(x, 0), qml.RZ(y, 0), qml.RZ(-jax.lax.stop_gradient(x), 0)
        return qml.expval(qml.X(0))

    qnode = passes.cancel_inverses(qml.QNode(circuit, qml.device("lightning.qubit", wires=1)))
    gradient = qjit(jax.grad(lambda x: qnode(x, -jax.lax.stop_gradient(0.5 * x))))(0.3)
    np.testing.assert_allclose(gradient, np.sin(0.15), atol=1e-12)
