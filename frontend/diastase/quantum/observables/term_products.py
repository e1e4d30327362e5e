"""Sums of terms, scaled and multiplied.

A product of sums is multiplied out, unless it would get too long: then a sum becomes one factor.
The trap: letters on one wire become one letter, so the order of the factors is kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from diastase.quantum.observables.observable_factors import Factor, Sum, Term
from diastase.quantum.observables.pauli_words import word_of

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
            product = [Term(1.0, (_factor(product),))] if len(product) > 1 else product
            terms = [Term(1.0, (_factor(terms),))] if len(terms) > 1 else terms
        product = [_product(left, right) for left in product for right in terms]
    return product


def _factor(terms: Sequence[Term]) -> Factor:
    return Sum(tuple(terms))


def _product(left: Term, right: Term) -> Term:
    """The product of two terms; letters on one wire become one, where nothing is in between."""
    coefficient, factors = left.coefficient * right.coefficient, (*left.factors, *right.factors)
    product = Term(coefficient, factors, left.phase * right.phase)
    return word_of(product) if product.is_word else product
