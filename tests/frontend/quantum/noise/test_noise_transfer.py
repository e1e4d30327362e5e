"""Transfer matrices, against Kraus matrices; smooth where these are not."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from scipy.stats import unitary_group

from diastase import qjit
from diastase.capture.noise_errors import ChannelError
from diastase.quantum.noise.kraus import kraus_of, pauli_mixture
from diastase.quantum.noise.transfer import pauli_words, transfer_of, transfer_of_kraus

_PAULIS = dict(zip("IXYZ", pauli_words(1), strict=True))
_COLUMNS = unitary_group.rvs(12, random_state=3)[:, :4]
_CHANNELS = {
    "amplitude": (qml.AmplitudeDamping, (0.3,)),
    "generalized": (qml.GeneralizedAmplitudeDamping, (0.3, 0.2)),
    "phase": (qml.PhaseDamping, (0.4,)),
    "depolarizing": (qml.DepolarizingChannel, (0.35,)),
    "bit flip": (qml.BitFlip, (0.3,)),
    "phase flip": (qml.PhaseFlip, (0.2,)),
    "reset": (qml.ResetError, (0.2, 0.35)),
    "thermal, t2 > t1": (qml.ThermalRelaxationError, (0.2, 1.2, 1.3, 0.4)),
    "thermal, t2 < t1": (qml.ThermalRelaxationError, (0.2, 1.3, 1.1, 0.4)),
    "word": (lambda p, wires: qml.PauliError("IZY", p, wires=[0, 1, 2]), (0.2,)),
    "kraus": (
        lambda wires: qml.QubitChannel([_COLUMNS[:4], _COLUMNS[4:8], _COLUMNS[8:]], wires=[1, 0]),
        (),
    ),
}


def of_kraus(matrices):
    """By the definition."""
    words = pauli_words(int(np.log2(len(matrices[0]))))
    return np.array(
        [
            [np.trace(p @ sum(k @ q @ k.conj().T for k in matrices)).real / len(p) for q in words]
            for p in words
        ]
    )


@pytest.mark.parametrize("name", _CHANNELS)
def test_as_kraus_matrices_say(name):
    make, parameters = _CHANNELS[name]
    channel = make(*parameters, wires=0)
    found, wanted = transfer_of(channel), of_kraus(channel.kraus_matrices())
    assert isinstance(found.matrix, np.ndarray)
    assert not found.checked
    np.testing.assert_allclose(found.matrix, wanted, atol=1e-12)
    np.testing.assert_allclose(transfer_of_kraus(kraus_of(channel)), wanted, atol=1e-12)
    traced = qjit(lambda *values: transfer_of(make(*values, wires=0)).matrix)(*parameters)
    np.testing.assert_allclose(traced, wanted, atol=1e-12)


def test_equal_channels_share_a_matrix():
    one, other = (transfer_of(qml.BitFlip(0.3, wire)).matrix for wire in (0, 5))
    assert one is other


@pytest.mark.parametrize(
    "make", [qml.DepolarizingChannel, qml.BitFlip, qml.AmplitudeDamping, qml.PhaseDamping]
)
def test_smooth_at_no_noise(make):
    derivative = qjit(lambda q: jax.jacfwd(lambda p: transfer_of(make(p, wires=0)).matrix)(q))(0.0)
    assert np.isfinite(derivative).all()
    assert np.abs(derivative).max() > 0.4


@pytest.mark.parametrize(
    "channel", [qml.DepolarizingChannel(0.3, 0), qml.PauliError("XIY", 0.2, [0, 1, 2])]
)
def test_mixtures_of_words(channel):
    words = pauli_mixture(channel)
    weights = [1 - sum(probability for _, probability in words), *(p for _, p in words)]
    matrices = [functools.reduce(np.kron, [_PAULIS[c] for c in word]) for word, _ in words]
    kraus = [np.eye(len(matrices[0])), *matrices]
    found = [np.sqrt(weight) * matrix for weight, matrix in zip(weights, kraus, strict=True)]
    np.testing.assert_allclose(transfer_of(channel).matrix, of_kraus(found), atol=1e-12)


def test_no_mixture_of_words():
    assert pauli_mixture(qml.AmplitudeDamping(0.1, 0)) is None


class Doubled(qml.operation.Channel):
    """A channel of the user's, right for p = 0 only."""

    num_params = 1
    num_wires = 1

    @staticmethod
    def compute_kraus_matrices(p):
        """One matrix, too large."""
        return [(1 + p) * np.eye(2)]


@pytest.mark.parametrize(
    "channel",
    [
        lambda: qml.BitFlip(1.2, 0),
        lambda: qml.PhaseFlip(jnp.nan, 0),
        lambda: qml.AmplitudeDamping(-0.1, 0),
        lambda: qml.ResetError(0.7, 0.6, 0),
        lambda: qml.ThermalRelaxationError(0.1, 1.0, 2.5, 0.1, 0),
        lambda: qml.QubitChannel([np.eye(4)], wires=0),
        lambda: Doubled(0.3, wires=0),
    ],
)
def test_no_channels(channel):
    with pytest.raises(ChannelError):
        transfer_of(channel())
    with pytest.raises(ChannelError):
        kraus_of(channel())
    assert transfer_of(Doubled(0.0, wires=0)).matrix.shape == (4, 4)
