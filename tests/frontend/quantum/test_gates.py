"""Every gate, with known and with traced parameters and wires, in and out of controls."""

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import measure, qjit
from diastase.capture.noise_errors import NoiseOnPureStateError
from diastase.capture.quantum_errors import (
    ParameterTypeError,
    UnknownWireError,
    UnsupportedOperationError,
    WireTypeError,
)
from diastase_runtime.errors import OverlappingWiresError, WireOutOfRangeError

WIRES = 5

# Name of the PennyLane class, number of wires, number of parameters.
GATES = [
    ("Identity", 1, 0), ("Hadamard", 1, 0), ("PauliX", 1, 0), ("PauliY", 1, 0), ("PauliZ", 1, 0),
    ("S", 1, 0), ("T", 1, 0), ("SX", 1, 0), ("RX", 1, 1), ("RY", 1, 1), ("RZ", 1, 1),
    ("PhaseShift", 1, 1), ("U1", 1, 1), ("U2", 1, 2), ("U3", 1, 3), ("Rot", 1, 3),
    ("CNOT", 2, 0), ("CY", 2, 0), ("CZ", 2, 0), ("CH", 2, 0), ("SWAP", 2, 0), ("ISWAP", 2, 0),
    ("SISWAP", 2, 0), ("ECR", 2, 0), ("PSWAP", 2, 1), ("CRX", 2, 1), ("CRY", 2, 1), ("CRZ", 2, 1),
    ("CRot", 2, 3), ("ControlledPhaseShift", 2, 1), ("CPhaseShift00", 2, 1),
    ("CPhaseShift01", 2, 1), ("CPhaseShift10", 2, 1), ("IsingXX", 2, 1), ("IsingYY", 2, 1),
    ("IsingZZ", 2, 1), ("IsingXY", 2, 1), ("SingleExcitation", 2, 1),
    ("SingleExcitationPlus", 2, 1), ("SingleExcitationMinus", 2, 1), ("FermionicSWAP", 2, 1),
    ("Toffoli", 3, 0), ("CSWAP", 3, 0), ("CCZ", 3, 0), ("MultiRZ", 3, 1),
    ("DoubleExcitation", 4, 1), ("DoubleExcitationPlus", 4, 1), ("DoubleExcitationMinus", 4, 1),
    ("OrbitalRotation", 4, 1), ("QubitCarry", 4, 0), ("QubitSum", 3, 0),
]  # fmt: skip


def spread(seed: int) -> None:
    """A state in which every wire differs from every other."""
    for wire in range(WIRES):
        qml.RY(0.3 + 0.4 * wire + seed, wire)
        qml.RZ(1.1 - 0.2 * wire, wire)
    for wire in range(WIRES - 1):
        qml.CNOT([wire, wire + 1])


def device(wires: int = WIRES) -> qml.devices.Device:
    return qml.device("default.qubit", wires=wires)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "wires", "parameters"), GATES)
def test_gate(name, wires, parameters, same_as_pennylane):
    gate = getattr(qml, name)
    known = np.random.default_rng(7).uniform(-3, 3, parameters)
    permuted = [3, 0, 4, 1][:wires]

    def applied(angles, labels):
        @qml.qnode(device())
        def circuit():
            spread(0)
            gate(*angles, wires=labels)
            return qml.state()

        return circuit()

    def program(angles, shift):
        from_known = applied(list(known), permuted)
        from_traced = applied([angle * 2 for angle in angles], [wire + shift for wire in permuted])
        return from_known, from_traced

    angles = [jnp.asarray(angle) for angle in known]
    same_as_pennylane(program, angles, 0)
    same_as_pennylane(program, angles, -0)


@pytest.mark.parametrize("name", ["S", "RX", "Rot", "ISWAP", "PSWAP", "DoubleExcitation", "U3"])
def test_adjoint_and_controlled_gates(name, same_as_pennylane):
    gate = getattr(qml, name)
    parameters = {entry[0]: entry[2] for entry in GATES}[name]
    wires = [1, 3, 0, 2][: {entry[0]: entry[1] for entry in GATES}[name]]

    @qml.qnode(device())
    def circuit(angle):
        spread(1)
        angles = [angle + k for k in range(parameters)]
        qml.adjoint(gate(*angles, wires=wires))
        qml.ctrl(gate(*angles, wires=wires), control=4, control_values=[0])
        qml.ctrl(qml.adjoint(gate(*angles, wires=wires)), control=[4])
        qml.adjoint(qml.ctrl(gate(*angles, wires=wires), control=[4]))
        qml.adjoint(qml.adjoint(gate(*angles, wires=wires)))
        return qml.state()

    same_as_pennylane(circuit, 0.37)


@pytest.mark.parametrize("wire", [0, 1])
def test_many_controls_with_values_on_traced_wires(wire, same_as_pennylane):
    @qml.qnode(device())
    def circuit(x, wire):
        spread(2)
        qml.ctrl(qml.RX(x, wires=wire), control=[3, wire + 1, 4], control_values=[1, 0, 1])
        qml.MultiControlledX(wires=[3, 4, wire], control_values=[0, 1])
        qml.ctrl(qml.GlobalPhase(x), control=[wire, 4], control_values=[1, 0])
        qml.ctrl(qml.Hadamard(wire), control=[4])
        return qml.state()

    same_as_pennylane(circuit, 0.7, wire)


def test_matrices_known_and_traced(same_as_pennylane):
    known = qml.matrix(qml.Rot(0.1, 0.2, 0.3, wires=0))

    @qml.qnode(device())
    def circuit(x, wire):
        spread(3)
        c, s = jnp.cos(x), jnp.sin(x)
        rotation = jnp.array([[c, -s], [s, c]])
        qml.QubitUnitary(known, wires=wire)
        qml.QubitUnitary(rotation, wires=[2])
        qml.QubitUnitary(jnp.kron(rotation, known), wires=[4, wire])
        qml.ControlledQubitUnitary(rotation, wires=[3, 1, 0], control_values=[0, 1])
        qml.ctrl(qml.QubitUnitary(known, wires=3), control=[wire])
        qml.adjoint(qml.QubitUnitary(rotation + 1j * 0, wires=2))
        return qml.state()

    same_as_pennylane(circuit, 0.7, 1)


def test_traced_matrix_that_is_overwritten_afterwards(same_as_pennylane):
    """The engine must see the matrix as it was when the gate was applied."""

    @qml.qnode(device(2))
    def circuit(matrix):
        qml.QubitUnitary(matrix, wires=0)
        changed = matrix.at[0, 0].set(0.0).at[0, 1].set(1.0).at[1, 0].set(1.0).at[1, 1].set(0.0)
        qml.QubitUnitary(changed, wires=1)
        qml.QubitUnitary(matrix, wires=0)
        return qml.state()

    same_as_pennylane(circuit, jnp.array(qml.matrix(qml.RX(0.4, 0))))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "build",
    [
        lambda x, w: qml.QFT(wires=[0, 1, 2]),
        lambda x, w: qml.PauliRot(x, "XZY", wires=[0, w, 4]),
        lambda x, w: qml.GlobalPhase(x),
        lambda x, w: qml.pow(qml.RX(x, w), 3),
        lambda x, w: qml.pow(qml.X(w), 0.5),
        lambda x, w: qml.prod(qml.X(0), qml.RX(x, w)),
        lambda x, w: qml.evolve(qml.X(w), x),
        lambda x, w: qml.BasisState(np.array([1, 0, 1]), wires=[0, 2, 4]),
        lambda x, w: qml.Permute([2, 0, 1], wires=[0, 1, 2]),
        lambda x, w: qml.TrotterProduct(qml.sum(qml.X(0), qml.Z(1)), x, n=2),
        lambda x, w: qml.DiagonalQubitUnitary(np.exp(1j * np.arange(4)), wires=[0, 3]),
        lambda x, w: qml.StronglyEntanglingLayers(x * np.ones((2, 3, 3)), wires=[0, 1, 2]),
        lambda x, w: qml.BasicEntanglerLayers(x * np.ones((2, 3)), wires=[0, 1, w]),
        lambda x, w: qml.IsingXX(x, wires=[w, 0]).decomposition(),
        lambda x, w: qml.Barrier(wires=[0, 1]),
        lambda x, w: qml.FermionicSingleExcitation(x, wires=[0, 1, 2]),
        lambda x, w: qml.GroverOperator(wires=[0, 1, 2]),
        lambda x, w: qml.PCPhase(x, dim=3, wires=[0, 1]),
        lambda x, w: qml.SpecialUnitary(x * jnp.arange(15), wires=[w, 0]),
        lambda x, w: qml.ctrl(qml.adjoint(qml.SpecialUnitary(x * jnp.ones(3), [w])), control=0),
    ],
    ids=lambda build: "",
)
def test_decomposed(build, same_as_pennylane):
    @qml.qnode(device())
    def circuit(x, wire):
        spread(4)
        build(x, wire)
        return qml.state()

    same_as_pennylane(circuit, 0.61, 3)


def test_state_preparation(same_as_pennylane):
    amplitudes = np.array([0.5, 0.5j, -0.5, 0.5])

    @qml.qnode(device(3))
    def circuit(bits):
        qml.StatePrep(amplitudes, wires=[0, 2])
        return qml.probs()

    same_as_pennylane(circuit, 0)

    @qml.qnode(device(3))
    def traced_bits(bits):
        qml.BasisState(bits, wires=[0, 1, 2])
        return qml.probs()

    same_as_pennylane(traced_bits, jnp.array([1, 0, 1]))


def test_string_labels():
    def function(x):
        @qml.qnode(qml.device("default.qubit", wires=["a", 7, "c"]))
        def circuit():
            qml.RX(x, wires="c")
            qml.CNOT(["c", "a"])
            return qml.probs(wires=["a", 7]), qml.state()

        return circuit()

    found, expected = qjit(function)(0.4), function(0.4)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-12)


def test_device_without_wires(same_as_pennylane):
    @qml.qnode(qml.device("default.qubit"))
    def circuit(x):
        qml.RX(x, 1)
        qml.CNOT([1, 0])
        return qml.state(), qml.expval(qml.Z(2))

    same_as_pennylane(circuit, 0.4)


@pytest.mark.parametrize(
    "apply",
    [
        lambda x: qml.PauliRot(x, "XXI", wires=[0, 1, 2]),
        lambda x: qml.PauliRot(x, "XIX", wires=[0, 1, 2]),
        lambda x: qml.adjoint(qml.PauliRot(x, "XI", wires=[0, 1])),
        lambda x: qml.BasisState(np.array([1, 0, 0]), wires=[0, 1, 2]),
        lambda x: qml.GlobalPhase(x, wires=[0, 1]),
        lambda x: (qml.RX(x, 0), qml.Barrier([0, 1, 2])),
    ],
)
def test_wires_without_gates_on_a_device_without_wires(apply, same_as_pennylane):
    @qml.qnode(qml.device("default.qubit"))
    def circuit(x):
        apply(x)
        return qml.state()

    same_as_pennylane(circuit, 0.4)


# A gate of the user's that is called like another one of PennyLane's.
Namesake = type(
    "RX",
    (qml.operation.Operation,),
    {
        "num_params": 1,
        "num_wires": 1,
        "compute_decomposition": staticmethod(lambda angle, wires: [qml.RY(angle, wires)]),
        "compute_matrix": staticmethod(qml.RY.compute_matrix),
    },
)


def test_gates_of_the_user_with_names_of_pennylanes(same_as_pennylane):
    @qml.qnode(device(2))
    def circuit(x):
        Namesake(x, wires=0)
        qml.ctrl(Namesake(x, wires=0), control=1, control_values=[0])
        qml.adjoint(Namesake(2 * x, wires=1))
        return qml.state()

    same_as_pennylane(circuit, 0.4)


class Branching(qml.operation.Operation):
    """Its decomposition looks at its parameter."""

    num_params = 1

    @staticmethod
    def compute_decomposition(angle, wires):
        return [qml.RX(angle, wires)] if angle > 0 else []


class Opaque(qml.operation.Operation):
    """PennyLane knows nothing about it."""

    num_params = 1


def compiled(body, wires=3):
    """The error of compiling a circuit with this body and calling it with (0.5, 1)."""

    @qjit
    def program(x, wire):
        @qml.qnode(qml.device("lightning.qubit", wires=wires))
        def circuit():
            body(x, wire)
            return qml.probs()

        return circuit()

    return program(0.5, 1)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (lambda x, w: qml.RX(x, 3), WireOutOfRangeError, "RX on wire 3"),
        (lambda x, w: qml.RX(x * 1j, 0), ParameterTypeError, "complex"),
        (lambda x, w: qml.RX(None, 0), ParameterTypeError, "no number: None"),
        (lambda x, w: qml.RX("0.3", 0), ParameterTypeError, "no number: '0.3'"),
        (lambda x, w: qml.RX(x, x), WireTypeError, "integer scalar"),
        (lambda x, w: qml.Hermitian(np.eye(2), 0), UnsupportedOperationError, "observable"),
        (lambda x, w: qml.BitFlip(0.1, 0), NoiseOnPureStateError, "noise"),
        (lambda x, w: Branching(x, wires=0), UnsupportedOperationError, "traced"),
        (lambda x, w: Opaque(x, wires=0), UnsupportedOperationError, "neither"),
        (lambda x, w: measure(5), WireOutOfRangeError, "measure on wire 5"),
        (lambda x, w: measure([0, 1]), ParameterTypeError, "one wire"),
    ],
)  # fmt: skip
def test_refused_while_tracing(body, error, message):
    with pytest.raises(error, match=message) as raised:
        compiled(body)
    span = getattr(raised.value, "span", None)
    assert span is not None
    assert span.file == __file__


def test_unknown_label():
    with pytest.raises(UnknownWireError, match="'c'"):
        compiled(lambda x, w: qml.X("c"), wires=["a", "b"])


def test_traced_wire_out_of_range():
    with pytest.raises(WireOutOfRangeError, match="RX on wire 6") as raised:
        compiled(lambda x, w: qml.RX(x, w + 5))
    assert "test_gates.py" in str(raised.value)


def test_traced_wires_that_overlap():
    with pytest.raises(OverlappingWiresError, match="CNOT") as raised:
        compiled(lambda x, w: qml.CNOT([w, w * 1]))
    assert "test_gates.py" in str(raised.value)


def test_traced_wire_needs_numbered_labels():
    with pytest.raises(WireTypeError, match="0, 1, 2"):
        compiled(lambda x, w: qml.RX(x, w), wires=["a", "b"])


def test_overlap_of_numbers():
    with pytest.raises(ValueError, match="must be different"):  # PennyLane's own
        compiled(lambda x, w: qml.CNOT([1, 1]))
