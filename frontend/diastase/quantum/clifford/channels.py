"""Noise as it is recorded for stabilizers: channels that are mixtures of Pauli words.

In: PennyLane's channels. Out: `pauli_channel` equations. A channel that is none (one that relaxes,
say) is refused as what makes a circuit no Clifford circuit.

The trap: probabilities may be traced, so what a channel is must be known from its kind. Only a
channel given by known Kraus matrices is asked what it does to Pauli words.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.device_errors import NotCliffordError
from diastase.capture.pennylane_compat import describe
from diastase.primitives.pauli_channel import pauli_channel_p
from diastase.quantum.noise.kraus import kraus_of, pauli_mixture
from diastase.quantum.noise.strengths import checked_strengths
from diastase.quantum.operators.broadcasting import element_of
from diastase.quantum.operators.gate_operands import Controls, Recorder, wires_of

Record = Callable[[Any, Any, Controls], None]

_TOLERANCE = 1e-12
_LARGEST = 2
"""Wires of a channel that may have several words."""

_MATRICES = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


class Noise:
    """Records the noise of one circuit, and leaves other operators to `record`."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def record(self, operator: Any, recorder: Recorder, controls: Controls = ()) -> None:
        """Record an operator; noise as words and their probabilities."""
        if not isinstance(operator, qml.operation.Channel):
            self._record(operator, recorder, controls)
            return
        operator = element_of(operator)
        if controls:
            raise _refused(operator, "is noise under controls")
        words, probabilities = _mixture(operator)
        wires, _ = wires_of(operator, recorder, ())
        recorder.advance_on(wires, pauli_channel_p, *probabilities, words=words)


def _mixture(operator: Any) -> tuple[Sequence[str], Sequence[Any]]:
    """The Pauli words that a channel applies, and how likely each is."""
    if type(operator) is qml.PhaseDamping:
        return _dephasing(operator)
    found = pauli_mixture(operator)
    if found is not None:
        words, probabilities = zip(*found, strict=True)
        return words, probabilities
    if any(isinstance(value, Tracer) for value in operator.data):
        raise _refused(operator, "is no mixture of Pauli operators")
    return _of_matrices(operator)


def _dephasing(operator: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Of strength gamma: what is off the diagonal shrinks by sqrt(1 - gamma)."""
    (strength,) = checked_strengths(operator)
    kept = jnp.sqrt if isinstance(strength, Tracer) else np.sqrt
    return ("Z",), [(1 - kept(1 - strength)) / 2]


def _of_matrices(operator: Any) -> tuple[tuple[str, ...], list[Any]]:
    """A channel whose matrices are known: one that takes each Pauli word to a multiple of it."""
    count = len(operator.wires)
    if count > _LARGEST:
        raise _refused(operator, f"acts on {count} wires: stabilizers take {_LARGEST}")
    kraus = kraus_of(operator)
    words = ["".join(letters) for letters in itertools.product("IXYZ", repeat=count)]
    matrices = [_matrix(word) for word in words]
    size = 2**count
    factors: list[float] = []
    for word in matrices:
        image = sum(one @ word @ one.conj().T for one in kraus)
        factor = np.trace(word @ image).real / size
        if np.abs(image - factor * word).max() > _TOLERANCE:
            raise _refused(operator, "is no mixture of Pauli operators")
        factors.append(float(factor))
    probabilities = [
        sum(f * _sign(word, other) for f, other in zip(factors, words, strict=True)) / size**2
        for word in words
    ]
    if min(probabilities) < -_TOLERANCE or abs(sum(probabilities) - 1) > _TOLERANCE:
        raise _refused(operator, "is no mixture of Pauli operators")
    return tuple(words[1:]), [np.float64(max(p, 0.0)) for p in probabilities[1:]]


def _matrix(word: str) -> np.ndarray:
    product = np.eye(1)
    for letter in word:
        product = np.kron(product, _MATRICES[letter])
    return product


def _sign(one: str, other: str) -> int:
    """1 where two words commute, else -1."""
    differ = sum(a != b and "I" not in (a, b) for a, b in zip(one, other, strict=True))
    return -1 if differ % 2 else 1


def _refused(operator: Any, reason: str) -> NotCliffordError:
    return NotCliffordError(construct=describe(operator), reason=reason)
