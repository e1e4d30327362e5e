"""Exact numbers that may contain symbols: Python's while all is known, sympy's from then on.

sympy is imported when the first symbol is made, so that programs without any never load it. A
symbol stands for an integer that is not negative: what is shown of `range(n)` is `n`, not
`Max(0, n)`. Values that are given for names (`choices`) may be any, as the analysis is done again.

Integers of a program are taken to be unbounded: a product that wraps around is not foreseen.
"""

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import sympy
else:
    sympy = LazyModule("sympy")

Number = Any
"""An int, a float, a bool, or an expression of sympy's."""


def symbol(name: str) -> Number:
    """The symbol of this name: equal names, equal symbols."""
    return sympy.Symbol(name, integer=True, nonnegative=True)


def index_symbol(name: str) -> Number:
    """A new index of a sum, unlike all others."""
    return sympy.Dummy(name, integer=True, nonnegative=True)


def is_known(number: Number) -> bool:
    """Whether a number is one of Python's."""
    return isinstance(number, int | float)


def settled(number: Number) -> Number:
    """A number without symbols as Python's; others as they are."""
    if is_known(number) or getattr(number, "free_symbols", None):
        return number
    if number in (sympy.true, sympy.false):
        return bool(number)
    if getattr(number, "is_Integer", False):
        return int(number)
    return float(number) if getattr(number, "is_number", False) else number


def is_at_least(number: Number, other: Number) -> bool:
    """Whether a number is certainly not below another one."""
    if is_known(number) and is_known(other):
        return number >= other
    difference = sympy.expand(number - other)
    return bool(difference.is_nonnegative)


def largest(numbers: Iterable[Number]) -> Number:
    """The largest of some numbers; of those that nothing orders, sympy's `Max`."""
    return _extreme(numbers, at_least=True)


def smallest(numbers: Iterable[Number]) -> Number:
    """The smallest of some numbers."""
    return _extreme(numbers, at_least=False)


def _extreme(numbers: Iterable[Number], at_least: bool) -> Number:
    left: list[Number] = []
    for number in numbers:
        beyond = [one for one in left if _ordered(one, number, at_least)]
        if not beyond:
            left = [one for one in left if not _ordered(number, one, at_least)]
            left.append(number)
    if len(left) == 1:
        return left[0]
    # They are in no order, as `_ordered` has found; sympy would compare all of them once more.
    kind = sympy.Max if at_least else sympy.Min
    return kind(*left, evaluate=False)


def _ordered(one: Number, other: Number, at_least: bool) -> bool:
    return is_at_least(one, other) if at_least else is_at_least(other, one)


def trip_count(lower: Number, upper: Number, step: int, bounds: dict[Number, Number]) -> Number:
    """The length of `range(lower, upper, step)`; `bounds`: how many values each index has."""
    if is_known(lower) and is_known(upper):
        return len(range(lower, upper, step)) if step else 0
    distance = upper - lower if step > 0 else lower - upper
    distance = sympy.expand(distance)
    length = distance if abs(step) == 1 else sympy.ceiling(distance / abs(step))
    return settled(length if _never_negative(distance, bounds) else sympy.Max(0, length))


def _never_negative(expression: Number, bounds: dict[Number, Number]) -> bool:
    """Whether an expression that is linear in the indices is not negative for any values of them.

    The last indices first: their bounds may depend on those before.
    """
    for index, count in reversed(bounds.items()):
        slope = expression.coeff(index)
        if slope.is_negative:
            expression = sympy.expand(expression.subs(index, count - 1))
        elif slope.is_nonnegative and not slope.has(index):
            expression = expression.subs(index, 0)
    return bool(expression.is_nonnegative)


def summed(term: Number, index: Number, count: Number) -> Number:
    """The sum of a term for `index = 0, …, count - 1`: closed where the term is a polynomial."""
    if is_known(term) or not term.has(index):
        return expanded(term * count)
    total: Number = 0
    for part in sympy.Add.make_args(sympy.expand(term)):
        bounds = (index, 0, count - 1)
        closed = part.is_polynomial(index)
        total += sympy.summation(part, bounds) if closed else sympy.Sum(part, bounds)
    return expanded(total)


def expanded(number: Number) -> Number:
    """A number as a sum of products, or Python's."""
    return number if is_known(number) else settled(sympy.expand(number))


def shown(number: Number) -> Number:
    """A number in the symbols that `sympy.Symbol(name)` gives, of which nothing is assumed."""
    if is_known(number):
        return number
    names = {each.name for each in number.free_symbols}
    free = {each: sympy.Symbol(each.name) for each in number.free_symbols}
    letters = (f"i_{place}" if place else "i" for place in itertools.count())
    unused = (letter for letter in letters if letter not in names)
    indices = sorted(number.atoms(sympy.Dummy), key=lambda each: each.dummy_index)
    return number.xreplace(free | {each: sympy.Symbol(next(unused)) for each in indices})


def contains(number: Number, index: Number) -> bool:
    """Whether a symbol occurs in a number."""
    return not is_known(number) and number.has(index)
