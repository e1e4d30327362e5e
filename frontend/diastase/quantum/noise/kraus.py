"""The Kraus matrices of a channel, and the Pauli words that some channels are mixtures of.

Known parameters give numpy arrays, traced ones arrays of the program. PennyLane makes the matrices
of its own channels, and users' classes those of theirs (`compute_kraus_matrices`).
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.noise_errors import ChannelError
from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import UnsupportedOperationError
from diastase.quantum.noise.strengths import check_kraus, checked_strengths, is_own

_DATA_DEPENDENT = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
"""What JAX raises where a class looks at a traced value."""


def kraus_of(channel: Any) -> Any:
    """The Kraus matrices of a channel, c128 `[number, 2^wires, 2^wires]`, after its checks."""
    if is_own(channel):
        checked_strengths(channel)
    matrices = _stacked(channel, _matrices(channel))
    check_kraus(channel, matrices)
    return matrices


def _matrices(channel: Any) -> Sequence[Any]:
    try:
        with qml.QueuingManager.stop_recording():
            return list(channel.kraus_matrices())
    except _DATA_DEPENDENT as error:
        reason = "looks at traced values in compute_kraus_matrices"
        raise UnsupportedOperationError(operation=describe(channel), reason=reason) from error


def _stacked(channel: Any, matrices: Sequence[Any]) -> Any:
    shapes = {tuple(np.shape(matrix)) for matrix in matrices}
    if len(shapes) != 1:
        what = "its Kraus matrices have different shapes" if shapes else "has no Kraus matrices"
        raise ChannelError(operation=describe(channel), reason=what)
    if any(isinstance(matrix, Tracer) for matrix in matrices):
        return jnp.stack([jnp.asarray(matrix).astype(jnp.complex128) for matrix in matrices])
    return np.stack([np.asarray(matrix, np.complex128) for matrix in matrices])


def pauli_mixture(channel: Any) -> list[tuple[str, Any]] | None:
    """Pauli words, a letter for each wire, and their probabilities; None where it is no such thing.

    The probability of the identity is what is missing to 1.
    """
    words = _WORDS.get(type(channel))
    if type(channel) is qml.PauliError:
        words = (channel.hyperparameters["operators"],)
    if words is None:
        return None
    (p,) = checked_strengths(channel)
    return [("".join(word), p / len(words)) for word in words]


_WORDS: dict[type, tuple[str, ...]] = {
    qml.BitFlip: ("X",),
    qml.PhaseFlip: ("Z",),
    qml.DepolarizingChannel: ("X", "Y", "Z"),
}
