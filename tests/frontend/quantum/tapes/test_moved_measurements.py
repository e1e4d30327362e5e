"""Transforms that move mid-circuit measurements to other wires; their outcomes stay their own."""

import numpy as np
import pennylane as qml
import pytest

from diastase import qjit

METHODS = ["deferred", "tree-traversal"]
engine = qml.device("default.qubit", wires=3)


def circuit(x):
    """PennyLane itself loses the outcomes when `undo_swaps` is applied to it."""
    qml.RX(x, 0)
    qml.RY(0.4, 1)
    first = qml.measure(1, reset=True)
    qml.cond(first, qml.RX)(0.7, 2)
    qml.SWAP([0, 1])
    second = qml.measure(0)
    qml.cond(first + second == 1, qml.RY)(0.3, 1)
    qml.SWAP([1, 2])
    averages = (qml.expval(value) for value in (first, second, first - 2 * second))
    return qml.probs(op=[first, second]), *averages, qml.probs(wires=[0, 1, 2])


@pytest.mark.parametrize("method", METHODS)
def test_averages(method):
    moved = qml.transforms.undo_swaps(qml.QNode(circuit, engine, mcm_method=method))
    reference = qml.QNode(circuit, qml.device("default.qubit", wires=5), mcm_method="deferred")
    for ours, theirs in zip(qjit(moved)(0.9), reference(0.9), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_shots():
    @qml.transforms.undo_swaps
    @qml.qnode(engine, shots=50)
    def body():
        qml.X(0)
        qml.Hadamard(2)
        first, second = qml.measure(1, reset=True), qml.measure(2)
        qml.SWAP([0, 1])
        qml.SWAP([1, 2])
        wires = qml.sample(wires=[0, 1, 2])
        return qml.sample(first), qml.sample(second), qml.counts(first), wires

    first, second, counts, wires = qjit(body, seed=1)()
    assert not first.any()
    assert counts == {0: 50}
    assert 0 < second.sum() < 50
    np.testing.assert_array_equal(wires[:, 1], second)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("transform", [qml.transforms.cancel_inverses, qml.transforms.undo_swaps])
def test_a_measured_product(transform, method):
    """PennyLane cannot run these; by hand, a product is measured on an ancilla."""

    def body(measure_product):
        qml.RX(0.6, 0)
        qml.CRY(0.8, [0, 1])
        product = measure_product()
        other = qml.measure(0)
        qml.cond(other + product == 1, qml.RX)(0.4, 2)
        qml.SWAP([1, 2])
        qml.Hadamard(0)
        qml.Hadamard(0)
        return qml.probs(op=[product, other]), qml.probs(wires=[0, 1, 2])

    def by_hand():
        qml.CNOT([0, 9])
        qml.CNOT([1, 9])
        return qml.measure(9)

    @qml.qnode(engine, mcm_method=method)
    def circuit():
        return body(lambda: qml.pauli_measure("ZZ", wires=[0, 1]))

    @qml.qnode(qml.device("default.qubit"), mcm_method="deferred")
    def reference():
        return body(by_hand)

    for ours, theirs in zip(qjit(transform(circuit))(), reference(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
