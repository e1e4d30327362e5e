"""Channels on a register that is a state vector: recorded as operators that are drawn (`kraus_p`).

`with_channels` makes of a function that records operators one that knows channels, too.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer

from diastase.capture.noise_errors import NotUnitaryError
from diastase.capture.pennylane_compat import describe
from diastase.primitives.quantum import gate_p
from diastase.primitives.trajectories import kraus_p
from diastase.quantum.noise.kraus import kraus_of
from diastase.quantum.noise.strengths import checked_strengths
from diastase.quantum.operators.gate_operands import (
    Controls,
    shared,
    silently,
    unsupported,
    wires_of,
)
from diastase_mlir import into_z

LARGEST_CHANNEL = 6
"""Wires up to which a channel may be given by matrices."""
_LARGEST_WORD = 2
"""Letters up to which a Pauli word is applied by its matrix."""


_PAULIS = {
    "X": qml.X.compute_matrix(),
    "Y": qml.Y.compute_matrix(),
    "Z": qml.Z.compute_matrix(),
}


def with_channels(record: Callable[..., None]) -> Callable[..., None]:
    """Record channels by drawing, and what is none as `record` does."""

    def recorded(operator: Any, recorder: Any, controls: Controls = ()) -> None:
        if isinstance(operator, qml.operation.Channel):
            _record_channel(operator, recorder, controls)
        elif isinstance(operator, qml.QubitDensityMatrix):
            raise unsupported(operator, "is no state vector: method='density' takes it")
        else:
            record(operator, recorder, controls)

    return recorded


def _record_channel(operator: Any, recorder: Any, controls: Controls) -> None:
    construct = recorder.unitary_in or ("ctrl" if controls else None)
    if construct is not None:
        raise NotUnitaryError(operation=describe(operator), construct=construct)
    recorder.circuit.measures = True
    if type(operator) is qml.PauliError:  # whose own matrices lose their imaginary parts in JAX
        return _record_pauli_error(operator, recorder)
    if len(operator.wires) > LARGEST_CHANNEL:
        reason = f"is a channel on more than {LARGEST_CHANNEL} wires: its matrices are too large"
        raise unsupported(operator, reason)
    matrices = shared(kraus_of, operator, recorder)
    wires, _ = wires_of(operator, recorder, ())
    recorder.advance_on(wires, kraus_p, matrices, construct=operator.name)
    return None


def _record_pauli_error(operator: Any, recorder: Any) -> None:
    """By matrices; a long word is turned into Z on one wire, whose phase is flipped, and back."""
    letters = operator.hyperparameters["operators"]
    kept = {w: letter for w, letter in zip(operator.wires, letters, strict=True) if letter != "I"}
    recorder.wires.positions(operator.wires, operator.name)
    wires = recorder.wires.positions([*kept], operator.name)
    (p,) = checked_strengths(operator)
    if not kept:
        return
    word = "".join(kept.values())
    if len(word) <= _LARGEST_WORD:
        library: Any = jnp if isinstance(p, Tracer) else np
        error = functools.reduce(np.kron, [_PAULIS[letter] for letter in word])
        both = [library.sqrt(1 - p) * np.eye(2 ** len(word)), library.sqrt(p) * error]
        matrices = library.stack(both).astype(np.complex128)
        return recorder.advance_on(wires, kraus_p, matrices, construct=operator.name)
    flip = silently(operator, lambda: qml.PhaseFlip(p, wires=0))
    matrices = shared(kraus_of, flip, recorder)
    forth, back = into_z(word, wires)
    _apply(forth, recorder)
    recorder.advance_on(wires[-1:], kraus_p, matrices, construct=operator.name)
    _apply(back, recorder)


def _apply(gates: Any, recorder: Any) -> None:
    for name, wires in gates:
        recorder.advance_on(wires, gate_p, name=name, num_parameters=0, control_values=())
