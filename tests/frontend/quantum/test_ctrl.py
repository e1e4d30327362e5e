"""`ctrl` of operators, classes and quantum functions, against PennyLane, uncompiled."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import adjoint, cond, ctrl, for_loop, measure, qjit, while_loop
from diastase.capture.quantum_errors import (
    AlreadyAppliedError,
    ControlValuesError,
    MeasurementInsideError,
    NotAQuantumFunctionError,
)
from diastase_runtime.errors import OverlappingWiresError, WireOutOfRangeError

WIRES = 5


def device(wires=WIRES):
    return qml.device("default.qubit", wires=wires)


def applied(function):
    """A QNode of a function that is applied to an entangled state."""

    @qml.qnode(device())
    def circuit(x, *values):
        for wire in range(WIRES):
            qml.RX(x + wire, wire)
            qml.RZ(x * wire, wire)
            qml.CNOT([wire, (wire + 1) % WIRES])
        function(x, *values)
        return qml.state()

    return circuit


def compare(function, *calls):
    """One compiled program, called with several arguments."""
    circuit = applied(function)
    compiled = qjit(circuit)
    for arguments in calls:
        np.testing.assert_allclose(compiled(*arguments), circuit(*arguments), atol=1e-10)


def test_operators_and_classes():
    def function(x, wire, other):
        qml.ctrl(qml.RX(x, 0), 3)
        ctrl(qml.RX, control=[3, 4], control_values=[1, 0])(x, wires=0)
        qml.ctrl(qml.S, (1, wire), control_values=0 * np.array([1, 1]))(2)
        ctrl(qml.PauliX(0), control=wire)
        ctrl(qml.CNOT([0, 1]), [2, 3], control_values=(True, False))
        ctrl(ctrl(qml.T(0), 1, 0), 2)
        qml.ctrl(qml.QFT, 4)([0, 1, 2])
        ctrl(qml.adjoint(qml.QFT([1, 0])), control=[other, 4])
        ctrl(qml.QubitUnitary(np.diag([1, 1j]), 0), [1, 2], control_values=[0, 1])
        ctrl(qml.GlobalPhase, 2)(x)
        ctrl(qml.GlobalPhase(x, wires=0), [wire, 1], [0, 1])
        ctrl(qml.MultiRZ, 4, work_wires=3)(x, wires=[0, 1, 2])
        ctrl(qml.DoubleExcitation, 4, 0)(x, wires=[0, 1, 2, 3])
        ctrl(qml.OrbitalRotation, wire)(x, wires=[0, 1, 2, 4])
        ctrl(qml.DoubleExcitationPlus(x, wires=[0, 1, 2, 3]), 4)
        ctrl(qml.Identity, 3)(0)
        ctrl(lambda op: qml.apply(op), 1)(qml.PhaseShift(x, 0))

    compare(function, (0.3, 3, 3), (0.7, 3, 2))


def layers(y, n, first):
    qml.RX(y, first)
    qml.GlobalPhase(y)
    qml.MultiRZ(y, [0, 1])

    @for_loop(0, n, 1)
    def loop(i, z):
        qml.RY(z * i, i % 3)
        qml.cond(z > 0.35, qml.X, qml.Y)(1)
        ctrl(lambda: [qml.RX(z, 0), qml.X(1)], 2, 0)()
        qml.QubitUnitary(jnp.array([[0, 1], [jnp.exp(1j * z), 0]]), (i + 1) % 3)
        return z * 1.1

    z = loop(y)

    @while_loop(lambda k, z: k < n)
    def climb(k, z):
        adjoint(lambda: [qml.S(0), qml.CRX(z, [1, 2])])()
        qml.GlobalPhase(z)
        return k + 1, z + 0.3

    climb(0, z)


@pytest.mark.thorough
def test_functions_with_control_flow():
    def function(x, n):
        ctrl(layers, 3)(x, n, 0)
        qml.ctrl(adjoint(layers), [3], control_values=[False])(2 * x, n, first=1)
        qml.adjoint(qml.ctrl(layers, [3, 4], control_values=[0, 1]))(3 * x, n, 2)
        ctrl(ctrl(lambda: qml.RX(x, 0), 3), 4, control_values=[False])()
        ctrl(lambda: [qml.X(0), qml.ctrl(qml.Y, 1)(0)], [4, 2], [0, 0])()
        qml.cond(n > 1, ctrl(lambda: for_loop(0, n, 1)(lambda i: qml.S(i % 2))(), 4))()
        for_loop(3, 5, 1)(lambda i: ctrl(layers, i)(x, 2, 1))()
        qml.Hadamard(3)

    compare(function, (0.3, 4), (0.2, 0), (0.5, 1))


def test_operators_that_become_part_of_others_inside():
    def function(x):
        def inside():
            operator = qml.S(0)
            qml.RX(x, 0)
            qml.for_loop(0, 2, 1)(lambda i: qml.RX(x, i) and None)()
            qml.adjoint(operator)

        qml.ctrl(inside, 2)()
        qml.ctrl(lambda: qml.ctrl(qml.T(2), 0), 3)()
        qml.adjoint(qml.PhaseShift(x, 4))

    compare(function, (0.3,))


def test_traced_wires_and_values():
    """PennyLane, which runs the reference, is given numbers."""

    def body(y):
        qml.RX(y, 0)
        qml.GlobalPhase(0.3)
        for_loop(0, 2, 1)(lambda i: qml.RY(y * i, i))()

    def function(x, wire, other, value, flag):
        ctrl(body, control=[wire, other], control_values=[value, flag])(x)
        ctrl(qml.RX, control=other, control_values=value)(x, wires=wire)
        adjoint(ctrl(body, control=jnp.array([2, 4]), control_values=jnp.stack([flag, value])))(x)
        ctrl(ctrl(lambda: qml.Rot(x, 0.1, 0.2, 0), wire, flag), other, value)()

    def reference(x, wire, other, value, flag):
        value, flag = int(value), int(flag)
        qml.ctrl(body, control=[wire, other], control_values=[value, flag])(x)
        qml.ctrl(qml.RX, control=other, control_values=value)(x, wires=wire)
        qml.adjoint(qml.ctrl(body, control=[2, 4], control_values=[flag, value]))(x)
        qml.ctrl(qml.Rot(x, 0.1, 0.2, 0), [wire, other], [flag, value])

    compiled, expected = qjit(applied(function)), applied(reference)
    for wire, other, value, flag in ((2, 3, 1, True), (4, 2, 0, False), (3, 4, 0, True)):
        arguments = 0.3, wire, other, value, flag
        np.testing.assert_allclose(compiled(*arguments), expected(*arguments), atol=1e-10)


class Ladder(qml.operation.Operation):
    """A user's operator with a loop and a branch in its decomposition."""

    num_wires = 3

    def __init__(self, x, n, wires):
        super().__init__(x, n, wires=wires)

    @property
    def ndim_params(self):
        return (0, 0)

    @staticmethod
    def compute_decomposition(x, n, wires):
        @qml.for_loop(0, n, 1)
        def loop(i, y):
            qml.RX(y, wires[0])
            qml.CRY(y, wires[1:])
            qml.cond(i > 0, qml.T)(wires[1])
            return 2 * y

        loop(x)
        return []


def test_decompositions_of_the_users():
    def function(x, n):
        qml.ctrl(lambda: [Ladder(x, n, [0, 1, 2]), qml.X(1)], [3, 4], [1, 0])()
        adjoint(lambda: [qml.S(0), Ladder(x, n, [2, 1, 3])])()
        qml.ctrl(Ladder(x, n, [1, 3, 4]), 0)

    def reference(x, n):
        def ladder(*arguments):
            with qml.queuing.AnnotatedQueue() as queue:
                Ladder.compute_decomposition(*arguments)
            return list(map(qml.apply, queue.queue))

        qml.ctrl(lambda: [ladder(x, n, [0, 1, 2]), qml.X(1)], [3, 4], [1, 0])()
        qml.adjoint(lambda: [qml.S(0), ladder(x, n, [2, 1, 3])])()
        qml.ctrl(ladder, 0)(x, n, [1, 3, 4])

    compiled, expected = qjit(applied(function)), applied(reference)
    for n in (0, 3):
        np.testing.assert_allclose(compiled(0.3, n), expected(0.3, n), atol=1e-10)


def test_arrays_of_any_size():
    def body(y, n):
        angles = jnp.linspace(0.0, y, n)

        @for_loop(0, n, 1)
        def loop(i, values):
            qml.RX(values.sum() + angles[i], i % 3)
            return jnp.concatenate([values, angles])

        loop(angles)

    def function(x, n):
        ctrl(body, 4)(x, n)
        ctrl(adjoint(body), 3, 0)(2 * x, n)

    compare(function, (0.3, 3), (0.3, 1))


def test_what_a_function_returns():
    @qjit
    @qml.qnode(device())
    def circuit(x):
        def function(y):
            qml.X(0)
            return {"double": 2 * y, "constant": 3}

        returned = ctrl(function, 1, 0)(x)
        operator = ctrl(qml.RX(x, 0), 3)
        assert isinstance(operator, qml.CRX)
        assert isinstance(ctrl(qml.S, 3)(0), qml.ops.Controlled)
        return returned, qml.expval(qml.Z(0))

    returned, value = circuit(0.3)
    assert returned == {"double": 0.6, "constant": 3}
    assert value == pytest.approx(-1)


def test_outside_of_programs_it_is_pennylanes():
    assert ctrl(qml.RX(0.3, 0), 1) == qml.ctrl(qml.RX(0.3, 0), 1)
    assert ctrl(qml.S, [1, 2], [0, 1])(0) == qml.ctrl(qml.S(0), [1, 2], [0, 1])
    with qml.queuing.AnnotatedQueue() as queue:
        ctrl(lambda: [qml.S(0), qml.T(0)], 1)()
    assert queue.queue == [qml.ctrl(qml.S(0), 1), qml.ctrl(qml.T(0), 1)]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: ctrl(lambda: measure(0), 1)(), MeasurementInsideError),
        (lambda x: qml.ctrl(lambda: qml.measure(0), 1)(), MeasurementInsideError),
        (lambda x: ctrl(lambda: cond(x > 0)(lambda: qml.measure(0) and None)(), 1)(),
         MeasurementInsideError),
        (lambda x: adjoint(ctrl(lambda: qml.measure(0), 1))(), MeasurementInsideError),
        (lambda x: ctrl([qml.X(0)], 1), NotAQuantumFunctionError),
        (lambda x: ctrl(None, 1), NotAQuantumFunctionError),
        (lambda x: (lambda op: ctrl(lambda: qml.adjoint(op), 1)())(qml.S(0)), AlreadyAppliedError),
        (lambda x: (lambda op: adjoint(lambda: qml.ctrl(op, 1))())(qml.S(0)), AlreadyAppliedError),
        (lambda x: ctrl(qml.X, [1, 2], [1])(0), ControlValuesError),
        (lambda x: ctrl(lambda: qml.X(0), [1, 2], [1, 0, 0])(), ControlValuesError),
        (lambda x: ctrl(lambda: qml.X(0), 1, 2)(), ControlValuesError),
        (lambda x: ctrl(lambda: qml.X(0), 1, "1")(), ControlValuesError),
        (lambda x: ctrl(lambda: qml.X(0), 1, x)(), ControlValuesError),
        (lambda x: ctrl(qml.X(0), 1, x > 0), ControlValuesError),
        (lambda x: ctrl(lambda: qml.X(0), [1, 1])(), OverlappingWiresError),
        (lambda x: ctrl(lambda: qml.X(0), [0])(), OverlappingWiresError),
        (lambda x: ctrl(lambda: None, [7])(), WireOutOfRangeError),
    ],
)  # fmt: skip
def test_refused(function, error):
    @qml.qnode(device())
    def circuit(x):
        function(x)
        return qml.probs()

    with pytest.raises(error):
        qjit(circuit)(0.3)


def test_overlaps_that_only_the_running_program_knows():
    @qjit
    @qml.qnode(device())
    def circuit(wire):
        ctrl(lambda: [qml.RX(0.3, 0), qml.CNOT([1, 2])], wire)()
        return qml.probs()

    circuit(3)
    for wire, error in ((0, OverlappingWiresError), (2, OverlappingWiresError),
                        (5, WireOutOfRangeError), (-1, WireOutOfRangeError)):  # fmt: skip
        with pytest.raises(error):
            circuit(wire)


def test_on_a_device_that_python_runs():
    """`ctrl` and `adjoint` of functions with loops, on default.mixed."""

    def body(y, n):
        @for_loop(0, n, 1)
        def loop(i, z):
            qml.RX(z, i % 3)
            adjoint(lambda: [qml.S(0), qml.RY(z, 1)])()
            qml.cond(z > 0.5, qml.T)(0)
            return z * 1.5

        loop(y)
        qml.CNOT([0, 1])

    @qml.qnode(qml.device("default.mixed", wires=4))
    def circuit(x, n):
        for wire in range(4):
            qml.RX(x + wire, wire)
        ctrl(body, 3)(x, n)
        qml.adjoint(body)(2 * x, n)
        qml.adjoint(qml.ctrl(adjoint(body), 3, [0]))(3 * x, n)
        qml.BitFlip(0.1, 0)
        return qml.probs()

    compiled = qjit(circuit)
    for n in (0, 3):
        np.testing.assert_allclose(compiled(0.3, n), circuit(0.3, n), atol=1e-10)
