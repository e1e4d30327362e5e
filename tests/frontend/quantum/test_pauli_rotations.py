"""Rotations about Pauli words as gates, against default.qubit."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diastase
from diastase import adjoint, ctrl, for_loop, grad, jvp, qjit

WIRES = 6
DEVICE = qml.device("default.qubit", wires=WIRES)
WORDS = st.text("XYZI", min_size=1, max_size=WIRES)


def start():
    for wire in range(WIRES):
        qml.RY(0.3 + 0.4 * wire, wire)
        qml.RZ(0.2 * wire, wire)


def apply(kind, angle, word, wires, control):
    if kind == "adjoint":
        qml.adjoint(qml.PauliRot(angle, word, wires=wires))
    elif kind == "ctrl" and len(word) < WIRES:
        qml.ctrl(qml.PauliRot(angle, word, wires=wires), control, control_values=[False])
    else:
        qml.PauliRot(angle, word, wires=wires)


CASES = st.lists(
    st.tuples(
        st.sampled_from(["", "adjoint", "ctrl"]),
        st.floats(-4, 4),
        WORDS,
        st.permutations(range(WIRES)),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(CASES)
def test_random_words(cases):
    def circuit():
        start()
        for kind, angle, word, order in cases:
            apply(kind, angle, word, order[: len(word)], order[-1])
        return qml.state()

    found = qjit(qml.QNode(circuit, DEVICE))()
    np.testing.assert_allclose(found, qml.QNode(circuit, DEVICE)(), atol=1e-12)


def test_it_is_one_gate():
    @qjit
    @qml.qnode(DEVICE)
    def circuit(x, wire):
        qml.PauliRot(x, "XIYZ", wires=[wire, 1, 2, 3])
        qml.PauliRot(x, "II", wires=[0, 1])
        return qml.probs()

    circuit(0.4, 0)
    assert "PauliRot[XYZ]" in str(circuit.jaxpr)
    assert str(circuit.jaxpr).count("gate[") == 1
    assert circuit.mlir.count('quantum.gate "PauliRot[XYZ]"') == 1


def varied(x, wire):
    """Words in a loop, undone and controlled, on a traced wire."""
    start()

    def body(k):
        qml.PauliRot(x * (k + 1), "XZYX", wires=[wire, (wire + k + 1) % 5, 5, (wire + 4) % 5])

    for_loop(0, 3, 1)(body)()
    adjoint(lambda: for_loop(0, 2, 1)(lambda k: qml.PauliRot(x * k, "YYXZZ", [0, 1, 2, 3, 4]))())()
    ctrl(lambda: qml.PauliRot(x, "XYX", [0, 3, 4]), control=[1, 2])()
    qml.MultiRZ(x, [0, 2, 4])
    return qml.expval(qml.Z(0) @ qml.X(1) + qml.Y(2) @ qml.Z(4))


def reference(x, wire):
    start()
    for k in range(3):
        qml.PauliRot(x * (k + 1), "XZYX", wires=[wire, (wire + k + 1) % 5, 5, (wire + 4) % 5])
    for k in reversed(range(2)):
        qml.PauliRot(-x * k, "YYXZZ", [0, 1, 2, 3, 4])
    qml.ctrl(qml.PauliRot(x, "XYX", [0, 3, 4]), control=[1, 2])
    qml.MultiRZ(x, [0, 2, 4])
    return qml.expval(qml.Z(0) @ qml.X(1) + qml.Y(2) @ qml.Z(4))


X, STEP = 0.37, 1e-5


@pytest.fixture(scope="module")
def slope():
    node = qml.QNode(reference, DEVICE)
    return (node(X + STEP, 0) - node(X - STEP, 0)) / (2 * STEP)


@pytest.mark.parametrize("method", ["adjoint", "backprop", "parameter-shift"])
def test_gradients(method, slope):
    node = qml.QNode(varied, DEVICE, diff_method=method)
    np.testing.assert_allclose(qjit(grad(node))(X, 0), slope, atol=1e-8)


def test_forward_derivative_and_hadamard_test(slope):
    node = qml.QNode(varied, DEVICE, diff_method="backprop")
    value, change = qjit(lambda x: jvp(lambda x: node(x, 0), (x,), (1.0,)))(X)
    np.testing.assert_allclose(change, slope, atol=1e-8)
    np.testing.assert_allclose(value, qml.QNode(reference, DEVICE)(X, 0), atol=1e-12)


def test_vmap_and_single_precision():
    node = qml.QNode(varied, DEVICE)
    single = qml.QNode(varied, qml.device("lightning.qubit", wires=WIRES, c_dtype=np.complex64))
    plain = qml.QNode(reference, DEVICE)
    angles = jnp.array([0.1, X])
    expected = [plain(float(angle), 0) for angle in angles]
    np.testing.assert_allclose(qjit(jax.vmap(lambda x: node(x, 0)))(angles), expected, atol=1e-12)
    np.testing.assert_allclose(qjit(single)(X, 0), expected[1], atol=1e-5)


@pytest.mark.parametrize("method", ["parameter-shift", "hadamard"])
def test_words_too_long_for_a_matrix(method):
    """Twelve letters: neither rule may make a matrix of them."""
    wires = 13 if method == "hadamard" else 12

    @qml.qnode(qml.device("default.qubit", wires=wires), diff_method=method)
    def circuit(x):
        qml.Hadamard(0)
        qml.PauliRot(x, "YXZXYZXYZXYZ", wires=range(12))
        qml.MultiRZ(x, range(12))
        return qml.expval(qml.Y(0))

    program = qjit(circuit)
    wanted = [float(program(x)) for x in (X + STEP, X - STEP)]
    found = qjit(grad(circuit))(X)
    np.testing.assert_allclose(found, (wanted[0] - wanted[1]) / (2 * STEP), atol=1e-8)


def test_shots_have_the_same_distribution():
    @qml.qnode(DEVICE)
    def exact():
        start()
        qml.PauliRot(0.9, "XYZYX", wires=[4, 2, 0, 1, 5])
        return qml.probs(wires=[4, 0])

    @qjit(seed=3)
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES), shots=20000)
    def sampled():
        start()
        qml.PauliRot(0.9, "XYZYX", wires=[4, 2, 0, 1, 5])
        return qml.probs(wires=[4, 0])

    np.testing.assert_allclose(sampled(), exact(), atol=0.02)


def test_passes_know_words():
    """The same word on its wires in another order is the same rotation."""

    @qjit
    @diastase.passes.merge_rotations
    @qml.qnode(DEVICE)
    def merged(x):
        start()
        qml.PauliRot(x, "XYZ", wires=[0, 1, 2])
        qml.PauliRot(2 * x, "ZXY", wires=[2, 0, 1])
        return qml.state()

    @qjit
    @diastase.passes.cancel_inverses
    @qml.qnode(DEVICE)
    def cancelled(x):
        start()
        qml.PauliRot(x, "XYZ", wires=[0, 1, 2])
        qml.PauliRot(-x, "ZXY", wires=[2, 0, 1])
        qml.PauliRot(x, "XYZ", wires=[0, 2, 1])
        qml.PauliRot(-x, "XYZ", wires=[0, 1, 2])
        return qml.state()

    def plain(*words):
        @qml.qnode(DEVICE)
        def circuit():
            start()
            for angle, word, wires in words:
                qml.PauliRot(angle, word, wires=wires)
            return qml.state()

        return circuit()

    np.testing.assert_allclose(merged(X), plain((3 * X, "XYZ", [0, 1, 2])), atol=1e-12)
    left = plain((X, "XYZ", [0, 2, 1]), (-X, "XYZ", [0, 1, 2]))
    np.testing.assert_allclose(cancelled(X), left, atol=1e-12)
    assert str(merged.jaxpr).count("PauliRot") == 1
    assert str(cancelled.jaxpr).count("PauliRot") == 2
