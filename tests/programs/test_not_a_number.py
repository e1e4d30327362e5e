"""Angles that are NaN or infinite at run time: exact results are NaN, outcomes are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import qjit
from diastase_runtime.errors import NotANumberError

DEVICE = qml.device("lightning.qubit", wires=4)
RESULTS = {
    "expval": lambda: qml.expval(qml.Z(0)),
    "expval of a sum": lambda: qml.expval(0.5 * qml.Z(0) + 0.25 * qml.X(1) @ qml.Y(2)),
    "expval of a matrix": lambda: qml.expval(qml.Hermitian(np.diag([1.0, 2.0]), wires=0)),
    "expval of a projector": lambda: qml.expval(qml.Projector([0, 1], wires=[0, 1])),
    "var": lambda: qml.var(qml.Z(0)),
    "probs": lambda: qml.probs(),
    "probs of some wires": lambda: qml.probs(wires=[0]),
    "state": lambda: qml.state(),
    "density matrix": lambda: qml.density_matrix(wires=[0]),
    "purity": lambda: qml.purity(wires=[0]),
}


def gates(angle):
    """The bad angle acts where wires 0 and 1 are never, or not yet."""
    qml.CRX(angle, wires=[0, 3])
    qml.RY(0.3, wires=1)


def test_exact_results_are_nan():
    def program(angle):
        def result_of(measurement):
            @qml.qnode(DEVICE)
            def circuit():
                gates(angle)
                return measurement()

            return circuit()

        return [result_of(measurement) for measurement in RESULTS.values()]

    compiled = qjit(program)
    for bad in (jnp.nan, jnp.inf, -jnp.inf):
        for name, result in zip(RESULTS, compiled(bad), strict=True):
            assert np.isnan(np.asarray(result)).all(), name
    for name, result in zip(RESULTS, compiled(0.3), strict=True):
        assert not np.isnan(np.asarray(result)).any(), name


@pytest.mark.parametrize("kind", ["counts", "sample", "expval", "probs"])
def test_outcomes_are_refused(kind):
    results = {
        "counts": lambda: qml.counts(),
        "sample": lambda: qml.sample(wires=[0]),
        "expval": lambda: qml.expval(qml.Z(0)),
        "probs": lambda: qml.probs(wires=[0]),
    }

    @qjit
    @qml.set_shots(100)
    @qml.qnode(DEVICE)
    def circuit(angle):
        gates(angle)
        return results[kind]()

    with pytest.raises(NotANumberError, match="no probabilities"):
        circuit(jnp.nan)
    circuit(0.3)


def test_no_outcome_in_mid_circuit():
    @qjit
    @qml.qnode(DEVICE)
    def circuit(angle):
        gates(angle)
        diastase.measure(0)
        return qml.expval(qml.Z(1))

    with pytest.raises(NotANumberError, match="measure"):
        circuit(jax.numpy.inf)
    circuit(0.3)
