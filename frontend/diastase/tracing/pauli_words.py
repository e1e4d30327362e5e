"""Terms of Pauli letters: letters on one wire become one, equal words are collected.

`collected` gives the sum that the engine measures in one call, its coefficients as one real vector.
`in_letters` writes small matrices in letters: the coefficient of P is the trace of P M, over the
size.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.tracing.factors import (
    PAULI_MATRICES,
    Factor,
    Matrix,
    Pauli,
    Term,
    is_complex,
    is_same_wire,
    is_traced,
)
from diastase.tracing.quantum_errors import UnsupportedObservableError
from diastase.tracing.wires import Position

MOST_WORDS = 16
"""A term that would become more words than this is applied to a copy of the register instead."""

ROUNDING = 1e-12
"""Imaginary parts of this size, relative to their coefficient, are rounding errors."""

_PRODUCTS: dict[tuple[str, str], tuple[complex, str]] = {
    ("X", "Y"): (1j, "Z"), ("Y", "Z"): (1j, "X"), ("Z", "X"): (1j, "Y"),
    ("Y", "X"): (-1j, "Z"), ("Z", "Y"): (-1j, "X"), ("X", "Z"): (-1j, "Y"),
}  # fmt: skip


@dataclass(frozen=True)
class PauliSum:
    """Coefficients as one vector, and their words."""

    coefficients: Any
    words: tuple[tuple[tuple[str, Position], ...], ...]
    """Letters with their wires."""

    @staticmethod
    def of(coefficients: Any, terms: Sequence[Term]) -> "PauliSum":
        """Of the letters of these terms."""
        words = [
            [(factor.letter, factor.wire) for factor in word_of(term).factors] for term in terms
        ]
        return PauliSum(coefficients, tuple(map(tuple, words)))


def word_of(term: Term) -> Term:
    """The same word with each wire once, as far as wires are known.

    A letter passes those on other wires only; a traced wire may be any.
    """
    phase = term.phase
    letters: list[Any] = []
    for factor in term.factors:
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
    """Equal words once, coefficients as a real vector."""
    words: dict[_Key, Term] = {}
    found: dict[_Key, list[Term]] = {}
    for term in terms:
        key = _key(term)
        words.setdefault(key, term)
        found.setdefault(key, []).append(term)
    sums = [_real_sum(equal, observable) for equal in found.values()]
    return PauliSum.of(_vector(sums), list(words.values()))


def _key(term: Term) -> _Key:
    letters = [(_wire_key(factor.wires[0]), factor.letter) for factor in term.factors]
    known = all(isinstance(factor.wires[0], int) for factor in term.factors)
    return tuple(sorted(letters)) if known else tuple(letters)


def _wire_key(wire: Position) -> tuple[bool, int]:
    return (False, wire) if isinstance(wire, int) else (True, id(wire))


def _real_sum(terms: Sequence[Term], observable: str) -> Any:
    """The coefficient of a word, which must be real.

    Of traced numbers nobody knows whether imaginary parts cancel, as they do in (aX + bY)^2, so
    they are dropped if they may; PennyLane drops them anyway.
    """
    traced = [term for term in terms if is_traced(term.coefficient)]
    if any(is_complex(term.coefficient) for term in traced):
        raise _not_hermitian(observable)
    known = sum(complex(term.scale) for term in terms if not is_traced(term.coefficient))
    turned = [term for term in traced if complex(term.phase).imag != 0]
    if not turned and abs(known.imag) > ROUNDING * abs(known):
        raise _not_hermitian(observable)
    if len(turned) == 1 and known.imag == 0:
        raise _not_hermitian(observable)
    total: Any = known.real
    for term in traced:
        sign = complex(term.phase).real
        if sign != 0:
            total = total + (term.coefficient if sign == 1 else sign * term.coefficient)
    return total


def _vector(coefficients: Sequence[Any]) -> Any:
    if any(is_traced(coefficient) for coefficient in coefficients):
        return jnp.stack([jnp.asarray(c, jnp.float64).reshape(()) for c in coefficients])
    return np.array(coefficients, dtype=np.float64)


def _not_hermitian(observable: str) -> UnsupportedObservableError:
    reason = "is not Hermitian: a coefficient is complex"
    return UnsupportedObservableError(observable=observable, reason=reason)
