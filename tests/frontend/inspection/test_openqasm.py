"""`f.qasm`, read by others: every gate as a matrix, programs by what they give."""

import re

import jax.numpy as jnp
import numpy as np
import openqasm3
import pennylane as qml
import pytest

import diastase
from diastase import cond, for_loop, grad, measure, qjit, while_loop
from diastase.inspection.openqasm.gates import STEPS
from diastase_runtime.gate_table import GATES, gate_of
from openqasm_reader import matrix_of, quantum_function, unread


def device(wires):
    return qml.device("lightning.qubit", wires=wires)


def compiled(wires, **options):
    """Compile a quantum function for so many wires."""

    def decorate(function):
        return qjit(qml.QNode(function, device(wires), **options))

    return decorate


def text_of(function, *args):
    text = function.trace(*args).qasm
    openqasm3.parse(text)
    return text


def body_of(text):
    """The statements between the declarations and the measurements at the end."""
    lines = text.splitlines()
    kept = [line for line in lines if not re.match(r"OPENQASM|include|input|qubit|bit\[|c\[|//", line)]
    return "\n".join(kept)


# --- gates ---------------------------------------------------------------------------------------

ROTATIONS = ["PauliRot[XYZ]", "PauliRot[Y]", "PauliRot[ZX]"]


def operator(name, angles, wires):
    """PennyLane's operator for a row of the gate table."""
    if name.startswith("PauliRot"):
        return qml.PauliRot(*angles, name[9:-1], wires=wires)
    if name.startswith("Adjoint"):
        return qml.adjoint(getattr(qml, name[8:-1]))(wires=wires)
    return getattr(qml, name)(*angles, wires=wires)


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", [*GATES, *ROTATIONS])
def test_gate_is_its_matrix_controlled_too(name):
    gate = gate_of(name)
    assert gate is not None
    count = gate.wires or 3
    angles = [0.3, -1.1, 2.3][: gate.parameters]
    targets = [4, 0, 2, 1][:count]

    @compiled(5)
    def circuit(values):
        operator(name, list(values), targets)
        qml.ctrl(operator(name, list(values), targets), 3, control_values=[0])
        return qml.probs(wires=[0])

    def expected():
        operator(name, angles, targets)
        qml.ctrl(operator(name, angles, targets), 3, control_values=[0])

    text = text_of(circuit, jnp.asarray(angles))
    found = matrix_of(text, 5, **({"values": angles} if angles else {}))
    np.testing.assert_allclose(
        found, qml.matrix(expected, wire_order=range(5))(), atol=1e-12
    )


def test_every_gate_of_the_table_has_steps_or_is_a_rotation():
    assert set(GATES) - set(STEPS) == {"MultiRZ", "IsingXX", "IsingYY", "IsingZZ"}


def _unitary(seed):
    matrix = np.random.default_rng(seed).normal(size=(2, 2, 2)) @ [1, 1j]
    return np.linalg.qr(matrix)[0]


@pytest.mark.parametrize(
    "matrix", [_unitary(1), _unitary(2), np.array([[0, 1j], [-1, 0]]), np.diag([1j, -1])]
)
def test_matrices_on_one_wire_and_diagonals(matrix):
    diagonal = np.exp(1j * np.array([0.1, 0.2, 0.3, 0.0]))

    def operations():
        qml.QubitUnitary(matrix, wires=0)
        qml.ctrl(qml.QubitUnitary(matrix, wires=1), 2)
        qml.DiagonalQubitUnitary(diagonal, wires=[2, 0])

    @compiled(3)
    def circuit():
        operations()
        return qml.probs(wires=[0])

    expected = qml.matrix(operations, wire_order=range(3))()
    np.testing.assert_allclose(matrix_of(text_of(circuit), 3), expected, atol=1e-12)
