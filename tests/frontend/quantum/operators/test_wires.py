"""Labels of wires, devices without wires, and wires that are allocated."""

import itertools

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, qjit
from diastase.capture.quantum_errors import (
    AllocationError,
    UnknownWireError,
    UnknownWiresError,
    WireTypeError,
)
from diastase_runtime.errors import OverlappingWiresError, WireOutOfRangeError
from frontend.quantum.operators.examples import amplitudes


def _prepare(labels):
    for number, label in enumerate(labels):
        qml.RY(0.3 + number, label)
    for first, second in itertools.pairwise(labels):
        qml.CRX(0.7, wires=[first, second])


def _results():
    return qml.state(), qml.probs(), qml.expval(qml.Z(0))


def _on_new_wires(body):
    @qml.qnode(qml.device("default.qubit"))
    def circuit(x):
        return body(x)

    return circuit


def _in_order(x):
    _prepare([2, 0, 1])
    qml.RX(x, 1)
    return _results()


def _with_gaps(x):
    _prepare([7, 0, 3])
    qml.RX(x, 3)
    return _results()


def _named(x):
    _prepare(["target", 0, "a1", -2])
    qml.Toffoli(["a1", "target", 0])
    qml.RX(x, "target")
    return _results()


def _measured_only(x):
    qml.RX(x, 1)
    return qml.state(), qml.probs(), qml.expval(qml.Z(1) @ qml.X(0)), qml.probs(wires=[0, 1])


def _labels_in_observables(x):
    _prepare(["b", "a"])
    qml.RX(x, "a")
    return qml.expval(qml.Z("a") @ qml.X("b")), qml.probs(wires=["a", "c"]), qml.state()


@pytest.mark.parametrize(
    "body", [_in_order, _with_gaps, _named, _measured_only, _labels_in_observables]
)
def test_a_device_without_wires_gets_those_that_the_circuit_names(body):
    circuit = _on_new_wires(body)
    for found, expected in zip(qjit(circuit)(0.4), circuit(0.4), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_new_wires_in_control_flow():
    @qjit
    @qml.qnode(qml.device("default.qubit"))
    def circuit(n):
        @for_loop(0, n, 1)
        def body(k):
            qml.Hadamard("a")
            qml.CNOT(["a", "b"])

        body()
        cond(n < 2)(lambda: qml.X("c"))()
        return qml.probs()

    found = circuit(3)
    assert found.shape == (8,)
    np.testing.assert_allclose(found, np.array([0, 0, 1, 0, 0, 0, 1, 0]) / 2, atol=1e-15)


def test_labels_of_a_device():
    labels = ["x", 3, "y", "z"]

    @qml.qnode(qml.device("default.qubit", wires=labels))
    def circuit(x):
        _prepare(labels[::-1])
        qml.QFT(wires=["y", "x"])
        qml.StatePrep(amplitudes(1, 1), wires=3)
        qml.RX(x, "z")
        return qml.state(), qml.probs(wires=["y", 3])

    for found, expected in zip(qjit(circuit)(0.4), circuit(0.4), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


# --- allocated wires -----------------------------------------------------------------------------


def _toffoli_chain(x):
    _prepare([0, 1, 2, 3])
    with qml.allocate(2, state="zero", restored=True) as work:
        qml.Toffoli([0, 1, work[0]])
        qml.Toffoli([2, work[0], work[1]])
        qml.CRX(x, [work[1], 3])
        qml.Toffoli([2, work[0], work[1]])
        qml.Toffoli([0, 1, work[0]])
    return qml.state(), qml.expval(qml.Z(3))


def _twice(x):
    _prepare([0, 1])
    for _ in range(2):
        wires = qml.allocate(1, restored=True)
        qml.CNOT([0, wires[0]])
        qml.CRY(x, [wires[0], 1])
        qml.CNOT([0, wires[0]])
        qml.deallocate(wires)
    return qml.state(), qml.expval(qml.Z(1))


def _left_dirty(x):
    _prepare([0, 1])
    with qml.allocate(1) as wires:
        qml.CNOT([0, wires[0]])
    with qml.allocate(1, state="any", restored=True) as wires:
        qml.CRY(x, [1, wires[0]])
        qml.CRY(-x, [1, wires[0]])
    return qml.state(), qml.expval(qml.X(0))


def _never_given_back(x):
    _prepare([0, 1])
    wires = qml.allocate(2)
    qml.CRY(x, [1, wires[1]])
    return qml.state(), qml.expval(qml.Z(wires[1]))


@pytest.mark.parametrize("body", [_toffoli_chain, _twice, _left_dirty, _never_given_back])
@pytest.mark.parametrize("wires", [None, 6])
def test_allocated_wires_are_those_of_default_qubit(body, wires):
    @qml.qnode(qml.device("default.qubit", wires=wires))
    def circuit(x):
        return body(x)

    for found, expected in zip(qjit(circuit)(0.4), circuit(0.4), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_wires_allocated_in_a_loop():
    def circuit(loop):
        @qml.qnode(qml.device("default.qubit", wires=4))
        def run(x):
            _prepare([0, 1])

            def body(k):
                with qml.allocate(1, restored=True) as work:
                    qml.CNOT([k, work[0]])
                    qml.CRX(x, [work[0], 1 - k])
                    qml.CNOT([k, work[0]])

            loop(body)
            return qml.state()

        return run

    found = qjit(circuit(lambda body: for_loop(0, 2, 1)(lambda k: body(k))()))
    with pytest.raises(UnknownWiresError, match="traced wire"):
        found(0.3)
    fixed = qjit(circuit(lambda body: for_loop(0, 2, 1)(lambda k: body(0))()))
    expected = circuit(lambda body: (body(0), body(0)))
    np.testing.assert_allclose(fixed(0.3), expected(0.3), atol=1e-12)


def _program(body, wires=3):
    return qjit(qml.qnode(qml.device("default.qubit", wires=wires))(body))


def _used_after(x):
    wires = qml.allocate(1)
    qml.deallocate(wires)
    qml.RX(x, wires[0])
    return qml.probs(wires=0)


def _too_many(x):
    qml.RX(x, 0)
    qml.allocate(3)
    return qml.probs(wires=0)


def _dirty_in_a_loop(x):
    @for_loop(0, 3, 1)
    def body(k):
        with qml.allocate(1) as wires:
            qml.RX(x, wires[0])

    body()
    return qml.probs(wires=0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (_used_after, "not any more"),
        (_too_many, "no wire in"),
        (_dirty_in_a_loop, "restored=True"),
    ],
)
def test_wires_that_cannot_be_allocated(body, message):
    with pytest.raises(AllocationError, match=message) as raised:
        _program(body)(0.3)
    assert raised.value.span.file == __file__


# --- bad wires -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("apply", "valid", "wire", "error"),
    [
        (lambda w: qml.Identity(w), 1, 3, WireOutOfRangeError),
        (lambda w: qml.Identity([0, w]), 1, 0, OverlappingWiresError),
        (lambda w: qml.Barrier([0, w]), 1, 5, WireOutOfRangeError),
        (lambda w: qml.QFT([0, w, 2]), 1, 2, OverlappingWiresError),
        (lambda w: qml.ctrl(qml.X(0), w), 1, 0, OverlappingWiresError),
        (lambda w: qml.ctrl(qml.MultiRZ(0.3, [0, 1]), w), 2, 1, OverlappingWiresError),
        (lambda w: qml.QubitUnitary(jnp.eye(4), [w, 1]), 2, -1, WireOutOfRangeError),
        (lambda w: qml.Permute([w, 0, 2], [0, w, 2]), 1, 2, OverlappingWiresError),
        (lambda w: qml.GlobalPhase(0.3, wires=w), 1, 4, WireOutOfRangeError),
        (lambda w: qml.WireCut(w), 1, 4, WireOutOfRangeError),
    ],
)
def test_traced_wires_are_checked_when_the_program_runs(apply, valid, wire, error):
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(w):
        apply(w)
        return qml.probs(wires=0)

    assert circuit(valid).shape == (2,)
    with pytest.raises(error):
        circuit(wire)


def test_wires_computed_alike_are_one():
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(w):
        _prepare([0, 1, 2])
        qml.exp(qml.X(w + 1) + qml.Z(w + 1), 0.3j)
        qml.prod(qml.RX(0.3, w + 1), qml.CNOT([w, w + 1]))
        return qml.state()

    np.testing.assert_allclose(qjit(circuit)(1), circuit(1), atol=1e-12)

    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def overlapping(w):
        qml.CNOT([w + 1, w + 1])
        return qml.state()

    with pytest.raises(Exception, match=r"unique|different"):
        overlapping(1)


def test_a_traced_wire_is_a_number():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=["a", "b"]))
    def circuit(w):
        qml.X(w)
        return qml.probs()

    with pytest.raises(WireTypeError, match="wires 0, 1, 2"):
        circuit(1)


def test_a_label_that_the_device_does_not_have():
    with pytest.raises(UnknownWireError, match="'c'"):
        _program(lambda x: (qml.RX(x, "c"), qml.probs())[1], wires=["a", "b"])(0.3)


@pytest.mark.parametrize(
    "apply",
    [
        lambda x: qml.CNOT([0, 1, 2]),
        lambda x: qml.RX(x, [0, 1]),
        lambda x: qml.CNOT([1, 1]),
        lambda x: qml.QFT([0, 1, 0]),
        lambda x: qml.ctrl(qml.RX(x, 0), 0),
        lambda x: qml.QubitUnitary(jnp.eye(2) * x, [0, 1]),
        lambda x: qml.RX(jnp.ones((2, 2)) * x, 0),
        lambda x: qml.Rot(x, x, wires=0),
    ],
)
def test_what_pennylane_refuses_is_refused_in_its_words(apply):
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(x):
        apply(x)
        return qml.probs(wires=0)

    with pytest.raises(Exception) as expected:  # noqa: PT011
        circuit(0.3)
    with pytest.raises(expected.type) as raised:
        qjit(circuit)(0.3)
    assert str(expected.value) in str(raised.value)


def test_values_that_pennylane_accepts():
    @qml.qnode(qml.device("default.qubit", wires=2))
    def circuit(x, matrix):
        qml.Hadamard(0)
        qml.QubitUnitary(matrix, [0, 1])
        qml.RX(x, 1)
        return qml.state()

    matrix = np.arange(16.0).reshape(4, 4)
    compiled = qjit(circuit)
    np.testing.assert_allclose(compiled(0.3, matrix), circuit(0.3, matrix), rtol=1e-12)
    assert np.isnan(compiled(np.nan, matrix)).all()
