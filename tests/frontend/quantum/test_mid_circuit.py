"""`measure`: outcomes as classical values, in control flow, with reset and postselection."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, while_loop
from diastase.capture.quantum_errors import (
    AlreadyAppliedError,
    MeasurementInsideError,
    OutsideProgramError,
    OutsideQNodeError,
    ParameterTypeError,
)


def device(wires):
    return qml.device("lightning.qubit", wires=wires)


def test_outcome_is_a_boolean_and_the_state_collapses():
    @qjit
    @qml.qnode(device(2))
    def circuit():
        qml.Hadamard(0)
        qml.CNOT([0, 1])
        outcome = measure(0)
        return outcome, qml.probs()

    outcomes = set()
    for _ in range(40):  # one of the two stays away with probability 2^-39
        outcome, probabilities = circuit()
        assert outcome.dtype == bool
        np.testing.assert_allclose(probabilities, [0, 0, 0, 1] if outcome else [1, 0, 0, 0])
        outcomes.add(bool(outcome))
    assert outcomes == {False, True}


@pytest.mark.parametrize("outcome", [0, 1])
def test_postselection_and_reset(outcome):
    @qjit
    @qml.qnode(device(2))
    def circuit(x):
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        found = measure(0, reset=True, postselect=outcome)
        return found, qml.probs()

    found, probabilities = circuit(0.9)
    assert found == outcome
    np.testing.assert_allclose(probabilities, [0, 1, 0, 0] if outcome else [1, 0, 0, 0])


def test_impossible_postselection():
    @qjit
    @qml.qnode(device(1))
    def circuit():
        measure(0, postselect=1)
        return qml.probs()

    with pytest.raises(ValueError, match=r"[Pp]ostselect") as raised:
        circuit()
    assert "test_mid_circuit.py" in str(raised.value)


def test_teleportation():
    @qjit
    @qml.qnode(device(3))
    def teleported(angles):
        qml.Rot(*angles, wires=0)
        qml.Hadamard(1)
        qml.CNOT([1, 2])
        qml.CNOT([0, 1])
        qml.Hadamard(0)

        @cond(measure(1))
        def flip():
            qml.X(2)

        flip()

        @cond(measure(0))
        def change_sign():
            qml.Z(2)

        change_sign()
        return qml.expval(qml.X(2)), qml.expval(qml.Y(2)), qml.expval(qml.Z(2))

    @qml.qnode(qml.device("default.qubit", wires=1))
    def direct(angles):
        qml.Rot(*angles, wires=0)
        return qml.expval(qml.X(0)), qml.expval(qml.Y(0)), qml.expval(qml.Z(0))

    angles = jnp.array([0.3, 1.1, -0.4])
    for _ in range(8):
        np.testing.assert_allclose(teleported(angles), direct(angles), atol=1e-10)


def test_repeat_until_success():
    @qjit
    @qml.qnode(device(2))
    def circuit():
        @while_loop(lambda done, tries: ~done)
        def attempt(done, tries):
            qml.Hadamard(0)
            return measure(0, reset=True), tries + 1

        done, tries = attempt(False, 0)
        return done, tries, qml.probs()

    done, tries, probabilities = circuit()
    assert done
    assert tries >= 1
    np.testing.assert_allclose(probabilities, [1, 0, 0, 0], atol=1e-12)


def test_outcome_in_arithmetic_and_in_loops():
    @qjit
    @qml.qnode(device(4))
    def circuit(n):
        @for_loop(0, n, 1)
        def body(wire, total):
            qml.X(wire)
            return total + measure(wire) * (2.0**wire)

        return body(0.0), qml.probs(wires=3)

    total, probabilities = circuit(3)
    assert total == 7.0
    np.testing.assert_allclose(probabilities, [1, 0])


def test_traced_wire():
    @qjit
    @qml.qnode(device(3))
    def circuit(wire):
        qml.X(wire)
        return measure(wire), measure(wires=[(wire + 1) % 3])

    assert [tuple(map(bool, circuit(wire))) for wire in range(3)] == [(True, False)] * 3


def test_statistics():
    """Wrong once in a million if right: five standard deviations of the number of ones."""

    @qjit
    @qml.qnode(device(1))
    def circuit():
        @for_loop(0, 4000, 1)
        def body(_, ones):
            qml.RY(2 * jnp.arcsin(jnp.sqrt(0.3)), 0)
            return ones + measure(0, reset=True)

        return body(0)

    ones = int(circuit())
    assert abs(ones - 1200) < 5 * np.sqrt(4000 * 0.3 * 0.7)


def test_outside_of_compiled_programs():
    with pytest.raises(OutsideProgramError, match="qjit"):
        measure(0)
    with pytest.raises(OutsideQNodeError):
        qjit(lambda: measure(0))()


def test_bad_postselection():
    @qml.qnode(device(1))
    def circuit():
        return measure(0, postselect=2)

    with pytest.raises(ParameterTypeError, match="postselect"):
        qjit(circuit)()


def test_operator_taken_back_after_a_measurement(same_as_pennylane):
    """PennyLane un-applies what becomes part of another operator, or of an observable."""

    def body(x, collapse):
        operator = qml.S(0)
        qml.Hadamard(0)
        first, second = qml.RX(x, 0), qml.RY(x, 0)
        observable = qml.Z(0) @ qml.X(1)
        hermitian = qml.Hermitian(np.eye(2), 0) @ qml.Z(1)
        collapse(2)
        qml.adjoint(operator)
        qml.T(0)
        qml.ctrl(second, control=1)
        qml.pow(first, 2)

        @for_loop(0, 2, 1)
        def layer(i):
            qml.RZ(x, i)

        layer()
        return qml.expval(observable), qml.expval(hermitian), qml.state()

    compiled = qjit(qml.QNode(lambda x: body(x, measure), device(3)))(0.4)
    reference = qml.QNode(lambda x: body(x, lambda wire: None), qml.device("default.qubit", 3))(0.4)
    for found, expected in zip(compiled, reference, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_copies_are_applied_as_often_as_asked():
    def body(collapse):
        qml.RX(0.3, 0)
        operator = qml.S(0)
        collapse(1)
        qml.RY(0.4, 0)
        qml.apply(operator)
        collapse(1)
        qml.RX(0.7, 0)
        qml.adjoint(operator)
        return qml.state()

    found = qjit(qml.QNode(lambda: body(measure), device(2)))()
    reference = qml.QNode(lambda: body(lambda wire: None), qml.device("default.qubit", 2))()
    np.testing.assert_allclose(found, reference, atol=1e-12)


def test_one_object_cannot_be_applied_twice():
    @qml.qnode(device(1))
    def circuit():
        operator = qml.S(0)
        measure(0)
        operator.queue()
        return qml.probs()

    with pytest.raises(AlreadyAppliedError, match="S"):
        qjit(circuit)()


def test_operator_taken_back_in_a_region_too_late():
    @qml.qnode(device(1))
    def circuit():
        operator = qml.S(0)

        @for_loop(0, 2, 1)
        def body(_):
            qml.adjoint(operator)

        body()
        return qml.probs()

    with pytest.raises(AlreadyAppliedError, match="S"):
        qjit(circuit)()


def test_measure_inside_an_adjoint():
    @qml.qnode(device(1))
    def circuit():
        qml.adjoint(lambda: measure(0))()
        return qml.probs()

    with pytest.raises(MeasurementInsideError, match="measure"):
        qjit(circuit)()
