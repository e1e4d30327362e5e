"""From a PennyLane observable to what the engine measures.

`pauli_sum` writes an observable, however nested, as one sum of Pauli words with (possibly traced)
coefficients: `Hadamard` is (X + Z)/sqrt 2, a `Hermitian` on k wires has up to 4^k words, a product
multiplies out. So a whole Hamiltonian is one call of the engine. A `Hermitian` by itself stays a
matrix (`matrix_form`).

The trap: two factors on the same wire multiply as matrices (X Y = iZ). Static wires, and one and
the same traced wire, are recognised; two traced wires that turn out equal are an error at run time.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane import ops

from diastase.tracing.gates import complex_array
from diastase.tracing.pennylane import describe
from diastase.tracing.quantum_errors import UnsupportedObservableError
from diastase.tracing.wires import Position, WireMap, as_dtype

LARGEST_EXPANSION = 5
"""Wires up to which a Hermitian inside a larger observable is written in Pauli words."""

Factor = tuple[str, Position]
Word = tuple[Factor, ...]

_PAULIS: dict[type, str] = {qml.PauliX: "X", qml.PauliY: "Y", qml.PauliZ: "Z"}
"""By exact class: a user's class may have the same name."""
_MATRICES = {
    "I": np.eye(2, dtype=complex),
    "X": np.array([[0, 1], [1, 0]], dtype=complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]).astype(complex),
}
_PRODUCTS: dict[tuple[str, str], tuple[complex, str]] = {
    ("X", "Y"): (1j, "Z"), ("Y", "Z"): (1j, "X"), ("Z", "X"): (1j, "Y"),
    ("Y", "X"): (-1j, "Z"), ("Z", "Y"): (-1j, "X"), ("X", "Z"): (-1j, "Y"),
}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """A coefficient, a number or traced, and a word with each wire once."""

    coefficient: Any
    word: Word


@dataclass(frozen=True)
class PauliSum:
    """Coefficients as one vector, and their words."""

    coefficients: Any
    words: tuple[Word, ...]


@dataclass(frozen=True)
class MatrixObservable:
    """A Hermitian matrix, and where it acts."""

    matrix: Any
    wires: tuple[Position, ...]


def measured_form(observable: Any, wires: WireMap) -> PauliSum | MatrixObservable:
    """The form in which an observable is measured with one call of the engine."""
    if isinstance(observable, qml.Hermitian):
        return _matrix_form(observable, observable.data[0], wires)
    linear = _linear_combination(observable, wires)
    if linear is not None:
        return linear
    return _collected(_terms(observable, wires), observable)


def _matrix_form(observable: Any, matrix: Any, wires: WireMap) -> MatrixObservable:
    size = 2 ** len(observable.wires)
    if tuple(np.shape(matrix)) != (size, size):
        raise _unsupported(observable, f"has a matrix of shape {np.shape(matrix)}")
    positions = wires.positions(observable.wires, observable.name)
    return MatrixObservable(complex_array(matrix), positions)


def _linear_combination(observable: Any, wires: WireMap) -> PauliSum | None:
    """A Hamiltonian whose coefficients are one traced vector: used as it is, never taken apart."""
    if not isinstance(observable, ops.LinearCombination):
        return None
    coefficients, operators = observable.coeffs, observable.ops
    if not isinstance(coefficients, Tracer) or coefficients.ndim != 1:
        return None
    terms = [_terms(operator, wires) for operator in operators]
    if any(len(inner) != 1 or _is_traced(inner[0].coefficient) for inner in terms):
        return None
    factors = [complex(inner[0].coefficient) for inner in terms]
    if any(factor.imag != 0 for factor in factors) or jnp.issubdtype(
        coefficients.dtype, jnp.complexfloating
    ):
        return None
    vector = as_dtype(coefficients, jnp.float64)
    scaled = vector if set(factors) <= {1} else vector * np.array([f.real for f in factors])
    return PauliSum(scaled, tuple(inner[0].word for inner in terms))


def _terms(observable: Any, wires: WireMap) -> list[Term]:
    """An observable as Pauli words; a product multiplies out."""
    if isinstance(observable, qml.Identity):
        wires.positions(observable.wires, observable.name)
        return [Term(1.0, ())]
    pauli = _PAULIS.get(type(observable))
    if pauli is not None:
        return [Term(1.0, ((pauli, _wire(observable, wires)),))]
    if isinstance(observable, qml.Hadamard):
        wire = _wire(observable, wires)
        return [Term(np.sqrt(0.5), ((pauli, wire),)) for pauli in "XZ"]
    if isinstance(observable, qml.Hermitian):
        return _expansion(_matrix_form(observable, observable.data[0], wires), observable)
    if isinstance(observable, qml.Projector):
        return _projector_terms(observable, wires)
    if isinstance(observable, ops.LinearCombination):
        pairs = zip(observable.coeffs, observable.ops, strict=True)
        return [term for factor, inner in pairs for term in _scaled(factor, _terms(inner, wires))]
    if isinstance(observable, ops.SProd):
        return _scaled(observable.scalar, _terms(observable.base, wires))
    if isinstance(observable, ops.Sum):
        return [term for inner in observable.operands for term in _terms(inner, wires)]
    if isinstance(observable, ops.Prod):
        return _multiplied([_terms(inner, wires) for inner in observable.operands])
    raise _unsupported(observable, "is not among the observables that are compiled")


def _wire(observable: Any, wires: WireMap) -> Position:
    return wires.positions(observable.wires, observable.name)[0]


def _scaled(factor: Any, terms: Sequence[Term]) -> list[Term]:
    return [Term(factor * term.coefficient, term.word) for term in terms]


def _multiplied(factors: Sequence[Sequence[Term]]) -> list[Term]:
    """The product of sums."""
    product = [Term(1.0, ())]
    for terms in factors:
        product = [_product(left, right) for left in product for right in terms]
    return product


def _product(left: Term, right: Term) -> Term:
    """The product of two terms: factors on one wire become one."""
    coefficient = left.coefficient * right.coefficient
    word = list(left.word)
    for pauli, wire in right.word:
        same = [index for index, (_, other) in enumerate(word) if _same_wire(wire, other)]
        if not same:
            word.append((pauli, wire))
            continue
        before = word.pop(same[0])[0]
        if before != pauli:
            phase, result = _PRODUCTS[before, pauli]
            coefficient = phase * coefficient
            word.insert(same[0], (result, wire))
    return Term(coefficient, tuple(word))


def _same_wire(left: Position, right: Position) -> bool:
    """Whether two wires are known to be the same one."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return left is right


def _expansion(form: MatrixObservable, observable: Any) -> list[Term]:
    """A matrix in Pauli words: the coefficient of P is the trace of P M, over the size."""
    number = len(form.wires)
    if number > LARGEST_EXPANSION:
        reason = f"on {number} wires is too large to be part of another observable"
        raise _unsupported(observable, reason)
    terms: list[Term] = []
    for paulis in itertools.product("IXYZ", repeat=number):
        matrix = np.eye(1, dtype=complex)
        for pauli in paulis:
            matrix = np.kron(matrix, _MATRICES[pauli])
        coefficient = (matrix.T * form.matrix).sum().real / 2**number
        if not _is_traced(coefficient) and coefficient == 0:
            continue
        pairs = zip(paulis, form.wires, strict=True)
        word = tuple((pauli, wire) for pauli, wire in pairs if pauli != "I")
        terms.append(Term(coefficient, word))
    return terms


def _projector_terms(observable: Any, wires: WireMap) -> list[Term]:
    """A projector on a basis state is the product of (1 ± Z)/2."""
    positions = wires.positions(observable.wires, observable.name)
    state = observable.data[0]
    if len(state) != len(positions):
        raise _unsupported(observable, "on a state vector is not compiled; use Hermitian")
    signs = [1 - 2 * bit for bit in state]
    return _multiplied(
        [
            [Term(0.5, ()), Term(0.5 * sign, (("Z", wire),))]
            for sign, wire in zip(signs, positions, strict=True)
        ]
    )


_Key = tuple[tuple[tuple[bool, int], str], ...]
"""A word by the identity of its wires, in an order of their own."""


def _collected(terms: Sequence[Term], observable: Any) -> PauliSum:
    """Equal words once, coefficients as a real vector."""
    words: dict[_Key, Word] = {}
    coefficients: dict[_Key, Any] = {}
    for term in terms:
        key = tuple(sorted((_wire_key(wire), pauli) for pauli, wire in term.word))
        words.setdefault(key, term.word)
        coefficients[key] = coefficients.get(key, 0.0) + term.coefficient
    vector = _real_vector(list(coefficients.values()), observable)
    return PauliSum(vector, tuple(words.values()))


def _wire_key(wire: Position) -> tuple[bool, int]:
    return (False, wire) if isinstance(wire, int) else (True, id(wire))


def _real_vector(coefficients: list[Any], observable: Any) -> Any:
    if any(_is_complex(coefficient) for coefficient in coefficients):
        raise _unsupported(observable, "is not Hermitian: a coefficient is complex")
    if any(_is_traced(coefficient) for coefficient in coefficients):
        return jnp.stack([jnp.asarray(c, jnp.float64).reshape(()) for c in coefficients])
    return np.array([complex(c).real for c in coefficients], dtype=np.float64)


def _is_complex(coefficient: Any) -> bool:
    if _is_traced(coefficient):
        return jnp.issubdtype(coefficient.dtype, jnp.complexfloating)
    return complex(coefficient).imag != 0


def _is_traced(value: Any) -> bool:
    return isinstance(value, Tracer)


def _unsupported(observable: Any, reason: str) -> UnsupportedObservableError:
    return UnsupportedObservableError(observable=describe(observable), reason=reason)
