"""Passes in every way in which a QNode can be run: shots, methods of measurement, preparations."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, cond, for_loop, measure, qjit

ALL = {
    name: {}
    for name in (
        "cancel_inverses", "merge_rotations", "combine_global_phases", "disentangle_cnot",
        "disentangle_swap",
    )
}  # fmt: skip
DEVICE = qml.device("default.qubit", wires=4)
STATE = np.array([1, 2, 3, 4]) / np.sqrt(30)


def teleported(x):
    """A qubit goes from wire 0 to wire 2, with gates around that passes take away."""
    qml.H(3), qml.H(3)
    qml.RX(x, 0), qml.RX(x, 0)
    qml.H(1), qml.CNOT([1, 2])
    qml.CNOT([0, 1]), qml.H(0)
    first, second = qml.measure(0), qml.measure(1, reset=True)
    qml.cond(second, qml.X)(2)
    qml.CNOT([1, 3])
    qml.cond(first, qml.Z)(2)


@pytest.mark.parametrize("method", ["deferred", "tree-traversal"])
def test_exact_methods_of_measurement(method, operations):
    def circuit(x):
        teleported(x)
        return qml.expval(qml.Z(2)), qml.var(qml.Y(2) + 0.5 * qml.Z(2)), qml.probs(wires=[2, 3])

    qnode = qml.QNode(circuit, DEVICE, mcm_method=method)
    passed = qjit(qnode, circuit_transform_pipeline=ALL)
    reference = qml.QNode(circuit, qml.device("default.qubit"), mcm_method=method)
    for found, wanted in zip(passed(0.3), reference(0.3), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)
    left = operations(passed.mlir)
    assert left.count("Hadamard") == 2
    assert left.count("RX") == 1
    assert left.count("CNOT") == 2


@pytest.mark.parametrize("method", ["one-shot", "deferred", "tree-traversal"])
def test_shots_draw_the_same_samples(method):
    def circuit(x):
        teleported(x)
        return qml.sample(wires=[2, 3]), qml.counts(qml.Z(2)), qml.expval(qml.X(2))

    qnode = qml.set_shots(qml.QNode(circuit, DEVICE, mcm_method=method), 40)
    plain = qjit(qnode, seed=3)(0.3)
    passed = qjit(qnode, seed=3, circuit_transform_pipeline=ALL)(0.3)
    for found, wanted in zip(jax.tree.leaves(passed), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_circuit_that_closes_over_a_number_that_is_recorded(operations):
    """A constant of the trace around it (`jnp.array(0.3)`) is a tracer, but no variable."""

    def program(n, x):
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit(angle):
            qml.H(0), qml.H(0), qml.RX(angle, 0), qml.RX(x, 0)
            return qml.expval(qml.Z(0))

        return circuit(jnp.array(0.3))

    passed = qjit(program, circuit_transform_pipeline=ALL)
    np.testing.assert_allclose(passed(2, 0.4), np.cos(0.7), atol=1e-12)
    assert operations(passed.mlir).count("RX") == 1


def test_prepared_states(left_by):
    """The qubits of a preparation are known no more; gates do not meet across it."""

    def circuit(x):
        qml.StatePrep(STATE, wires=[0, 1])
        qml.CNOT([0, 2]), qml.CNOT([1, 3])
        qml.RX(x, 3), qml.CNOT([0, 2]), qml.RX(x, 3)
        return qml.state()

    left = left_by([*ALL], circuit, 0.4, wires=4)
    assert left == ["CNOT", "RX"]


def test_a_prepared_state_after_other_gates(left_by):
    def circuit(x):
        qml.RX(x, 2), qml.H(0), qml.H(0), qml.GlobalPhase(x)
        qml.BasisState([1, 0], wires=[0, 1])
        qml.CNOT([0, 2]), qml.CNOT([1, 2]), qml.RX(x, 2), qml.GlobalPhase(x)
        return qml.state()

    left_by([*ALL], circuit, 0.4, wires=3)


def test_observables_that_need_copies_of_the_state(left_by):
    def circuit(x):
        qml.RX(x, 0), qml.RX(x, 0), qml.CNOT([2, 1])
        return (
            qml.expval(qml.exp(qml.X(0) @ qml.Z(1), 0.3)),
            qml.expval(qml.pow(qml.X(0) + qml.Z(0), 3)),
            qml.var(qml.Hermitian(np.diag([1.0, 2.0]), 0) @ qml.Z(1)),
            qml.density_matrix([0, 1]),
        )

    assert left_by([*ALL], circuit, 0.4) == ["RX"]


def test_several_circuits_at_once(operations):
    """A QNode in a loop of another one's results; each keeps to its own register."""
    inner = qml.QNode(lambda x: (qml.RX(x, 0), qml.RX(x, 0), qml.expval(qml.Z(0)))[-1], DEVICE)

    def outer(x):
        @for_loop(0, 3, 1)
        def loop(i, angle):
            qml.H(1), qml.H(1)
            qml.RY(angle, 0)
            outcome = measure(3)

            @cond(outcome)
            def branch():
                qml.X(2), qml.X(2)

            branch()
            return inner(angle)

        qml.CNOT([3, 0])
        return qml.expval(qml.Z(0)), loop(x)

    qnode = qml.QNode(outer, DEVICE)
    passed = qjit(qnode, circuit_transform_pipeline=ALL)
    np.testing.assert_allclose(passed(0.3), qjit(qnode)(0.3), atol=1e-12)
    assert operations(passed.mlir) == ["RY", "measure", "RX"]


def test_a_number_of_wires_known_at_run_time_only(operations):
    """Known wires may not exist either, so what goes leaves checks; nothing leaves a loop."""

    def program(n, x):
        @qml.qnode(qml.device("lightning.qubit", wires=n))
        def circuit():
            qml.CNOT([0, 2])
            qml.H(1), qml.H(1)

            @for_loop(0, n, 1)
            def loop(i):
                qml.S(1), qml.RX(x, i), qml.RX(x, i), qml.adjoint(qml.S(1))

            loop()
            return qml.expval(qml.Z(0)), qml.expval(qml.Y(1))

        return circuit()

    plain, passed = qjit(program), qjit(program, circuit_transform_pipeline=ALL)
    for number in (3, 4):
        np.testing.assert_allclose(passed(number, 0.3), plain(number, 0.3), atol=1e-12)
    left = operations(passed.mlir)
    assert left == ["check_wires", "check_wires", "S", "RX", "Adjoint(S)"]
    with pytest.raises(DiastaseError) as expected:
        plain(2, 0.3)
    with pytest.raises(DiastaseError) as found:
        passed(2, 0.3)
    assert str(found.value) == str(expected.value)
