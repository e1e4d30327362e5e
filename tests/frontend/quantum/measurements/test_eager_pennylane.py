"""PennyLane outside of compiled programs computes with observables as without us."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase  # noqa: F401 applies the patches


def test_hamiltonians_stay_hamiltonians():
    found = []

    def function(x):
        first = qml.Hamiltonian(jnp.stack([x, 2 * x]), [qml.X(0), qml.Z(1)])
        second = qml.Hamiltonian(jnp.stack([x]), [qml.Y(0)])
        found.extend([first + second, 2 * first])
        return x

    jax.jit(function)(0.3)
    assert [type(each).__name__ for each in found] == ["LinearCombination"] * 2


def test_what_pennylane_refuses_stays_refused():
    with pytest.raises(TypeError):
        jax.jit(lambda x: (x * qml.Hamiltonian([1.0], [qml.X(0)])).coeffs[0])(0.3)


def test_devices_have_their_wires():
    assert len(qml.device("default.qubit", wires=3).wires) == 3


def test_sums_in_a_recording_leave_the_queue_alone():
    with qml.queuing.AnnotatedQueue() as queue:
        hamiltonian = qml.Hamiltonian([1.0, 2.0], [qml.X(0), qml.Z(1)])
        twice = 2 * hamiltonian
    assert len(queue) == 2
    np.testing.assert_allclose(twice.coeffs, [2, 4])
