"""Noise channels on default.mixed, with traced parameters, in loops and branches."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, qjit, set_method, switch, while_loop
from diastase.capture.noise_errors import ChannelError
from diastase.capture.quantum_errors import ParameterTypeError
from diastase.capture.tracer_errors import RefusedCallError
from diastase_runtime.errors import WireOutOfRangeError

mixed = qml.device("default.mixed", wires=3)

KRAUS = [np.sqrt(0.7) * np.eye(2), np.sqrt(0.3) * np.array([[0, 1], [1, 0]])]


def test_every_channel(same_uncompiled):
    @qml.qnode(mixed)
    def circuit(p, q):
        qml.Hadamard(0)
        qml.CNOT([0, 1])
        qml.RY(q, 2)
        qml.AmplitudeDamping(p, 0)
        qml.GeneralizedAmplitudeDamping(p, q, 1)
        qml.PhaseDamping(p, 2)
        qml.DepolarizingChannel(p * q, 0)
        qml.BitFlip(p, 1)
        qml.PhaseFlip(q, 2)
        qml.ResetError(p, q / 3, 0)
        qml.PauliError("XY", p, [0, 1])
        qml.ThermalRelaxationError(p, 1.1, 0.9 + p, 0.3, 1)
        qml.QubitChannel(
            [jnp.sqrt(1 - p) * jnp.eye(2), jnp.sqrt(p) * jnp.array([[0, 1], [1, 0]])], 2
        )
        qml.QubitChannel(KRAUS, 1)
        return qml.state(), qml.expval(qml.X(0) @ qml.Z(1)), qml.var(qml.Y(2)), qml.probs([2, 0])

    same_uncompiled(circuit, 0.1, 0.6)


def test_measurements(same_uncompiled):
    matrix = np.array([[0.3, 0.2 - 0.1j], [0.2 + 0.1j, -1.0]])

    @qml.qnode(mixed)
    def circuit(p, x):
        qml.RX(x, 0)
        qml.CRY(x, [0, 1])
        qml.DepolarizingChannel(p, 1)
        traced = x * qml.X(0) + p * qml.Z(0) @ qml.Y(1)
        return {
            "matrix": qml.expval(qml.Hermitian(matrix, 1)),
            "traced": (qml.expval(traced), qml.expval(qml.Hermitian(p * matrix, 0))),
            "entropies": [qml.purity([0]), qml.vn_entropy([1]), qml.mutual_info([0], [1])],
            "part": qml.density_matrix([1, 0]),
            "of an observable": qml.probs(op=qml.X(0) @ qml.H(1)),
            "projector": qml.expval(qml.Projector([0, 1], [0, 1])),
        }

    same_uncompiled(circuit, 0.2, 0.8)


def test_in_control_flow_with_traced_wires(same_uncompiled):
    @qml.qnode(mixed)
    def circuit(p, n, wire):
        state = jnp.arange(1.0, 4.0)

        @for_loop(0, n, 1)
        def rotate(i):
            qml.RY(state[i], i)
            qml.BitFlip(p / (i + 1), i)

        @cond(p > 0.15)
        def noise():
            qml.PhaseDamping(p, wire)

        @noise.otherwise
        def no_noise():
            qml.Hadamard(wire)

        @switch(wire)
        def chosen():
            qml.S(2)

        @chosen.branch(0)
        def first():
            qml.X(0)

        @chosen.branch(1)
        def second():
            qml.DepolarizingChannel(p, 1)

        @while_loop(lambda k: k < n)
        def entangle(k):
            qml.CRX(p * k, [k, (k + 1) % 3])
            return k + 1

        rotate()
        noise()
        chosen()
        entangle(0)
        return qml.probs(wires=[0, 1, 2])

    for arguments in ((0.1, 3, 1), (0.3, 2, 0), (0.2, 0, 2)):
        same_uncompiled(circuit, *arguments)


def test_broadcasting(same_uncompiled):
    @qml.qnode(mixed)
    def circuit(x, p):
        qml.RX(x, 0)
        qml.BitFlip(p, 0)
        return qml.expval(qml.Z(0)), qml.probs(wires=[0, 1])

    same_uncompiled(circuit, jnp.linspace(0.0, 1.0, 4), 0.1)


def test_wires_by_name_and_a_device_without_wires(same_uncompiled):
    @qml.qnode(qml.device("default.mixed"))
    def circuit(p):
        qml.RX(p, "a")
        qml.CNOT(["a", "b"])
        qml.BitFlip(p, "b")
        return qml.probs(), qml.expval(qml.Z("b"))

    same_uncompiled(circuit, 0.3)


def test_operators_inside_operators(same_uncompiled):
    @qml.qnode(mixed)
    def circuit(x, wire):
        qml.adjoint(qml.RX(x, wire))
        qml.ctrl(qml.PhaseShift(x, wire), [0, 1], control_values=[0, 1])
        qml.pow(qml.RY(x, 0), 2)
        qml.prod(qml.RX(x, 0), qml.H(1))
        qml.exp(qml.X(0) @ qml.X(1), 1j * x)
        qml.QubitUnitary(jnp.array([[jnp.cos(x), -jnp.sin(x)], [jnp.sin(x), jnp.cos(x)]]), wire)
        qml.Select([qml.RX(x, 2), qml.RY(x, 2)], control=0)
        qml.StronglyEntanglingLayers(x * jnp.ones((1, 3, 3)), wires=[0, 1, 2])
        qml.TrotterProduct(x * qml.X(0) + qml.Z(1), 0.3, n=2)
        qml.PauliRot(x, "XY", [wire, 0])
        return qml.state()

    same_uncompiled(circuit, 0.7, 2)


def test_operators_that_pennylane_cannot_make_of_their_parts(same_uncompiled):
    def block(weights, wires):
        qml.RY(weights[0], wires[0])
        qml.CRX(weights[1], wires)

    @qml.qnode(mixed)
    def circuit(x, wire):
        qml.IQP(x * jnp.arange(1.0, 4.0), num_wires=3, pattern=[[[0]], [[1]], [[0, 2]]])
        qml.MPS([0, wire, 2], 2, block, 2, x * jnp.ones((2, 2)))
        qml.TTN([0, wire], 2, block, 2, x * jnp.ones((1, 2)))
        return qml.probs(wires=[0, 1, 2])

    same_uncompiled(circuit, 0.7, 1)


def test_operator_taken_back(same_uncompiled):
    @qml.qnode(mixed)
    def circuit(x):
        qml.RX(x, 0)
        operator = qml.S(0)
        for_loop(0, 2, 1)(lambda i: [qml.RY(x, i), None][1])()
        qml.adjoint(operator)
        return qml.state()

    same_uncompiled(circuit, 0.4)


def test_errors():
    @qjit
    @qml.qnode(mixed)
    def circuit(p, wire):
        qml.BitFlip(p, wire)
        return qml.expval(qml.Z(0))

    with pytest.raises(ValueError, match=r"p must be in the interval \[0,1\]"):
        circuit(1.5, 0)
    with pytest.raises(WireOutOfRangeError, match="wire 9 of a device with 3"):
        circuit(0.5, 9)
    assert float(circuit(0.5, 0)) == pytest.approx(0)


@pytest.mark.parametrize("method", ["density", "trajectories"])
def test_complex_strengths_are_refused(method):
    @set_method(method)
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(strength):
        qml.BitFlip(strength, wires=0)
        return qml.expval(qml.Z(0))

    with pytest.raises(ParameterTypeError, match=r"BitFlip.*complex"):
        qjit(circuit)(0.5 + 0.3j)
    with pytest.raises(ParameterTypeError, match=r"BitFlip.*complex"):
        qjit(lambda: circuit(0.5 + 0.3j))()


@pytest.mark.parametrize("method", ["density", "trajectories", "clifford"])
@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda x: qml.QubitChannel([], wires=0), ChannelError, r"given \[\]: it takes a list"),
        (lambda x: qml.QubitChannel(None, wires=0), ChannelError, "given None: it takes a list"),
        (lambda x: qml.QubitChannel("KK", wires=0), ChannelError, "given 'KK': it takes a list"),
        (lambda x: qml.QubitChannel([1], wires=0), ChannelError, "matrix 0 is 1, no array"),
        (lambda x: qml.QubitChannel(np.eye(2), wires=0), ChannelError, r"0 has the shape \(2,\)"),
        (lambda x: qml.QubitChannel(x * jnp.eye(2), wires=0), ChannelError, r"shape \(2,\)"),
        (
            lambda x: qml.QubitChannel([np.eye(2), np.eye(4)], wires=0),
            ChannelError,
            r"matrix 1 has the shape \(4, 4\)",
        ),
        (lambda x: qml.QubitChannel([np.eye(4)], wires=0), ChannelError, r"they are \(2, 2\)"),
        (lambda x: qml.QubitChannel([np.eye(2) / 2], wires=0), ChannelError, "trace preserving"),
        (lambda x: qml.BitFlip(None, wires=0), ParameterTypeError, "no number: None"),
        (lambda x: qml.AmplitudeDamping("a", wires=0), ParameterTypeError, "no number: 'a'"),
        (lambda x: qml.PhaseFlip({}, wires=0), ParameterTypeError, "no number: {}"),
        (lambda x: qml.PauliError("X", None, wires=0), RefusedCallError, "PauliError: "),
        (lambda x: qml.BitFlip(np.nan, wires=0), ChannelError, "in the interval"),
    ],
)
def test_what_is_no_channel_is_named_with_its_line(method, make, error, match):
    @qml.qnode(qml.device("default.mixed", wires=1))
    def circuit(x):
        make(x)
        return qml.expval(qml.Z(0))

    with pytest.raises(error, match=match) as refusal:
        qjit(circuit, method=method)(0.3)
    assert refusal.value.span is not None
    assert refusal.value.span.file == __file__


@pytest.mark.parametrize("method", ["density", "trajectories"])
def test_strengths_that_are_computed_alike_make_one_matrix(method):
    @qml.qnode(qml.device("default.mixed", wires=2))
    def circuit(strengths):
        for wire in (0, 1, 0, 1):
            qml.RY(1.0, wire)
            qml.AmplitudeDamping(strengths[0] / 2, wires=wire)
        qml.AmplitudeDamping(strengths[1], wires=0)
        return qml.probs()

    compiled = qjit(circuit, method=method, seed=1)
    found = compiled(jnp.array([0.3, 0.6]))
    checks = str(compiled.jaxpr).count("gamma must be in the interval")
    assert checks == 2
    tolerance = 1e-12 if method == "density" else 5 / np.sqrt(1000)
    np.testing.assert_allclose(found, circuit(jnp.array([0.3, 0.6])), atol=tolerance)
