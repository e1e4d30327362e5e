"""Lengths of chains with symbols: the longest of some linear forms, without asking sympy each time.

A form is a sum of monomials that are never negative, with integer coefficients; one is longer than
another for all values of the symbols if no coefficient is smaller. What is no such sum, such as
`n - i`, is a monomial of its own. A `Length` keeps the forms of which none is longer than another.
It adds like a number; ints are lengths, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from diastase.inspection.resources.interpretation.exact import Number, expanded, is_known, largest

Form = frozenset[tuple[Any, int]]
"""Pairs of a monomial and its coefficient; the monomial of the constant is 1."""


@dataclass(frozen=True)
class Length:
    """The longest of some forms."""

    forms: frozenset[Form]

    @staticmethod
    def of(number: Number) -> "Length | int":
        """A number of the program's as a length."""
        if is_known(number):
            return int(number)
        terms: dict[Any, Any] = dict(number.as_coefficients_dict())
        is_sum = all(
            one.is_nonnegative and int(c) == c and (c > 0 or one == 1) for one, c in terms.items()
        )
        terms = terms if is_sum else {number: 1}
        return Length(frozenset([_form({one: int(c) for one, c in terms.items()})]))

    def __add__(self, other: "Length | int") -> "Length | int":
        if isinstance(other, int) and not other:
            return self
        others = other.forms if isinstance(other, Length) else [_form({1: other})]
        return _longest(_sum(one, another) for one in self.forms for another in others)

    __radd__ = __add__

    @cached_property
    def number(self) -> Number:
        """As an expression."""
        return largest(map(_expression, self.forms))


def longest(lengths: Iterable["Length | int"]) -> "Length | int":
    """The longest of some lengths."""
    constants, others = list[int](), list[Length]()
    for length in lengths:
        constants.append(length) if isinstance(length, int) else others.append(length)
    if not others:
        return max(constants)
    forms = {form for length in others for form in length.forms}
    if constants:
        forms.add(_form({1: max(constants)}))
    return _longest(forms)


def number_of(length: "Length | int") -> Number:
    """A length as an int or an expression."""
    return length.number if isinstance(length, Length) else length


def times(length: "Length | int", count: Number, less: int = 0) -> "Length | int":
    """A length `count - less` times."""
    forms = length.forms if isinstance(length, Length) else [_form({1: length})]
    products: list[Length | int] = []
    for form in forms:
        added = _longest([_form({one: -less * c for one, c in form})])
        products.append(Length.of(expanded(count * _expression(form))) + added)
    return longest(products)


def _expression(form: Form) -> Number:
    return sum(monomial * coefficient for monomial, coefficient in form)


def _form(terms: dict[Any, int]) -> Form:
    return frozenset((1 if one == 1 else one, c) for one, c in terms.items() if c)


def _sum(one: Form, other: Form) -> Form:
    terms = dict(one)
    for monomial, coefficient in other:
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _form(terms)


def _longest(forms: Iterable[Form]) -> "Length | int":
    found = set(forms)
    found = {one for one in found if not any(_covers(more, one) for more in found - {one})}
    (first, *more) = found
    if not more and all(monomial == 1 for monomial, _ in first):
        return dict(first).get(1, 0)
    return Length(frozenset(found))


def _covers(longer: Form, shorter: Form) -> bool:
    """Whether a form is not below another one, whatever the symbols are."""
    own, other = dict(longer), dict(shorter)
    return all(own.get(each, 0) >= other.get(each, 0) for each in {*own, *other})
