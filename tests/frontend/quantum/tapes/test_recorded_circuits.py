"""What a circuit that PennyLane records for transforms may contain: loops, branches, outcomes."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from pennylane import transforms

from diastase import adjoint, cond, ctrl, for_loop, measure, passes, qjit, switch, while_loop
from diastase.capture.device_errors import (
    TapeRecordingError,
    UnknownOutcomeError,
    UnmeasuredError,
    UnsupportedTransformError,
)
from diastase.tracing.argument_errors import UnsupportedResultError
from diastase_runtime.errors import DiastaseError

engine = qml.device("default.qubit", wires=4)
mixed = qml.device("default.mixed", wires=4)


def circuit(x, n):
    @for_loop(0, 3, 1)
    def rotate(i):
        qml.RX(x * (i + 1), i)
        qml.X(0)

    rotate()
    angle = for_loop(0, n, 1)(lambda i, value: value * 1.5)(x)
    qml.for_loop(3)(lambda i: [qml.RY(angle, i), None][1])()

    @cond(True)
    def branch():
        qml.Hadamard(0)

    branch()
    cond(False)(qml.Hadamard)(1)

    @while_loop(lambda i: i < 2)
    def repeat(i):
        qml.RZ(angle, i)
        return i + 1

    repeat(0)
    switch(1)(lambda: [qml.X(2), None][1]).branch(1)(lambda: [qml.Y(2), None][1])()
    qml.adjoint(qml.RX(x, 3))
    qml.ctrl(qml.RY, control=0)(x, 3)
    return {"z": qml.expval(qml.Z(0)), "others": [qml.expval(qml.Z(1) @ qml.X(2)), qml.probs([3])]}


@pytest.mark.parametrize("device", [engine, mixed])
def test_control_flow_of_known_numbers(same_uncompiled, device):
    same_uncompiled(transforms.cancel_inverses(qml.QNode(circuit, device)), 0.4, 3)


def test_control_flow_of_traced_numbers_on_a_device_in_python(same_uncompiled):
    def looped(x, n):
        for_loop(0, n, 1)(lambda i: [qml.RX(x, i), qml.Hadamard(0), None][2])()
        return qml.expval(qml.Z(0)), qml.expval(qml.Z(1))

    qnode = transforms.cancel_inverses(qml.QNode(looped, mixed))
    for count in (1, 2, 3):
        same_uncompiled(qnode, 0.4, count)


@pytest.mark.parametrize("device", [engine, mixed])
def test_functions_adjoint_and_controlled(same_uncompiled, device):
    def function(x):
        @for_loop(0, 2, 1)
        def body(i):
            qml.RX(x * (i + 1), i)
            qml.CNOT([i, i + 1])

        body()

    def circuit(x):
        qml.Hadamard(0)
        adjoint(function)(x)
        ctrl(function, control=3)(x)
        qml.adjoint(function)(2 * x)
        qml.ctrl(function, 3)(x)
        adjoint(qml.RY)(x, 0)
        ctrl(qml.RZ(x, 0), 1, control_values=[0])
        return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1, 3])

    same_uncompiled(transforms.cancel_inverses(qml.QNode(circuit, device)), 0.3)


@pytest.mark.parametrize("device", [engine, mixed])
def test_broadcast_parameters(same_uncompiled, device):
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(0)), qml.probs(wires=[1])

    for transform in (transforms.merge_rotations, transforms.broadcast_expand):
        same_uncompiled(transform(qml.QNode(circuit, device)), jnp.arange(3.0))


@pytest.mark.parametrize("method", ["deferred", "tree-traversal"])
def test_averages_over_outcomes(same_uncompiled, method):
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(x, 0)
        outcome = measure(0)
        cond(outcome)(qml.X)(1)
        return qml.expval(qml.Z(1)), qml.probs(wires=[0, 1]), qml.expval(outcome)

    qnode = qml.QNode(circuit, qml.device("default.qubit"), mcm_method=method)
    same_uncompiled(transforms.merge_rotations(qnode), 0.4)


def test_as_pennylanes_compiler():
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    for device in (engine, mixed):
        compiled = qml.qjit(
            transforms.merge_rotations(qml.QNode(circuit, device)), compiler="diastase"
        )
        assert float(compiled(0.3)) == pytest.approx(np.cos(0.6))


def test_passes_of_the_compiler_after_transforms():
    @passes.cancel_inverses
    @transforms.merge_rotations
    @qml.qnode(engine)
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(x, 0)
        qml.Hadamard(1)
        qml.Hadamard(1)
        return qml.expval(qml.Z(0))

    compiled = qjit(circuit)
    assert float(compiled(0.3)) == pytest.approx(np.cos(0.6))
    assert str(compiled.jaxpr).count("name=RX") == 1


def test_classical_results_beside_measurements():
    def mixture(x):
        qml.RX(x, 0)
        qml.RX(x, 0)
        return qml.expval(qml.Z(0)), 2 * x

    mean, double = qjit(transforms.merge_rotations(qml.QNode(mixture, engine)))(0.3)
    assert float(mean) == pytest.approx(np.cos(0.6))
    assert float(double) == 0.6


def measuring(x, y):
    qml.RX(x, 0)
    first = measure(0, postselect=1)
    cond(first)(qml.X)(1)
    qml.RX(y, 1)
    qml.RX(y, 1)
    second = qml.measure(1, postselect=0)
    qml.cond(first & ~second, qml.RX)(x, 2)
    qml.cond(first + 2 * second >= 2, qml.X)(0)
    return qml.probs(wires=[0, 1, 2]), qml.expval(qml.Z(1))


def deferred(x, y):
    qml.RX(x, 0)
    first = measure(0)
    qml.RX(y, 1)
    second = measure(1, reset=True)
    cond(first & second)(qml.X)(1)
    values = qml.expval(first), qml.var(2 * first + second), qml.probs(op=[first, second])
    return *values, qml.probs(wires=[0, 1])


def test_outcomes_on_the_engine(same_uncompiled):
    device = qml.device("default.qubit")
    same_uncompiled(transforms.merge_rotations(qml.QNode(measuring, device)), 0.4, 0.9)


@pytest.mark.parametrize("device", [qml.device("default.qubit"), mixed])
def test_deferred_measurements(same_uncompiled, device):
    same_uncompiled(transforms.defer_measurements(qml.QNode(deferred, device)), 0.4, 0.9)


def test_deferred_measurements_that_postselect(same_uncompiled):
    device = qml.device("default.qubit")
    same_uncompiled(transforms.defer_measurements(qml.QNode(measuring, device)), 0.4, 0.9)


def test_outcomes_drawn():
    def drawn(x):
        qml.RX(x, 0)
        outcome = measure(0, reset=True)
        cond(outcome)(qml.X)(1)
        return (
            qml.sample(wires=[0, 1]),
            qml.expval(outcome),
            qml.sample(outcome),
            qml.counts(outcome),
        )

    for device in (qml.device("default.qubit", wires=3), mixed):
        for transform in (transforms.cancel_inverses, transforms.defer_measurements):
            qnode = qml.set_shots(transform(qml.QNode(drawn, device)), shots=1000)
            bits, mean, outcomes, counts = qjit(qnode)(1.1)
            assert bits.shape == (1000, 2)
            assert outcomes.shape == (1000,)
            assert abs(mean - np.sin(0.55) ** 2) < 5 / np.sqrt(1000)
            assert counts[0] + counts[1] == 1000
            assert not np.any(bits[:, 0])


def loop(x, n):
    for_loop(0, n, 1)(lambda i: [qml.RX(x, i), None][1])()


REFUSED = {
    "a loop of ours": (loop, TapeRecordingError, "a for_loop around operators"),
    "PennyLane's loop": (
        lambda x, n: qml.for_loop(n)(lambda i: [qml.RX(x, i), None][1])(),
        TapeRecordingError,
        "a for_loop of a traced value",
    ),
    "a branch of ours": (
        lambda x, n: cond(x > 0)(qml.X)(0),
        TapeRecordingError,
        "a cond around operators",
    ),
    "PennyLane's branch": (
        lambda x, n: qml.cond(x > 0, qml.X)(0),
        TapeRecordingError,
        "a cond of a traced value",
    ),
    "a while loop": (
        lambda x, n: while_loop(lambda i: i < n)(lambda i: [qml.X(0), i + 1][1])(0),
        TapeRecordingError,
        "a while_loop around operators",
    ),
    "JAX's loop": (
        lambda x, n: jax.lax.fori_loop(0, 2, lambda i, c: [qml.X(0), c][1], x),
        TapeRecordingError,
        "inside of a function that is traced",
    ),
    "an outcome": (
        lambda x, n: qml.RX(jnp.sin(measure(0)), 0),
        UnknownOutcomeError,
        "as a number",
    ),
    "traced wires": (
        lambda x, n: [qml.X(n), qml.Hadamard(0), qml.X(n)],
        UnsupportedTransformError,
        "commute_controlled of circuit compares wires",
    ),
    "measurements that are not returned": (
        lambda x, n: qml.expval(qml.X(0)),
        UnmeasuredError,
        "does not return each",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    use, error, message = REFUSED[name]

    @transforms.commute_controlled
    @qml.qnode(engine)
    def circuit(x, n):
        use(x, n)
        return qml.expval(qml.Z(0))

    with pytest.raises(error, match=message):
        qjit(circuit)(0.4, 2)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (
            qml.gradients.param_shift,
            "use jax.jacobian of the QNode, with diff_method=.parameter-shift",
        ),
        (qml.transforms.clifford_t_decomposition, "decides by values"),
    ],
)
def test_transforms_refused(transform, message):
    @transform
    @qml.qnode(engine)
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    with pytest.raises(UnsupportedTransformError, match=message) as caught:
        qjit(circuit)(0.4)
    assert isinstance(caught.value, DiastaseError)


def test_information_about_a_circuit():
    @qml.transforms.commutation_dag
    @qml.qnode(engine)
    def circuit(x):
        qml.RX(x, 0)
        return qml.expval(qml.Z(0))

    assert int(qjit(lambda x: circuit(x).size)(0.4)) == 1
    with pytest.raises(UnsupportedResultError, match="CommutationDAG"):
        qjit(circuit)(0.4)
