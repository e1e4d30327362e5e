"""Expectation values and variances of observables on a density matrix.

    <O> = Tr(O rho),   var O = Tr(O O rho) - <O>^2

Of Pauli words the engine reads both off, of a matrix on a few wires too. Whatever else an
observable is (a projector, a sparse matrix, a product of sums) is written as one matrix on its
wires: a state vector could be multiplied by it factor by factor, a density matrix would be
multiplied on one side only, and be none any more. What is too large for that must be one sparse
matrix, whose entries are looked up in the density matrix of its wires.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.primitives import measurement as primitives
from diastase.primitives.mixed import square_pauli_p
from diastase.quantum.measurements.pauli_operands import bind_words
from diastase.quantum.observables.factors import Matrix, Sparse, Term, distinct
from diastase.quantum.observables.measured_forms import LARGEST_DENSE, Mixed
from diastase.quantum.observables.terms import PauliSum, dense
from diastase.quantum.wires import bind_on

Form = PauliSum | Matrix | Mixed


def expectation(form: Form, register: Any) -> jax.Array:
    """The expectation value."""
    if isinstance(form, PauliSum):
        return bind_words(primitives.expval_pauli_p, register, form)
    if isinstance(form, Matrix):
        return _of_matrix(form.matrix, form.wires, register)
    total: Any = 0.0
    if form.words.words:
        total = bind_words(primitives.expval_pauli_p, register, form.words)
    for term in form.terms:
        total = total + _of_term(term, register)
    return total


def variance(form: Form, register: Any) -> jax.Array:
    """The variance."""
    if isinstance(form, PauliSum):
        square = bind_words(square_pauli_p, register, form)
        return square - bind_words(primitives.expval_pauli_p, register, form) ** 2
    matrix, wires = _as_matrix(form)
    square = _of_matrix(matrix @ matrix, wires, register)
    return square - _of_matrix(matrix, wires, register) ** 2


def _of_matrix(matrix: Any, wires: Sequence[Any], register: Any) -> jax.Array:
    return bind_on(primitives.expval_matrix_p, register, wires, matrix)


def _of_term(term: Term, register: Any) -> jax.Array:
    """Of a product of factors, times its coefficient."""
    wires = distinct(term.wires)
    if len(wires) <= LARGEST_DENSE:
        matrix = dense([term], wires)
        hermitian = (matrix + matrix.conj().T) / 2  # the rest adds nothing to the real part
        return _of_matrix(hermitian, wires, register)
    if len(term.factors) == 1 and isinstance(term.factors[0], Sparse):
        return _of_sparse(term.factors[0], term.scale, register)
    raise _too_large(len(wires))


def _of_sparse(sparse: Sparse, scale: Any, register: Any) -> jax.Array:
    """Entry by entry: the sum of O[i, j] rho[j, i]."""
    rows = np.repeat(np.arange(len(sparse.row_starts) - 1), np.diff(sparse.row_starts))
    matrix = bind_on(primitives.density_matrix_p, register, sparse.wires)
    return jnp.real(scale * jnp.sum(sparse.values * matrix[sparse.columns, rows]))


def _as_matrix(form: Matrix | Mixed) -> tuple[Any, Sequence[Any]]:
    """One matrix for all of it, and its wires."""
    if isinstance(form, Matrix):
        return form.matrix, form.wires
    terms = [*form.words.terms(), *form.terms]
    wires = distinct([wire for term in terms for wire in term.wires])
    if len(wires) > LARGEST_DENSE:
        raise _too_large(len(wires))
    return dense(terms, wires), wires


def _too_large(wires: int) -> UnsupportedObservableError:
    reason = (
        f"on {wires} wires would be too large a matrix: measure a density matrix by sums of "
        "Pauli words, or by a SparseHamiltonian"
    )
    return UnsupportedObservableError(observable="an observable", reason=reason)
