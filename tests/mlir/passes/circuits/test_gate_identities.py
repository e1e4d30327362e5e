"""The tables of `forms` say what is true of the gates' matrices."""

import numpy as np
import pennylane as qml
import pytest

from diastase_mlir.passes.circuits.basis_states import EIGENVALUES
from diastase_mlir.passes.circuits.basis_states import GATES as CHANGED
from diastase_mlir.passes.circuits.disentangle_swap import CHANGES
from diastase_mlir.passes.circuits.gates import (
    ADDITIVE,
    ADJOINT_PAIRS,
    CONTROLLED,
    NEGATED,
    PHASES,
    SELF_INVERSE,
    SYMMETRIC,
    inverse_name,
)
from diastase_runtime.gate_table import GATES

STATES = {"0": [1, 0], "1": [0, 1], "+": np.array([1, 1]) / 2**0.5, "-": np.array([1, -1]) / 2**0.5}
ANGLES = (0.7, -1.9, 2.3)


def matrix(name, parameters=None):
    if name.startswith("Adjoint("):
        return matrix(name[8:-1]).conj().T
    if name == "PauliRot":  # of any word
        return qml.PauliRot.compute_matrix(*(parameters or ANGLES[:1]), "XYZ")
    gate = GATES[name]
    wires = list(range(gate.wires or 3))
    given = ANGLES[: gate.parameters] if parameters is None else parameters
    return qml.matrix(getattr(qml, name)(*given, wires=wires), wire_order=wires)


def is_identity(product):
    return np.allclose(product, np.eye(len(product)))


@pytest.mark.parametrize("name", sorted(SELF_INVERSE | ADJOINT_PAIRS))
def test_inverses_without_parameters(name):
    assert is_identity(matrix(inverse_name(name)) @ matrix(name))
    assert inverse_name(inverse_name(name)) == name


def test_no_gate_has_an_inverse_by_mistake():
    fixed = [name for name, gate in GATES.items() if gate.parameters == 0]
    for name in fixed:
        found = inverse_name(name)
        assert found is None or is_identity(matrix(found) @ matrix(name))


@pytest.mark.parametrize("name", sorted(ADDITIVE))
def test_additive(name):
    product = matrix(name, [0.4]) @ matrix(name, [5.1])
    np.testing.assert_allclose(product, matrix(name, [5.5]), atol=1e-12)


@pytest.mark.parametrize("name", sorted(NEGATED))
def test_negated(name):
    angles = ANGLES[: len(NEGATED[name])]
    assert is_identity(matrix(name, [-angles[k] for k in NEGATED[name]]) @ matrix(name, angles))


@pytest.mark.parametrize("name", sorted(CONTROLLED))
def test_controlled(name):
    base, value = CONTROLLED[name]
    operator = getattr(qml, base)(*ANGLES[: GATES[name].parameters], wires=1)
    expected = qml.matrix(qml.ctrl(operator, 0, control_values=value), wire_order=[0, 1])
    np.testing.assert_allclose(matrix(name), expected, atol=1e-12)


@pytest.mark.parametrize("name", sorted(PHASES))
def test_phases(name):
    found = matrix(name)
    assert found[0, 0] == 1
    assert found[0, 1] == found[1, 0] == 0


@pytest.mark.parametrize("name", sorted(SYMMETRIC))
def test_symmetric(name):
    found = matrix(name)
    wires = int(np.log2(len(found)))
    tensor = found.reshape([2] * 2 * wires)
    for other in range(1, wires):
        exchanged = tensor.swapaxes(0, other).swapaxes(wires, wires + other)
        np.testing.assert_allclose(exchanged, tensor, atol=1e-12)


def test_states_after_gates():
    for name, changes in CHANGED.items():
        for before, after in changes.items():
            overlap = np.vdot(STATES[after], matrix(name) @ STATES[before])
            np.testing.assert_allclose(abs(overlap), 1)
            if before == after and (name, before) in EIGENVALUES:
                np.testing.assert_allclose(overlap, EIGENVALUES[name, before], atol=1e-12)


def test_changes_of_states_are_exact():
    for (before, after), gates in CHANGES.items():
        state = np.array(STATES[before])
        for name in gates:
            state = matrix(name) @ state
        np.testing.assert_allclose(state, STATES[after], atol=1e-12)
