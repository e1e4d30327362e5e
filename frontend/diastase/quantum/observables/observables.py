"""From a PennyLane observable to a sum of terms: one rule for each class of operators.

Every operator, however nested, becomes `Term`s: coefficients, possibly traced, and products of
factors (`factors`). Sums and products of operators come back here for their parts; matrices,
projectors and users' operators have none, and become one term. A matrix that is known is checked to
be Hermitian; of a traced one the operator must say so. How the terms are then measured is chosen by
`measured_forms`.

The traps: letters on the same wire multiply as matrices (X Y = iZ). Known wires, and one and the
same traced wire, are recognised; of traced wires that turn out equal the engine takes the product,
and refuses it where it is i times a word. And PennyLane says that it has looked at a traced value
by an error of JAX's, or by a `ValueError` of its own.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import scipy.linalg
from pennylane import ops

from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.quantum.observables.factors import (
    Gate,
    Matrix,
    Onto,
    Pauli,
    Sparse,
    Term,
    are_hermitian,
    distinct,
    is_complex,
    is_traced,
)
from diastase.quantum.observables.terms import dense, multiplied_terms, scaled_terms, word_of
from diastase.quantum.operators.gate_operands import complex_array
from diastase.quantum.wires import WireMap
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from jax.scipy import linalg as jax_linalg
else:
    jax_linalg = LazyModule("jax.scipy.linalg")

LARGEST_DENSE = 10
"""Wires up to which a function of an operator (an exponential, a root) is made of its matrix."""

LARGEST_POWER = 16
"""Powers up to which an operator is multiplied with itself."""

_PAULIS: dict[type, str] = {qml.PauliX: "X", qml.PauliY: "Y", qml.PauliZ: "Z"}
"""By exact class: a user's class may have the same name."""

DATA_DEPENDENT = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, ValueError)
"""What JAX, or PennyLane by a `ValueError`, raises where PennyLane looks at a traced value."""


def terms_of(observable: Any, wires: WireMap) -> list[Term]:
    """An operator as terms; products multiply out."""
    if isinstance(observable, qml.Identity):
        wires.positions(observable.wires, observable.name)
        return [Term(1.0)]
    pauli = _PAULIS.get(type(observable))
    if pauli is not None:
        (wire,) = wires.positions(observable.wires, observable.name)
        return [Term(1.0, (Pauli(pauli, wire),))]
    rule = next((rule for kind, rule in _RULES if isinstance(observable, kind)), _of_user)
    return rule(observable, wires)


def _of_word(observable: Any, wires: WireMap) -> list[Term]:
    """A PauliWord, which is no operator of PennyLane; a dictionary of wires and letters."""
    labels = list(observable.keys())
    positions = wires.positions(labels, "PauliWord")
    pairs = zip(labels, positions, strict=True)
    return [Term(1.0, tuple(Pauli(observable[label], wire) for label, wire in pairs))]


def _of_sentence(observable: Any, wires: WireMap) -> list[Term]:
    """A PauliSentence: a dictionary of words and coefficients."""
    pairs = observable.items()
    return [term for word, factor in pairs for term in scaled_terms(factor, _of_word(word, wires))]


def _of_linear_combination(observable: Any, wires: WireMap) -> list[Term]:
    coefficients = observable.coeffs
    pairs = zip(coefficients, observable.ops, strict=True)
    return [
        term for factor, inner in pairs for term in scaled_terms(factor, terms_of(inner, wires))
    ]


def _of_scaled(observable: Any, wires: WireMap) -> list[Term]:
    return scaled_terms(observable.scalar, terms_of(observable.base, wires))


def _of_sum(observable: Any, wires: WireMap) -> list[Term]:
    return [term for inner in observable.operands for term in terms_of(inner, wires)]


def _of_product(observable: Any, wires: WireMap) -> list[Term]:
    return multiplied_terms([terms_of(inner, wires) for inner in observable.operands])


def _of_adjoint(observable: Any, wires: WireMap) -> list[Term]:
    return [term.adjoint() for term in terms_of(observable.base, wires)]


def _of_power(observable: Any, wires: WireMap) -> list[Term]:
    """A small integer power is a product; any other is a function of the matrix."""
    base, exponent = observable.base, observable.z
    if not is_traced(exponent) and exponent == int(exponent) and 0 <= exponent <= LARGEST_POWER:
        return multiplied_terms([terms_of(base, wires)] * int(exponent))
    return _function(observable, lambda matrix: _matrix_power(matrix, observable), wires)


def _matrix_power(matrix: Any, observable: Any) -> Any:
    exponent = observable.z
    if is_traced(exponent):
        raise unsupported(observable, "has a traced exponent; only known ones are compiled")
    if exponent == int(exponent):
        library = jnp if is_traced(matrix) else np
        return library.linalg.matrix_power(matrix, int(exponent))
    if is_traced(matrix):
        raise unsupported(
            observable, "is a root of a traced matrix; only those of known ones are compiled"
        )
    return scipy.linalg.fractional_matrix_power(matrix, exponent)


def _of_exponential(observable: Any, wires: WireMap) -> list[Term]:
    """Of one Pauli word P: cosh c + P sinh c; of anything else, of its matrix."""
    scalar, terms = observable.scalar, terms_of(observable.base, wires)
    if len(terms) == 1 and terms[0].is_word:
        word = word_of(terms[0])
        scale = scalar * word.scale
        library = jnp if is_traced(scale) else np
        return [Term(library.cosh(scale)), Term(library.sinh(scale), word.factors)]

    def exponential(matrix: Any) -> Any:
        scaled = scalar * matrix
        return jax_linalg.expm(scaled) if is_traced(scaled) else scipy.linalg.expm(scaled)

    return _function(observable, exponential, wires)


def _function(observable: Any, function: Callable[[Any], Any], wires: WireMap) -> list[Term]:
    """A function of the base, of which a matrix is made."""
    terms = terms_of(observable.base, wires)
    positions = distinct([wire for term in terms for wire in term.wires])
    if len(positions) > LARGEST_DENSE:
        raise unsupported(observable, f"on {len(positions)} wires would be too large a matrix")
    matrix = function(dense(terms, positions))
    if is_traced(matrix):
        is_hermitian = are_hermitian(terms) and not is_complex(getattr(observable, "scalar", 1))
    else:
        is_hermitian = np.allclose(matrix, np.conj(matrix).T)
    return [Term(1.0, (Matrix(matrix, positions, bool(is_hermitian)),))]


# --- observables without parts --------------------------------------------------------------------


_HADAMARD = np.array([[1, 1], [1, -1]], dtype=complex) * np.sqrt(0.5)


def _of_hadamard(observable: Any, wires: WireMap) -> list[Term]:
    """A Hadamard, as the matrix that it is."""
    return [Term(1.0, (Matrix(_HADAMARD, wires.positions(observable.wires, "Hadamard"), True),))]


def _of_matrix(observable: Any, wires: WireMap) -> list[Term]:
    """A Hermitian."""
    matrix, size = observable.data[0], 2 ** len(observable.wires)
    if tuple(np.shape(matrix)) != (size, size):
        raise unsupported(observable, f"has a matrix of shape {np.shape(matrix)}")
    positions = wires.positions(observable.wires, observable.name)
    return [Term(1.0, (Matrix(matrix, positions, True),))]


def _of_sparse(observable: Any, wires: WireMap) -> list[Term]:
    """A SparseHamiltonian, on its wires."""
    positions = wires.positions(observable.wires, observable.name)
    return [Term(1.0, (Sparse.of(observable.data[0].tocsr(), positions),))]


def _of_projector(observable: Any, wires: WireMap) -> list[Term]:
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


def _of_user(observable: Any, wires: WireMap) -> list[Term]:
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
    matrix = _silently(observable, observable.matrix)
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
    gates = _silently(observable, observable.diagonalizing_gates)
    values = _silently(observable, observable.eigvals)
    there = [Gate(gate, wires.positions(gate.wires, gate.name)) for gate in gates]
    back = [gate.adjoint() for gate in there]
    diagonal = Sparse.diagonal(values, positions)
    return [Term(1.0, (*back, diagonal, *reversed(there)))]


_RULES: tuple[tuple[Any, Callable[[Any, WireMap], list[Term]]], ...] = (
    (qml.pauli.PauliWord, _of_word),
    (qml.pauli.PauliSentence, _of_sentence),
    (qml.Hadamard, _of_hadamard),
    (qml.Hermitian, _of_matrix),
    (qml.SparseHamiltonian, _of_sparse),
    (qml.Projector, _of_projector),
    (ops.LinearCombination, _of_linear_combination),
    (ops.SProd, _of_scaled),
    (ops.Sum, _of_sum),
    (ops.Prod, _of_product),
    (ops.Adjoint, _of_adjoint),
    (ops.Pow, _of_power),
    (ops.Exp, _of_exponential),
)
"""By class; the first that fits."""


# --- refusals -------------------------------------------------------------------------------------


def _silently(observable: Any, function: Callable[[], Any]) -> Any:
    """Call PennyLane without recording what it makes; it may look at traced values: refused."""
    with qml.QueuingManager.stop_recording():
        try:
            return function()
        except DATA_DEPENDENT as error:
            reason = "is built by PennyLane in a way that depends on a traced value"
            raise unsupported(observable, reason) from error


def unsupported(observable: Any, reason: str) -> UnsupportedObservableError:
    """The refusal of an observable."""
    return UnsupportedObservableError(observable=describe(observable), reason=reason)
