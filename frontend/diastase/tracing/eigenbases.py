"""The eigenbasis of an observable: gates after which its eigenvalues are read off the wires.

PennyLane's diagonalizing gates, where they can be made; of a traced matrix, its eigenvectors,
computed by the program, in ascending order of eigenvalues, as PennyLane has them.
"""

from typing import Any

import jax.numpy as jnp
import pennylane as qml
from pennylane import ops

from diastase.primitives.quantum import unitary_p
from diastase.tracing.factors import Scratch, dense, distinct
from diastase.tracing.gates import record
from diastase.tracing.observables import DATA_DEPENDENT, terms_of, unsupported

LARGEST_DENSE = 10
"""Wires up to which eigenvectors are computed."""


def rotate_to_eigenbasis(observable: Any, scratch: Scratch) -> None:
    """Apply the diagonalizing gates of an observable."""
    try:
        with qml.QueuingManager.stop_recording():
            gates = observable.diagonalizing_gates()
    except DATA_DEPENDENT:
        return _rotate_by_eigenvectors(observable, scratch)
    except qml.operation.DiagGatesUndefinedError as error:
        raise unsupported(observable, "has no diagonalizing gates") from error
    for gate in gates:
        record(gate, scratch)
    return None


def _rotate_by_eigenvectors(observable: Any, scratch: Scratch) -> None:
    """Part by part where the parts share no wire, else of the whole matrix."""
    if isinstance(observable, ops.SProd):
        return rotate_to_eigenbasis(observable.base, scratch)
    if isinstance(observable, ops.Prod) and not observable.has_overlapping_wires:
        for factor in observable.operands:
            rotate_to_eigenbasis(factor, scratch)
        return None
    positions = scratch.wires.positions(observable.wires, observable.name)
    if len(positions) > LARGEST_DENSE:
        raise unsupported(observable, f"on {len(positions)} wires would be too large a matrix")
    terms = terms_of(observable, scratch.wires)
    assert len(distinct([wire for term in terms for wire in term.wires])) <= len(positions)
    _, vectors = jnp.linalg.eigh(dense(terms, positions))
    scratch.advance_on(positions, unitary_p, vectors.conj().T, control_values=())
    return None
