"""Complex 2x2 matrices of vectors, of which some numbers are known to be zero in all lanes.

A matrix is eight numbers, as in `state_vector.gates.matrices`. Its *form* says which of them may
not be zero, a bit for each; 0 is no matrix at all. The named forms are those that gates have, and
products of them. What is zero is neither kept nor multiplied.
"""

import ast
import itertools
from collections.abc import Callable
from typing import Any
from typing import cast as as_type

from diastase_engine.language import *
from diastase_engine.language import arithmetic
from diastase_engine.language.functions import Intrinsic
from diastase_engine.language.instructions import Frame
from diastase_engine.language.values import Dynamic

REAL_DIAGONAL, PHASE, DIAGONAL = 0b01000001, 0b11000001, 0b11000011
"""As of a collapse, of S, and of any diagonal."""
REAL, CROSS = 0b01010101, 0b01101001
"""As of RY and of RX: the numbers that are not on the diagonal are real, or imaginary."""
TURNED_REAL, TURNED_CROSS = 0b11110101, 0b11111001
"""The same with a phase of |1> afterwards."""
GENERAL = 0b11111111
FORMS = [REAL_DIAGONAL, PHASE, DIAGONAL, REAL, CROSS, TURNED_REAL, TURNED_CROSS, GENERAL]
"""The least one first."""
OTHERS = 0b00111100
"""The numbers that are not on the diagonal."""
FORM_BITS = 8

Matrix = list[Any]
_IDENTITY = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def _least_form(bits: int) -> int:
    return next(form for form in FORMS if bits & ~form == 0)


def _composed(left: int, right: int) -> int:
    """The form of a product."""
    bits = 0
    for row, k, column in itertools.product(range(2), repeat=3):
        for one, other in itertools.product(range(2), repeat=2):  # real or imaginary
            first, second = 4 * row + 2 * k + one, 4 * k + 2 * column + other
            if left >> first & 1 and right >> second & 1:
                bits |= 1 << (4 * row + 2 * column + (one ^ other))
    return _least_form(bits)


COMPOSED = {left: {right: _composed(left, right) for right in FORMS} for left in FORMS}


def _times(frame: Frame, left: Any, right: Any) -> Any:
    """A product, of which what is known is computed now."""
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, Dynamic) and one in (0.0, 1.0):
            return other if one else 0.0
    if isinstance(left, Dynamic) or isinstance(right, Dynamic):
        return arithmetic.binary(frame.builder, ast.Mult(), left, right)
    return left * right


def _is_zero(number: Any) -> bool:
    return not isinstance(number, Dynamic) and number == 0.0


def _sum_of_products(frame: Frame, plus: Any, minus: Any) -> Any:
    """Products added, and others subtracted; nothing is done with zeros that are known."""
    total: Any = 0.0
    for operation, pairs in ((ast.Add(), plus), (ast.Sub(), minus)):
        for left, right in pairs:
            term = _times(frame, left, right)
            if _is_zero(term):
                continue
            if _is_zero(total) and isinstance(operation, ast.Add):
                total = term
            elif isinstance(total, Dynamic) or isinstance(term, Dynamic):
                total = arithmetic.binary(frame.builder, operation, total, term)
            else:
                total = total + term if isinstance(operation, ast.Add) else total - term
    return total


def _form_of(_frame: Frame, matrix: Matrix) -> int:
    """The form of a matrix, by the elements that are known to be zero; 0 of the identity."""
    if matrix == _IDENTITY:
        return 0
    return _least_form(sum(1 << k for k, number in enumerate(matrix) if not _is_zero(number)))


sum_of_products = as_type("Callable[..., Any]", Intrinsic(_sum_of_products))
form_of = as_type("Callable[[Matrix], int]", Intrinsic(_form_of))


@inline
def element(matrix: ptr[v8], k: int, form: int) -> Any:
    """One number of a matrix of a (static) form."""
    return matrix[k] if form >> k & 1 == 1 else 0.0


@inline
def loaded(matrix: ptr[v8], form: int) -> Matrix:
    """A matrix of a (static) form from memory."""
    return [
        element(matrix, 0, form), element(matrix, 1, form),
        element(matrix, 2, form), element(matrix, 3, form),
        element(matrix, 4, form), element(matrix, 5, form),
        element(matrix, 6, form), element(matrix, 7, form),
    ]  # fmt: skip


@inline
def row_times(a: Any, b: Any, c: Any, d: Any, column: list[Any]) -> list[Any]:
    """(a + ib, c + id) times a column of two complex numbers."""
    x, y, u, v = column[0], column[1], column[2], column[3]
    return [
        sum_of_products([(a, x), (c, u)], [(b, y), (d, v)]),
        sum_of_products([(a, y), (b, x), (c, v), (d, u)], []),
    ]


@inline
def image(matrix: Matrix, column: list[Any]) -> list[Any]:
    """A matrix times a column of two complex numbers."""
    upper = row_times(matrix[0], matrix[1], matrix[2], matrix[3], column)
    lower = row_times(matrix[4], matrix[5], matrix[6], matrix[7], column)
    return [upper[0], upper[1], lower[0], lower[1]]


@inline
def product(left: Matrix, right: Matrix) -> Matrix:
    """`left @ right`."""
    first = image(left, [right[0], right[1], right[4], right[5]])
    second = image(left, [right[2], right[3], right[6], right[7]])
    return [
        first[0], first[1], second[0], second[1], first[2], first[3], second[2], second[3]
    ]  # fmt: skip
