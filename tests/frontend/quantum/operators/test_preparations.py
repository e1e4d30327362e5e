"""States prepared first, and in the middle of a circuit; norms checked when the program runs."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
import scipy.sparse

from diastase import qjit
from diastase_runtime.errors import InvalidValueError, OverlappingWiresError
from frontend.quantum.operators.examples import amplitudes

PREPARATIONS = {
    "on some wires": lambda v, w: qml.StatePrep(v, wires=[w + 2, w]),
    "on all wires": lambda v, w: qml.StatePrep(jnp.kron(v, v), wires=[3, w + 1, 0, 2]),
    "normalised": lambda v, w: qml.StatePrep(3 * v, wires=[w, 3], normalize=True),
    "padded": lambda v, w: qml.StatePrep(v[:3], wires=[1, w], pad_with=0.2j),
    "real": lambda v, w: qml.StatePrep(jnp.abs(v), wires=[1, w]),
    "without norm, not validated": lambda v, w: qml.StatePrep(2 * v, wires=[1, w]),
    "known": lambda v, w: qml.StatePrep(amplitudes(2, 3), wires=[1, w, 3]),
    "sparse": lambda v, w: qml.StatePrep(scipy.sparse.csr_matrix([0, 0.6, 0, 0.8]), wires=[2, 1]),
    "embedding": lambda v, w: qml.AmplitudeEmbedding(v, wires=[w, 3], validate_norm=True),
    "basis state": lambda v, w: qml.BasisState(jnp.array([1, w, 1]), wires=[3, 2, w]),
    "basis embedding": lambda v, w: qml.BasisEmbedding(w + 5, wires=[0, 2, 3]),
    "twice": lambda v, w: (qml.BasisState([1, 1], [0, 2]), qml.StatePrep(v, wires=[1, w])),
    "under controls": lambda v, w: (qml.X(3), qml.ctrl(qml.StatePrep(v, wires=[1, w]), 3)),
    "inverted": lambda v, w: qml.adjoint(qml.StatePrep(v, wires=[1, w])),
}


def _states(vector, wire):
    def state(prepare):
        @qml.qnode(qml.device("default.qubit", wires=4))
        def circuit():
            prepare(vector, wire)
            qml.CRY(0.3, [2, 1])
            return qml.state()

        return circuit()

    return {name: state(prepare) for name, prepare in PREPARATIONS.items()}


def test_prepared_states_are_those_of_default_qubit():
    vector = amplitudes(1, 2)
    found = qjit(_states)(vector, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _states(vector, 0)
    for name, state in expected.items():
        np.testing.assert_allclose(found[name], np.ravel(state), atol=1e-12, err_msg=name)


def test_a_large_state_is_one_operation():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=12))
    def circuit(vector):
        qml.StatePrep(vector, wires=range(12))
        return qml.state()

    vector = amplitudes(3, 12)
    np.testing.assert_allclose(circuit(vector), vector, atol=1e-15)
    assert str(circuit.jaxpr).count("prepare[") == 1


@pytest.mark.parametrize(
    "prepare",
    [
        lambda v: qml.AmplitudeEmbedding(v, wires=[0, 1]),
        lambda v: qml.StatePrep(v, wires=[0, 1], validate_norm=True),
        lambda v: (qml.X(2), qml.StatePrep(v, wires=[0, 1])),
    ],
)
def test_norms_are_checked_where_pennylane_does(prepare):
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(vector):
        prepare(vector)
        return qml.state()

    compiled, vector = qjit(circuit), amplitudes(1, 2)
    np.testing.assert_allclose(compiled(vector), circuit(vector), atol=1e-12)
    with pytest.raises(ValueError, match="norm"):
        circuit(1.1 * vector)
    with pytest.raises(InvalidValueError, match="norm 1") as raised:
        compiled(1.1 * vector)
    assert raised.value.span.file == __file__


def test_bits_of_a_basis_state_are_checked():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(bits):
        qml.BasisState(bits, wires=[2, 0])
        return qml.probs()

    np.testing.assert_allclose(circuit(np.array([1, 0])), np.eye(8)[1], atol=1e-15)
    with pytest.raises(InvalidValueError, match="zeros and ones"):
        circuit(np.array([1, 2]))


def test_wires_of_a_prepared_state_are_checked():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(vector, wire):
        qml.StatePrep(vector, wires=[1, wire])
        return qml.state()

    assert circuit(amplitudes(1, 2), 2).shape == (8,)
    with pytest.raises(OverlappingWiresError, match="StatePrep"):
        circuit(amplitudes(1, 2), 1)


def test_a_state_of_the_wrong_size_is_pennylanes_error():
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=3))
    def circuit(vector):
        qml.StatePrep(vector, wires=[0, 1])
        return qml.state()

    with pytest.raises(ValueError, match="length 4"):
        circuit(jax.numpy.ones(3))
