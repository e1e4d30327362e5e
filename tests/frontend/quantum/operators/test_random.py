"""Operators of random kinds and sizes: hypothesis against default.qubit.

Shapes are static and values traced: hypothesis draws the shapes, and every program is called with
several values.
"""

import itertools

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diastase import qjit
from frontend.quantum.operators.examples import angles, unitary

WIRES = 6
_SETTINGS = settings(max_examples=12, deadline=None, derandomize=True, database=None)


def _check(apply, *values):
    """Compile a circuit that applies something to a state without symmetries; compare states."""

    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def circuit(*traced):
        for wire in range(WIRES):
            qml.RY(0.3 + 0.4 * wire, wire)
            qml.RZ(1.1 - 0.2 * wire, wire)
        for first, second in itertools.pairwise(range(WIRES)):
            qml.CNOT([first, second])
        apply(*traced)
        return qml.state()

    compiled = qjit(circuit)
    for arguments in values:
        np.testing.assert_allclose(compiled(*arguments), circuit(*arguments), atol=1e-10)


@st.composite
def controlled(draw, largest_target):
    """Targets, controls and their values."""
    order = draw(st.permutations(range(WIRES)))
    targets = draw(st.integers(1, largest_target))
    controls = draw(st.integers(0, WIRES - targets))
    values = draw(st.lists(st.booleans(), min_size=controls, max_size=controls))
    return order[:targets], order[targets : targets + controls], values


@_SETTINGS
@given(controlled(4), st.booleans(), st.integers(0, 100))
def test_unitary_matrices_under_controls(place, inverted, seed):
    targets, controls, values = place

    def apply(matrix, offset):
        wires = [wire + offset for wire in targets]
        operator = qml.QubitUnitary(matrix, wires=wires)
        if inverted:
            operator = qml.adjoint(operator)
        if controls:
            qml.ctrl(operator, [*controls[:1], *(wire + offset for wire in controls[1:])], values)

    _check(apply, (unitary(seed, len(targets)), 0), (unitary(seed + 1, len(targets)), 0))


@_SETTINGS
@given(controlled(5), st.data())
def test_rotations_about_pauli_words_under_controls(place, data):
    targets, controls, values = place
    letters = st.lists(st.sampled_from("IXYZ"), min_size=len(targets), max_size=len(targets))
    word = "".join(data.draw(letters))

    def apply(theta, offset):
        operator = qml.PauliRot(theta, word, wires=[wire + offset for wire in targets])
        if controls:
            qml.ctrl(operator, controls, control_values=values)

    _check(apply, (0.7, 0), (-2.9, 0))


@pytest.mark.thorough
@_SETTINGS
@given(controlled(5), st.integers(0, 100))
def test_diagonal_matrices_under_controls(place, seed):
    targets, controls, values = place

    def apply(phases, offset):
        operator = qml.DiagonalQubitUnitary(
            jnp.exp(1j * phases), wires=[wire + offset for wire in targets]
        )
        if controls:
            qml.ctrl(operator, controls, control_values=values)

    size = 2 ** len(targets)
    _check(apply, (angles(seed, size), 0), (angles(seed + 1, size), 0))


@_SETTINGS
@given(st.permutations(range(WIRES)), st.integers(1, 4), st.integers(0, 16), st.booleans())
def test_phases_of_projectors(order, number, dimension, inverted):
    dimension = dimension % (2**number + 1)

    def apply(phi, offset):
        operator = qml.PCPhase(phi, dimension, wires=[wire + offset for wire in order[:number]])
        if inverted:
            operator = qml.adjoint(operator)
        qml.ctrl(operator, order[number])

    _check(apply, (0.7, 0), (-1.3, 0))
