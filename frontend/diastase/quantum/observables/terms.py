"""Sums of terms: products, as Pauli words, and as a matrix.

Letters on one wire become one (`word_of`), a product of sums is multiplied out unless it would get
too long. `collected` gives the sum of words that the engine measures in one call, its coefficients
as one real vector; `in_letters` writes small matrices in letters: the coefficient of P is the trace
of P M, over the size. `dense` is for where only a matrix will do.

The trap: letters on one wire multiply as matrices, so the order of factors is kept; a traced wire
may be any, and a letter passes no letter on one.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.capture.quantum_errors import UnsupportedObservableError
from diastase.quantum.observables.factors import (
    PAULI_MATRICES,
    Factor,
    Matrix,
    Pauli,
    Sum,
    Term,
    is_complex,
    is_same_wire,
    is_traced,
)
from diastase.quantum.wires import Position

MOST_WORDS = 16
"""A term that would become more words than this is applied to a copy of the register instead."""

ROUNDING = 1e-12
"""Imaginary parts of this size, relative to their coefficient, are rounding errors."""

_PRODUCTS: dict[tuple[str, str], tuple[complex, str]] = {
    ("X", "Y"): (1j, "Z"), ("Y", "Z"): (1j, "X"), ("Z", "X"): (1j, "Y"),
    ("Y", "X"): (-1j, "Z"), ("Z", "Y"): (-1j, "X"), ("X", "Z"): (-1j, "Y"),
}  # fmt: skip


Letters = tuple[tuple[str, Position], ...]
"""Letters with their wires."""


@dataclass(frozen=True)
class PauliSum:
    """Coefficients as one vector, and their words."""

    coefficients: Any
    words: tuple[Letters, ...]
    number_turned: int = 0
    """How many words at the end are i times those whose letters they have without the last XYZ.

    They are there to be checked: that they cancel is known when the program runs.
    """

    def terms(self) -> list[Term]:
        """The words, each with its coefficient."""
        return [
            Term(self.coefficients[k], tuple(Pauli(letter, wire) for letter, wire in word))
            for k, word in enumerate(self.words)
        ]

    @staticmethod
    def of(coefficients: Any, terms: Sequence[Term]) -> "PauliSum":
        """Of the letters of these terms."""
        return PauliSum(coefficients, tuple(map(_letters, terms)))


def _letters(term: Term) -> Letters:
    return tuple((factor.letter, factor.wire) for factor in _pauli_factors(word_of(term)))


def _pauli_factors(term: Term) -> list[Pauli]:
    """The factors of a word."""
    return [factor for factor in term.factors if isinstance(factor, Pauli)]


def word_of(term: Term) -> Term:
    """The same word with each wire once, as far as wires are known.

    A letter passes those on other wires only; a traced wire may be any.
    """
    phase = term.phase
    letters: list[Any] = []
    for factor in _pauli_factors(term):
        place = _place_to_merge(letters, factor)
        if place is None:
            letters.append(factor)
            continue
        before = letters.pop(place)
        if before != factor:
            turn, letter = _PRODUCTS[before.letter, factor.letter]
            phase = phase * turn
            letters.insert(place, Pauli(letter, before.wire))
    return Term(term.coefficient, tuple(letters), phase)


def _place_to_merge(letters: Sequence[Any], letter: Any) -> int | None:
    """Where the last letter on the same wire stands, if all behind it are on other wires."""
    for place in range(len(letters) - 1, -1, -1):
        other = letters[place]
        if is_same_wire(other.wire, letter.wire):
            return place
        if not (isinstance(other.wire, int) and isinstance(letter.wire, int)):
            return None
    return None


def in_letters(term: Term) -> list[Term] | None:
    """A term as words; None where they would be too many."""
    if term.is_word:
        return [word_of(term)]
    choices = [_letters_of(factor) for factor in term.factors]
    number = 1
    for choice in choices:
        number *= MOST_WORDS + 1 if choice is None else len(choice)
    if number > MOST_WORDS:
        return None
    words: list[Term] = []
    for picked in itertools.product(*(choice for choice in choices if choice is not None)):
        coefficient = term.coefficient
        for part in picked:
            coefficient = coefficient * part.coefficient
        factors = tuple(factor for part in picked for factor in part.factors)
        words.append(word_of(Term(coefficient, factors, term.phase)))
    return words


def _letters_of(factor: Factor) -> list[Term] | None:
    if isinstance(factor, Pauli):
        return [Term(1.0, (factor,))]
    if not isinstance(factor, Matrix) or not factor.is_hermitian:
        return None
    if 4 ** len(factor.wires) > MOST_WORDS:
        return None
    return _expansion(factor)


def _expansion(factor: Matrix) -> list[Term]:
    number = len(factor.wires)
    terms: list[Term] = []
    for letters in itertools.product("IXYZ", repeat=number):
        matrix = np.eye(1, dtype=complex)
        for letter in letters:
            matrix = np.kron(matrix, PAULI_MATRICES.get(letter, np.eye(2)))
        coefficient = (matrix.T * factor.matrix).sum().real / 2**number
        if not is_traced(coefficient) and coefficient == 0:
            continue
        pairs = zip(letters, factor.wires, strict=True)
        word = tuple(Pauli(letter, wire) for letter, wire in pairs if letter != "I")
        terms.append(Term(coefficient, word))
    return terms


_Key = tuple[tuple[tuple[bool, int], str], ...]
"""A word by the identity of its wires, in an order of their own."""


def collected(terms: Sequence[Term], observable: str) -> PauliSum:
    """Equal words once, coefficients as a real vector.

    Imaginary parts must cancel, as they do in (aX + bY)^2. Where that depends on traced numbers, or
    on which traced wires are equal, the engine checks it: XYZ, on any wire, is i.
    """
    found: dict[_Key, list[Term]] = {}
    for term in terms:
        found.setdefault(_key(term), []).append(term)
    words: list[tuple[Any, Letters]] = []
    turned: list[tuple[Any, Letters]] = []
    for equal in found.values():
        letters = _letters(equal[0])
        words.append((_real_part(equal, observable), letters))
        wire = letters[-1][1] if letters else 0
        i = tuple((letter, wire) for letter in "XYZ")
        turned += [(part, (*letters, *i)) for part in _imaginary_parts(equal, observable)]
    everything = [*words, *turned]
    coefficients = _vector([coefficient for coefficient, _ in everything])
    return PauliSum(coefficients, tuple(word for _, word in everything), len(turned))


def _real_part(terms: Sequence[Term], observable: str) -> Any:
    traced = [term for term in terms if is_traced(term.coefficient)]
    if any(is_complex(term.coefficient) for term in traced):
        raise _not_hermitian(observable)
    total: Any = _known_part(terms).real
    for term in traced:
        sign = complex(term.phase).real
        if sign != 0:
            total = total + (term.coefficient if sign == 1 else sign * term.coefficient)
    return total


def _imaginary_parts(terms: Sequence[Term], observable: str) -> list[Any]:
    """What must cancel; refused where it is known not to."""
    traced = [term for term in terms if is_traced(term.coefficient)]
    parts: list[Any] = [
        complex(term.phase).imag * term.coefficient
        for term in traced
        if complex(term.phase).imag != 0
    ]
    known = _known_part(terms)
    if abs(known.imag) > ROUNDING * max(abs(known), _magnitude(terms)):
        parts.append(known.imag)
    if len(parts) == 1 and _is_one_word(terms[0]):
        raise _not_hermitian(observable)
    return parts


def _known_part(terms: Sequence[Term]) -> complex:
    return sum(complex(term.scale) for term in terms if not is_traced(term.coefficient))


def _magnitude(terms: Sequence[Term]) -> float:
    return max((abs(term.scale) for term in terms if not is_traced(term.coefficient)), default=0.0)


def _is_one_word(term: Term) -> bool:
    """Whether no other word can turn out to be the same."""
    known = all(isinstance(wire, int) for wire in term.wires)
    return known or len(term.factors) == 1


def _key(term: Term) -> _Key:
    letters = [(_wire_key(factor.wire), factor.letter) for factor in _pauli_factors(term)]
    known = all(isinstance(wire, int) for wire in term.wires)
    return tuple(sorted(letters)) if known else tuple(letters)


def _wire_key(wire: Position) -> tuple[bool, int]:
    return (False, wire) if isinstance(wire, int) else (True, id(wire))


def _vector(coefficients: Sequence[Any]) -> Any:
    if any(is_traced(coefficient) for coefficient in coefficients):
        return jnp.stack([jnp.asarray(c, jnp.float64).reshape(()) for c in coefficients])
    return np.array(coefficients, dtype=np.float64)


def _not_hermitian(observable: str) -> UnsupportedObservableError:
    reason = "is not Hermitian: a coefficient is complex (if its real part is meant, take that)"
    return UnsupportedObservableError(observable=observable, reason=reason)


# --- products of sums ----------------------------------------------------------------------------


MOST_TERMS = 4096
"""Products of sums with more terms are not multiplied out."""


def scaled_terms(factor: Any, terms: Sequence[Term]) -> list[Term]:
    """A sum of terms times a number."""
    return [replace(term, coefficient=factor * term.coefficient) for term in terms]


def multiplied_terms(sums: Sequence[Sequence[Term]]) -> list[Term]:
    """The product of sums, multiplied out unless it gets too long."""
    product = [Term(1.0)]
    for terms in sums:
        if len(product) * len(terms) > MOST_TERMS:
            product = [Term(1.0, (Sum(tuple(product)),))] if len(product) > 1 else product
            terms = [Term(1.0, (Sum(tuple(terms)),))] if len(terms) > 1 else terms
        product = [_product(left, right) for left in product for right in terms]
    return product


def _product(left: Term, right: Term) -> Term:
    """The product of two terms; letters on one wire become one, where nothing is in between."""
    coefficient, factors = left.coefficient * right.coefficient, (*left.factors, *right.factors)
    product = Term(coefficient, factors, left.phase * right.phase)
    return word_of(product) if product.is_word else product


# --- matrices ------------------------------------------------------------------------------------


def dense(terms: Sequence[Term], wires: Sequence[Position]) -> Any:
    """The matrix of a sum of terms on these wires, which are all of theirs."""
    size = 2 ** len(wires)
    total = np.zeros((size, size), complex)
    for term in terms:
        product = np.eye(size, dtype=complex)
        for factor in reversed(term.factors):
            inner = dense(factor.terms, factor.wires) if isinstance(factor, Sum) else factor.matrix
            product = _multiplied(inner, [_index(wire, wires) for wire in factor.wires], product)
        total = total + term.scale * product
    return total


def _multiplied(matrix: Any, targets: Sequence[int], product: Any) -> Any:
    """A matrix on some wires times a matrix on all."""
    number, count = int(product.shape[0]).bit_length() - 1, len(targets)
    library: Any = jnp if is_traced(matrix) or is_traced(product) else np
    tensor = library.reshape(product, (2,) * number + (-1,))
    inner = library.reshape(matrix, (2,) * (2 * count))
    result = library.tensordot(inner, tensor, (tuple(range(count, 2 * count)), tuple(targets)))
    result = library.moveaxis(result, tuple(range(count)), tuple(targets))
    return library.reshape(result, product.shape)


def _index(wire: Position, wires: Sequence[Position]) -> int:
    return next(index for index, other in enumerate(wires) if is_same_wire(wire, other))
