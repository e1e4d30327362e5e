"""Circuits with complex64 amplitudes: results, their types, and programs of both precisions."""

import jax
import numpy as np
import pennylane as qml
import pytest
from scipy.sparse import csr_matrix

from diastase import for_loop, measure, qjit, while_loop
from diastase.jit.options.errors import InvalidOptionError
from diastase_mlir.program_keys import program_key
from diastase_runtime.errors import OutOfMemoryError

WIRES = 5
DOUBLE = qml.device("lightning.qubit", wires=WIRES)
SINGLE = qml.device("lightning.qubit", wires=WIRES, c_dtype=np.complex64)
REFERENCE = qml.device("default.qubit", wires=WIRES)
HERMITIAN = np.array([[1, 2j, 0, 1], [-2j, 0, 1, 0], [0, 1, -1, 3], [1, 0, 3, 2]])
PROBABILITIES, STATES = (np.dtype(kind) for kind in (np.float32, np.complex64))


def everything(x):
    """Gates of every kind, then every measurement of a state."""
    qml.StatePrep(np.array([0.6, 0.8j, 0, 0]), wires=[1, 3])
    for wire in range(WIRES):
        qml.Rot(x + wire, 0.3, 0.7 - x, wires=wire)
    qml.ctrl(qml.RY, (0, 2, 4), control_values=(1, 0, 1))(x, wires=1)
    qml.IsingXX(x, wires=(4, 0))
    qml.SWAP(wires=(1, 2))
    qml.DoubleExcitation(x, wires=(0, 1, 2, 3))
    qml.QubitUnitary(qml.matrix(qml.QFT(wires=range(3))), wires=(4, 0, 2))
    qml.DiagonalQubitUnitary(np.exp(1j * np.arange(16)), wires=(3, 2, 1, 0))
    qml.GlobalPhase(x)
    energy = qml.Hamiltonian([0.3, -1.2, 2.0], [qml.X(0) @ qml.Y(3), qml.Z(4), qml.I(1)])
    sparse = qml.SparseHamiltonian(csr_matrix(HERMITIAN), wires=(1, 2))
    return (
        qml.state(), qml.probs(), qml.probs(wires=(3, 1)), qml.density_matrix(wires=(4, 2)),
        qml.expval(qml.Z(0) @ qml.X(1)), qml.expval(energy), qml.var(qml.Y(2)),
        qml.var(energy), qml.expval(qml.Hermitian(HERMITIAN, wires=(0, 3))), qml.expval(sparse),
        qml.expval(qml.Projector([1, 0], wires=(2, 0))), qml.purity((0, 1)),
        qml.vn_entropy((0, 3)), qml.mutual_info((0,), (2, 3)),
    )  # fmt: skip


def agree(found, expected, tolerance=2e-6):
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=str(k))


def types_of(results):
    return [np.dtype(result.dtype) for result in results]


IN_SINGLE = [STATES, PROBABILITIES, PROBABILITIES, STATES, *[np.dtype(float)] * 10]


def test_all_measurements():
    expected = qml.QNode(everything, REFERENCE)(0.4)
    double, single = (qjit(qml.QNode(everything, device))(0.4) for device in (DOUBLE, SINGLE))
    asked = qjit(qml.QNode(everything, DOUBLE), precision="single")(0.4)
    agree(double, expected, 1e-12)
    agree(single, expected)
    assert types_of(single) == types_of(asked) == IN_SINGLE
    assert types_of(double) == [np.dtype(result.dtype) for result in expected]
    for one, other in zip(single, asked, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.abs(np.asarray(single[0]) - np.asarray(double[0])).max() > 1e-12


def test_both_precisions_in_one_program():
    @qjit
    def program(x):
        first = qml.QNode(everything, SINGLE)(x)
        return first, qml.QNode(everything, DOUBLE)(x + first[4]), qml.QNode(everything, SINGLE)(x)

    first, second, third = program(0.4)
    expected = qml.QNode(everything, REFERENCE)
    agree(first, expected(0.4))
    agree(second, expected(0.4 + float(first[4])), 1e-12)
    np.testing.assert_array_equal(first[0], third[0])
    assert types_of(first) == IN_SINGLE
    assert second[0].dtype == np.complex128


@qjit(precision="single")
def inner(x):
    return qml.QNode(everything, DOUBLE)(x)[0]


def test_the_precision_of_an_inner_program_is_its_own():
    outer = qjit(lambda x: (inner(x), qml.QNode(everything, DOUBLE)(x)[0]))
    assert [result.dtype for result in outer(0.2)] == [np.complex64, np.complex128]


def structured(x):
    """Loops, branches, adjoints and controls: registers go through all of them."""

    def part(angle):
        @for_loop(0, 3, 1)
        def rotate(k):
            qml.RX(angle + k, wires=k)
            qml.cond(angle > 0.1, lambda: qml.RY(angle, wires=k), lambda: qml.Hadamard(wires=k))()
            qml.CNOT(wires=(k, k + 1))

        rotate()

    part(x)
    qml.adjoint(part)(x - 0.3)
    qml.ctrl(part, control=4)(x + 0.2)

    @while_loop(lambda k: k < 3)
    def phases(k):
        qml.RZ(x * k, wires=k)
        qml.Hadamard(wires=k)
        return k + 1

    phases(0)
    return qml.state(), qml.expval(qml.Z(0) @ qml.Y(3))


def test_control_flow():
    double, single = (qjit(qml.QNode(structured, device))(0.4) for device in (DOUBLE, SINGLE))
    agree(single, double)
    assert types_of(single) == [STATES, np.dtype(float)]


def test_passes_on_circuits():
    """At the ends of loops, too, where passes make registers."""

    def body(x):
        @for_loop(0, 4, 1)
        def layers(_):
            qml.RX(x, wires=0)
            qml.CNOT(wires=(0, 1))
            qml.CNOT(wires=(0, 1))
            qml.Hadamard(wires=2)
            qml.RY(x, wires=1)
            qml.RX(0.3, wires=0)
            qml.Hadamard(wires=2)

        layers()
        return qml.state()

    passes = {"cancel_inverses": {}, "merge_rotations": {}}
    compiled = qjit(qml.QNode(body, SINGLE), circuit_transform_pipeline=passes)
    np.testing.assert_allclose(compiled(0.7), qjit(qml.QNode(body, DOUBLE))(0.7), atol=1e-6)


@pytest.mark.parametrize("method", ["deferred", "tree-traversal", "single-branch-statistics"])
def test_measurements_in_the_middle(method):
    def body(x):
        for wire in range(WIRES):
            qml.RY(x + wire, wires=wire)
        for wire in range(3):
            outcome = measure(wire, reset=wire == 1, postselect=1 if wire == 2 else None)
            qml.cond(outcome, lambda: qml.RX(0.4, wires=4))()
            qml.CNOT(wires=(wire, 4))
        return qml.expval(qml.Z(4)), qml.probs(wires=(1, 4))

    double, single = (
        qjit(qml.QNode(body, device, mcm_method=method), seed=3)(0.4) for device in (DOUBLE, SINGLE)
    )
    agree(single, double)
    assert types_of(single) == [np.dtype(float), PROBABILITIES]


@pytest.mark.sample(2)
@pytest.mark.parametrize("qubits", [1, 2, 3, 4, 9])
def test_shots(qubits):
    def samples(c_dtype):
        @qjit(seed=5)
        @qml.set_shots(2000)
        @qml.qnode(qml.device("lightning.qubit", wires=qubits, c_dtype=c_dtype))
        def body(x):
            for wire in range(qubits):
                qml.RX(x + wire, wires=wire)
            return qml.sample(), qml.probs(), qml.expval(qml.Z(0))

        return body(0.6)

    double, single = samples(np.complex128), samples(np.complex64)
    assert (np.asarray(double[0]) != np.asarray(single[0])).mean() < 0.01
    agree(single[1:], double[1:], 0.01)
    assert types_of(single) == types_of(double)


def test_impossible_outcomes_stay_impossible():
    """Rounding errors of single precision are no outcomes of a tree."""

    def body(x):
        for _ in range(20):
            qml.RY(x, wires=0)
            qml.Hadamard(wires=0)
            qml.Hadamard(wires=0)
            qml.CRX(x, wires=(0, 1))
            qml.CRX(-x, wires=(0, 1))
        outcomes = [measure(1) for _ in range(8)]
        return qml.expval(outcomes[-1]), qml.expval(qml.Z(0))

    found = qjit(qml.QNode(body, SINGLE, mcm_method="tree-traversal"))(0.3)
    agree(found, (0.0, np.cos(6.0)))


def test_twenty_qubits():
    """Sums over a million amplitudes stay right to six digits."""
    qubits = 20

    def body(angles):
        for wire in range(qubits):
            qml.RY(angles[wire], wires=wire)
            qml.RZ(0.3 - angles[wire], wires=wire)
        for wire in range(qubits - 1):
            qml.CNOT(wires=(wire, wire + 1))
            qml.RX(0.7 + angles[wire], wires=wire)
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(0) @ qml.Z(19)), qml.probs(wires=(3, 11))

    angles = np.linspace(0.1, 2.9, qubits)
    device = qml.device("lightning.qubit", wires=qubits)
    double, single = (
        qjit(qml.QNode(body, device), precision=precision)(angles)
        for precision in ("double", "single")
    )
    agree(single, double, 1e-6)


def test_a_state_takes_eight_bytes_an_amplitude():
    """A state of two tebibytes is refused by its size, and the report knows it."""
    device = qml.device("lightning.qubit", wires=38, c_dtype=np.complex64)

    @qjit
    @qml.qnode(device)
    def large(x):
        qml.RX(x, wires=0)
        return qml.expval(qml.Z(0))

    with pytest.raises(OutOfMemoryError, match=str(2**41)):
        large(0.3)


def test_keys_and_texts_tell_precisions_apart():
    keys, texts = set(), set()
    for device, precision in ((DOUBLE, "double"), (SINGLE, "double"), (DOUBLE, "single")):
        traced = qjit(qml.QNode(structured, device), precision=precision).trace(0.3)
        keys.add(program_key(traced.traced.program))
        texts.add(str(traced.jaxpr))
    assert len(keys) == len(texts) == 2
    assert None not in keys


def test_a_batch():
    single = qjit(jax.vmap(lambda x: qml.QNode(everything, SINGLE)(x)[:2]))(np.array([0.1, 0.5]))
    for k, x in enumerate((0.1, 0.5)):
        agree([result[k] for result in single], qml.QNode(everything, REFERENCE)(x)[:2])
    assert types_of(single) == [STATES, PROBABILITIES]


@pytest.mark.parametrize("precision", ["half", "float32", 32, None])
def test_other_precisions_are_refused(precision):
    with pytest.raises(InvalidOptionError, match="'double', 'single'"):
        qjit(lambda x: x, precision=precision)
