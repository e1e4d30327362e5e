"""Measurements and classical values in any pytree; traced wires that turn out equal."""

import dataclasses
import warnings
from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
import scipy.sparse
from pennylane.pauli import PauliSentence, PauliWord

from diastase import qjit
from diastase_runtime.errors import OverlappingWiresError, WireOutOfRangeError
from frontend.quantum.measurements.runner import ANGLES, DEVICE
from frontend.quantum.measurements.tables import prepare

Energies = namedtuple("Energies", "mean spread")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Report:
    """A dataclass that JAX knows."""

    mean: Any
    rest: Any


def circuit(process):
    @qml.qnode(DEVICE)
    def measured(*arguments):
        prepare(ANGLES)
        return process(*arguments)

    return measured


def compiled(process, *arguments):
    return qjit(circuit(process))(*arguments)


def test_pytrees():
    def returned():
        return {
            "energies": Energies(qml.expval(qml.Y(0)), qml.purity([1])),
            "list": [qml.expval(qml.Z(3))],
            "report": Report(qml.expval(qml.X(0)), [qml.var(qml.Z(1)), (qml.probs(wires=2),)]),
        }

    found = compiled(returned)
    assert isinstance(found["report"], Report)
    assert isinstance(found["energies"], Energies)
    assert isinstance(found["list"], list)
    expected = circuit(lambda: jax.tree.leaves(returned(), is_leaf=_is_process))()
    for leaf, wanted in zip(jax.tree.leaves(found), expected, strict=True):
        np.testing.assert_allclose(leaf, wanted, atol=1e-12)


def _is_process(value):
    return isinstance(value, qml.measurements.MeasurementProcess)


def test_classical_values_of_any_kind():
    def returned(x, i):
        constants = [1, 2.5, True, 1j, np.arange(3), jnp.ones(2), np.float32(2)]
        return qml.expval(qml.Z(0)), {"x": x * 2, "i": i, "constants": constants}

    value, rest = compiled(returned, 0.3, 7)
    np.testing.assert_allclose(value, circuit(lambda: qml.expval(qml.Z(0)))(), atol=1e-12)
    assert (rest["x"], rest["i"]) == (0.6, 7)
    kinds = [leaf.dtype.kind for leaf in rest["constants"]]
    assert kinds == ["i", "f", "b", "c", "i", "f", "f"]


def test_one_process_several_times():
    def returned():
        process = qml.expval(qml.Z(0) @ qml.X(1))
        return process, [process, process]

    first, (second, third) = compiled(returned)
    assert first == second == third


def test_one_observable_in_several_measurements():
    def returned():
        observable = qml.X(0) @ qml.Z(1)
        return qml.expval(observable), qml.var(observable), qml.probs(op=observable)

    _same_as_pennylane(returned)


def test_sets_that_do_not_commute():
    """Each measurement sees the same state, whatever the others do to theirs."""

    def returned():
        large = qml.Hermitian(np.diag(np.arange(8.0)), [2, 0, 1])
        return (
            qml.probs(op=qml.X(0)),
            qml.expval(qml.Y(0)),
            qml.expval(large),
            qml.expval(qml.Z(0) @ qml.Y(1)),
            qml.probs(op=qml.Hermitian(np.array([[1, 1j], [-1j, 2]]), 1)),
            qml.density_matrix([1]),
            qml.state(),
            qml.vn_entropy([0, 1]),
            qml.expval(qml.X(0)),
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PennyLane on the order of eigenvalues
        _same_as_pennylane(returned)


def _same_as_pennylane(returned):
    for leaf, wanted in zip(compiled(returned), circuit(returned)(), strict=True):
        assert leaf.dtype == wanted.dtype
        np.testing.assert_allclose(leaf, wanted, atol=1e-12)


def test_words_and_sentences_as_they_are():
    """PennyLane itself measures only the operators that they make."""
    word, other = PauliWord({0: "X", 2: "Z"}), PauliWord({1: "Y"})
    sentence = PauliSentence({word: 0.3, other: -2.0, PauliWord({}): 0.5})
    expected = circuit(lambda: (qml.expval(word.operation()), qml.expval(sentence.operation())))()

    def returned(x, wire):
        traced = PauliSentence({word: x, PauliWord({wire: "Y"}): -2.0, PauliWord({}): 0.5})
        measured = (word, sentence, traced)
        return [qml.expval(each) for each in measured], [qml.var(each) for each in measured]

    means, variances = compiled(returned, 0.3, 1)
    np.testing.assert_allclose(means, [expected[0], expected[1], expected[1]], atol=1e-12)
    np.testing.assert_allclose(variances[0], 1 - expected[0] ** 2, atol=1e-12)
    np.testing.assert_allclose(variances[1], variances[2], atol=1e-12)


def test_sparse_matrices_are_not_made_dense():
    """On 12 wires a dense matrix would have 268 MB, in the program."""
    wires = 12
    matrix = scipy.sparse.random(2**wires, 2**wires, 1 / 2**wires, random_state=1)
    matrix = scipy.sparse.csr_matrix(matrix + matrix.T)
    device = qml.device("lightning.qubit", wires=wires)

    @qml.qnode(device)
    def measured(x):
        for wire in range(wires):
            qml.RY(x + wire, wire)
        return qml.expval(qml.SparseHamiltonian(matrix, wires=range(wires)))

    program = qjit(measured)
    np.testing.assert_allclose(program(0.3), measured(0.3), atol=1e-10)
    assert "4096x4096" not in program.mlir


EQUAL = {
    "X X": (lambda i, j: qml.X(i) @ qml.X(j), lambda: qml.Identity(1)),
    "X Z X": (lambda i, j: qml.X(i) @ qml.Z(j) @ qml.X(i), lambda: -qml.Z(1)),
    "X Z + Z X": (lambda i, j: qml.X(i) @ qml.Z(j) + qml.Z(j) @ qml.X(i), lambda: 0 * qml.Z(1)),
    "sum": (lambda i, j: qml.X(i) + 2 * qml.X(j) - qml.Z(j), lambda: 3 * qml.X(1) - qml.Z(1)),
    "square": (lambda i, j: (qml.X(i) + qml.Z(j)) ** 2, lambda: 2 * qml.Identity(1)),
    "matrices": (
        lambda i, j: qml.Hermitian(np.diag([1.0, 3.0]), i) @ qml.Hermitian(np.diag([2.0, 5.0]), j),
        lambda: qml.Hermitian(np.diag([2.0, 15.0]), 1),
    ),
    "projectors": (
        lambda i, j: qml.Projector([1], i) @ qml.Projector([0], j),
        lambda: 0 * qml.Identity(1),
    ),
}
"""Observables of two traced wires, and what they are where both are wire 1."""


def test_traced_wires_that_turn_out_equal():
    def returned(i, j):
        observables = [build(i, j) for build, _ in EQUAL.values()]
        return [(qml.expval(each), qml.var(each)) for each in observables]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PennyLane on what it thinks is not Hermitian
        found = compiled(returned, 1, 1)
    for (mean, variance), (_, known) in zip(found, EQUAL.values(), strict=True):
        expected = circuit(lambda known=known: (qml.expval(known()), qml.var(known())))()
        np.testing.assert_allclose([mean, variance], expected, atol=1e-10)


@pytest.mark.parametrize(
    ("process", "error"),
    [
        (lambda i: qml.expval(qml.X(i) @ qml.Z(1)), OverlappingWiresError),
        (lambda i: qml.var(qml.X(i) @ qml.Y(1) @ qml.X(0)), OverlappingWiresError),
        (lambda i: qml.expval(qml.Hermitian(np.eye(4), [i, 1])), OverlappingWiresError),
        (lambda i: qml.density_matrix([i, 1]), OverlappingWiresError),
        (lambda i: qml.mutual_info([i], [1]), OverlappingWiresError),
        (lambda i: qml.expval(qml.Projector(np.ones(4) / 2, [i, 1])), OverlappingWiresError),
        (
            lambda i: qml.expval(qml.SparseHamiltonian(scipy.sparse.eye(4, format="csr"), [1, i])),
            OverlappingWiresError,
        ),
        (lambda i: qml.expval(qml.X(i + 3)), WireOutOfRangeError),
        (lambda i: qml.density_matrix([i - 2]), WireOutOfRangeError),
        (lambda i: qml.vn_entropy([i + 3]), WireOutOfRangeError),
        (lambda i: qml.expval(qml.Projector(np.ones(2) / 2, [i + 3])), WireOutOfRangeError),
    ],
)
def test_bad_wires_at_run_time(process, error):
    program = qjit(circuit(process))
    with pytest.raises(error):
        program(1)


def test_observables_of_integers_and_small_floats():
    entries = [[1, 2], [2, 0]]
    kinds = (np.int64, np.int8, np.float32, np.float64)
    observables = [
        qml.Projector([1], wires=0),
        qml.Projector(np.array([0, 1]), wires=[2]),
        qml.Projector([1], wires=0) @ qml.Hermitian(np.array(entries), 1),
        *(qml.Hermitian(np.array(entries, kind), 0) for kind in kinds),
        qml.Hermitian(np.array([[True, False], [False, True]]), 1),
    ]

    def returned():
        return [measured(each) for each in observables for measured in (qml.expval, qml.var)]

    np.testing.assert_allclose(compiled(returned), circuit(returned)(), atol=1e-12)
    traced = compiled(lambda bits: qml.expval(qml.Projector(bits, wires=[0])), jnp.array([1]))
    np.testing.assert_allclose(traced, circuit(returned)()[0], atol=1e-12)
