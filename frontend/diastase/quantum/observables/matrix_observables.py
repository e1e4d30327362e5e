"""Observables that have no parts: matrices, projectors, and operators of the user's.

Each becomes one term. A matrix that is known is checked to be Hermitian; of a traced one the
operator must say so. What PennyLane makes of a user's operator is asked for through `silently`.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase.quantum.observables.observable_factors import (
    Gate,
    Matrix,
    Onto,
    Sparse,
    Term,
    is_traced,
)
from diastase.quantum.observables.refusals import silently, unsupported
from diastase.quantum.operators.gate_operands import complex_array
from diastase.quantum.wires.wires import WireMap

_HADAMARD = np.array([[1, 1], [1, -1]], dtype=complex) * np.sqrt(0.5)


def of_hadamard(observable: Any, wires: WireMap) -> list[Term]:
    """A Hadamard, as the matrix that it is."""
    return [Term(1.0, (Matrix(_HADAMARD, wires.positions(observable.wires, "Hadamard"), True),))]


def of_matrix(observable: Any, wires: WireMap) -> list[Term]:
    """A Hermitian."""
    matrix, size = observable.data[0], 2 ** len(observable.wires)
    if tuple(np.shape(matrix)) != (size, size):
        raise unsupported(observable, f"has a matrix of shape {np.shape(matrix)}")
    positions = wires.positions(observable.wires, observable.name)
    return [Term(1.0, (Matrix(matrix, positions, True),))]


def of_sparse(observable: Any, wires: WireMap) -> list[Term]:
    """A SparseHamiltonian, on its wires."""
    positions = wires.positions(observable.wires, observable.name)
    return [Term(1.0, (Sparse.of(observable.data[0].tocsr(), positions),))]


def of_projector(observable: Any, wires: WireMap) -> list[Term]:
    """On a basis state, projectors on each wire; on a vector, one on all."""
    positions = wires.positions(observable.wires, observable.name)
    state = observable.data[0]
    if len(state) != len(positions):
        return [Term(1.0, (Onto(complex_array(state), positions),))]
    library = jnp if is_traced(state) else np
    bits = library.asarray(state)
    factors = tuple(
        Matrix(library.diag(library.stack([1 - bits[k], bits[k]])), (position,), True)
        for k, position in enumerate(positions)
    )
    return [Term(1.0, factors)]


def of_user(observable: Any, wires: WireMap) -> list[Term]:
    """Any other operator: by its eigenvalues, by its matrix, or as the gate that it is."""
    if not isinstance(observable, qml.operation.Operator):
        raise unsupported(observable, "is no operator of PennyLane")
    positions = wires.positions(observable.wires, observable.name)
    if observable.is_verified_hermitian and _is_gate(observable):
        return [Term(1.0, (Gate(observable, positions),))]
    if _has_own(observable, "compute_eigvals") and observable.has_diagonalizing_gates:
        return _of_eigenvalues(observable, positions, wires)
    if not observable.has_matrix:
        reason = "has neither a matrix nor eigenvalues and diagonalizing gates"
        raise unsupported(observable, reason)
    matrix = silently(observable, observable.matrix)
    known = not is_traced(matrix)
    if known and not np.allclose(matrix, np.conj(matrix).T):
        raise unsupported(observable, "is not Hermitian")
    if not known and not (observable.is_verified_hermitian or observable.has_diagonalizing_gates):
        raise unsupported(observable, "depends on traced values, and is not known to be Hermitian")
    return [Term(1.0, (Matrix(matrix, positions, True),))]


def _is_gate(observable: Any) -> bool:
    return isinstance(observable, qml.operation.Operation) and len(observable.wires) > 2


def _has_own(observable: Any, method: str) -> bool:
    return getattr(type(observable), method) is not getattr(qml.operation.Operator, method)


def _of_eigenvalues(observable: Any, positions: Any, wires: WireMap) -> list[Term]:
    """The gates that diagonalise it, its eigenvalues, and the gates back."""
    gates = silently(observable, observable.diagonalizing_gates)
    values = silently(observable, observable.eigvals)
    there = [Gate(gate, wires.positions(gate.wires, gate.name)) for gate in gates]
    back = [gate.adjoint() for gate in there]
    diagonal = Sparse.diagonal(values, positions)
    return [Term(1.0, (*back, diagonal, *reversed(there)))]
