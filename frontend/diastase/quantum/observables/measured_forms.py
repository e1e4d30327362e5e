"""How an observable is measured: as Pauli words, a matrix, on register copies, in its eigenbasis.

`measured_form`, for expectation values, takes an observable apart (`terms_of`). Pauli words are
collected into one `PauliSum`, so a whole Hamiltonian is one call of the engine; small matrices are
written in letters, too. A matrix by itself stays one. The rest are applied to copies: `Mixed`.

`rotate_to_eigenbasis`, for probabilities, records gates after which eigenvalues are read off the
wires: PennyLane's diagonalizing gates where they can be made. Operands of sums and products that
share wires are diagonalised together, by the eigenvectors of their matrix in ascending order of
eigenvalues, computed by the program where the matrix is traced; so are other traced matrices.

The traps: a Hamiltonian whose coefficients are one traced vector is used as it is; taken apart, it
would be as many equations as it has terms. And what outcome `k` means depends on groups and orders
of the eigenbasis, which are PennyLane's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from pennylane import ops

from diastase.capture.pennylane_compat import describe, is_traced_wire
from diastase.primitives.matrix_functions import eigenvectors
from diastase.primitives.quantum import unitary_p
from diastase.quantum.observables.factors import (
    Matrix,
    Scratch,
    Term,
    distinct,
    is_complex,
    is_traced,
)
from diastase.quantum.observables.observables import DATA_DEPENDENT, terms_of, unsupported
from diastase.quantum.observables.terms import PauliSum, collected, dense, in_letters, word_of
from diastase.quantum.operators.gate_operands import complex_array
from diastase.quantum.operators.gates import record
from diastase.quantum.wires import Position, WireMap, as_dtype


@dataclass(frozen=True)
class Mixed:
    """Pauli words, and terms that are applied to copies of the register."""

    words: PauliSum
    terms: tuple[Term, ...]


def measured_form(observable: Any, wires: WireMap) -> PauliSum | Matrix | Mixed:
    """The form in which an observable is measured."""
    linear = _linear_combination(observable, wires)
    if linear is not None:
        return linear
    terms = terms_of(observable, wires)
    matrix = _matrix_of(terms, observable)
    if matrix is not None:
        return matrix
    words: list[Term] = []
    others: list[Term] = []
    for term in terms:
        in_words = in_letters(term)
        if in_words is None:
            others.append(term)
        else:
            words.extend(in_words)
    pauli = collected(words, describe(observable))
    return Mixed(pauli, tuple(others)) if others else pauli


def _matrix_of(terms: Sequence[Term], observable: Any) -> Matrix | None:
    """The only matrix that an observable is."""
    if len(terms) != 1 or len(terms[0].factors) != 1:
        return None
    (factor,) = terms[0].factors
    if not isinstance(factor, Matrix) or is_traced(terms[0].coefficient) or terms[0].scale != 1:
        return None
    if not factor.is_hermitian:
        raise unsupported(observable, "is not Hermitian, or not known to be")
    return factor


def _linear_combination(observable: Any, wires: WireMap) -> PauliSum | None:
    """A Hamiltonian whose coefficients are one traced vector: used as it is, never taken apart."""
    if not isinstance(observable, ops.LinearCombination):
        return None
    coefficients, operators = observable.coeffs, observable.ops
    if not is_traced(coefficients) or coefficients.ndim != 1:
        return None
    if not jnp.issubdtype(coefficients.dtype, jnp.floating):
        return None
    found = [terms_of(operator, wires) for operator in operators]
    if any(len(terms) != 1 or not terms[0].is_word for terms in found):
        return None
    words = [word_of(terms[0]) for terms in found]
    if any(is_traced(word.coefficient) or is_complex(word.scale) for word in words):
        return None
    factors = np.array([complex(word.scale).real for word in words])
    vector = as_dtype(coefficients, jnp.float64)
    scaled = vector if np.all(factors == 1) else vector * factors
    return PauliSum.of(scaled, words)


LARGEST_DENSE = 10
"""Wires up to which eigenvectors are computed."""


_FUNCTIONS = (ops.SProd, ops.Adjoint, ops.Exp, ops.Pow)
"""Operators whose eigenvectors are those of their base."""


def rotate_to_eigenbasis(observable: Any, scratch: Scratch) -> None:
    """Apply the diagonalizing gates of an observable."""
    if any(map(is_traced_wire, observable.wires)):  # PennyLane would not know which are equal
        return _rotate_by_parts(observable, scratch)
    try:
        with qml.QueuingManager.stop_recording():
            gates = observable.diagonalizing_gates()
    except DATA_DEPENDENT:
        return _rotate_by_parts(observable, scratch)
    except qml.operation.DiagGatesUndefinedError as error:
        raise unsupported(observable, "has no diagonalizing gates") from error
    if not all(map(is_unitary, gates)):
        return _rotate_by_eigenvectors(terms_of(observable, scratch.wires), observable, scratch)
    for gate in gates:
        record(gate, scratch)
    return None


def is_unitary(gate: Any) -> bool:
    """Whether a diagonalizing gate is one.

    Where PennyLane does not know an operator to be Hermitian, its eigenvectors need not be
    orthogonal, and the matrix that it makes of them is no gate.
    """
    if not isinstance(gate, qml.QubitUnitary) or is_traced(gate.data[0]):
        return True
    matrix = np.asarray(gate.data[0])
    return bool(np.allclose(matrix @ matrix.conj().T, np.eye(len(matrix)), atol=1e-8))


def _rotate_by_parts(observable: Any, scratch: Scratch) -> None:
    """Group by group, as PennyLane does."""
    if isinstance(observable, ops.Sum | ops.Prod):
        for group in _overlapping(list(observable.operands), scratch):
            if len(group) == 1:
                rotate_to_eigenbasis(group[0], scratch)
            else:
                _rotate_jointly(observable, group, scratch)
        return None
    if isinstance(observable, _FUNCTIONS):
        return rotate_to_eigenbasis(observable.base, scratch)
    try:
        with qml.QueuingManager.stop_recording():
            gates = observable.diagonalizing_gates()
    except (*DATA_DEPENDENT, qml.operation.DiagGatesUndefinedError):
        return _rotate_by_eigenvectors(terms_of(observable, scratch.wires), observable, scratch)
    for gate in gates:
        record(gate, scratch)
    return None


def measured_wires(observable: Any, wires: WireMap) -> tuple[Position, ...]:
    """The wires on which eigenvalues are read off, each once."""
    if isinstance(observable, _FUNCTIONS):
        return measured_wires(observable.base, wires)
    if isinstance(observable, ops.Sum | ops.Prod):
        operands = observable.operands
        return distinct([wire for each in operands for wire in measured_wires(each, wires)])
    return wires.positions(observable.wires, "probs")


def _overlapping(operators: Sequence[Any], scratch: Scratch) -> list[list[Any]]:
    """Operators in groups that share no wire."""
    groups: list[tuple[list[Any], list[Position]]] = []
    for operator in operators:
        own = measured_wires(operator, scratch.wires)
        near = [group for group in groups if _share(group[1], own)]
        if not near:
            groups.append(([operator], list(own)))
            continue
        first, *others = near
        for other in others:
            groups.remove(other)
            first[0].extend(other[0])
            first[1].extend(other[1])
        first[0].append(operator)
        first[1][:] = distinct([*first[1], *own])
    return [operators for operators, _ in groups]


def _share(first: Sequence[Position], second: Sequence[Position]) -> bool:
    return len(distinct([*first, *second])) < len(first) + len(second)


def _rotate_jointly(observable: Any, group: Sequence[Any], scratch: Scratch) -> None:
    with qml.QueuingManager.stop_recording():
        joint = type(observable)(*group)
    _rotate_by_eigenvectors(terms_of(joint, scratch.wires), joint, scratch)


def _rotate_by_eigenvectors(terms: Sequence[Term], observable: Any, scratch: Scratch) -> None:
    positions = measured_wires(observable, scratch.wires)
    if len(positions) > LARGEST_DENSE:
        raise unsupported(observable, f"on {len(positions)} wires would be too large a matrix")
    matrix = dense(terms, positions)
    _, vectors = eigenvectors(matrix) if is_traced(matrix) else np.linalg.eigh(matrix)
    gate = complex_array(vectors.conj().T)
    scratch.advance_on(positions, unitary_p, gate, control_values=())
