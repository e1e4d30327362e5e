"""Classical operations on scalars, by the names of JAX's primitives.

A rule takes the equation, the kind of numbers that it gives, and the scalars.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from diastase.inspection.circuit_texts import expressions
from diastase.inspection.circuit_texts.expressions import (
    PRODUCT,
    SUM,
    Choice,
    Expression,
    NotSayableError,
    Scalar,
    chosen,
    expressed,
)


def _of(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda equation, kind, *scalars: rule(kind, *map(expressed, scalars))


def _known(value: Any, equation: Any) -> Any:
    """A known number as one of the type that an equation gives."""
    return np.asarray(value, equation.outvars[0].aval.dtype)[()]


def _converted(equation: Any, kind: str, scalar: Scalar) -> Any:
    if isinstance(scalar, Choice):
        cases = [
            _converted(equation, kind, each) if not isinstance(each, np.generic)
            else _known(each, equation)
            for each in (scalar.if_false, scalar.if_true)
        ]  # fmt: skip
        return chosen(scalar.condition, *cases)
    assert isinstance(scalar, Expression)
    dtype = equation.outvars[0].aval.dtype
    if scalar.kind == "b" and kind != "b":
        return Choice(scalar, dtype.type(0), dtype.type(1))
    if scalar.kind == "f" and kind == "i":
        raise NotSayableError("rounds a number to an integer")
    if scalar.kind != "b" and kind == "b":
        return expressions.compared("!=")("b", scalar, expressed(np.int64(0)))
    return _of_integer(scalar, equation.invars[0].aval.dtype, dtype)


def _of_integer(scalar: Expression, source: Any, dtype: Any) -> Expression:
    """A number as one of another type; of integers each type has arithmetic of its own."""
    if scalar.kind != "i" or source == dtype:
        return scalar
    if dtype.kind == "f":
        is_wide = source.kind == "f" or source == np.int64
        return scalar if is_wide else expressions.as_real(scalar)
    if source.kind == "f":
        if dtype != np.int64:
            raise NotSayableError("rounds a number to an integer")
        return scalar
    if np.can_cast(source, dtype):
        return expressions.widened(scalar)
    return expressions.as_integer(scalar, dtype)


def _power(equation: Any, kind: str, scalar: Scalar) -> Any:
    base, exponent = expressed(scalar), equation.params["y"]
    if exponent < 0 or kind != "f":
        raise NotSayableError("takes a power with a negative exponent, or of integers")
    return expressions.power("f", base, exponent)


def _selected(equation: Any, kind: str, which: Scalar, *cases: Scalar) -> Any:
    if len(cases) != 2:
        raise NotSayableError("depends on a choice of several numbers")
    return chosen(which, *cases)


def _clamped(equation: Any, kind: str, low: Scalar, value: Scalar, high: Scalar) -> Any:
    """An integer within bounds, as the number of a branch is."""
    if kind != "i":
        raise NotSayableError("clamps a number that is no integer")
    is_above = expressions.compared(">")("b", expressed(value), expressed(high))
    is_below = expressions.compared("<")("b", expressed(value), expressed(low))
    return chosen(is_below, chosen(is_above, value, high), low)


def _joined_and_known(symbol: str) -> Callable[..., Any]:
    """`and`, `or`: what a known operand decides is known."""
    rule, decisive = expressions.logical(symbol), symbol == "|"

    def apply(equation: Any, kind: str, one: Scalar, other: Scalar) -> Any:
        for each in (one, other):
            if kind == "b" and isinstance(each, np.generic) and bool(each) is decisive:
                return each
        return rule(kind, expressed(one), expressed(other))

    return apply


def _unless(neutral: int, symbol: str, weakness: int) -> Callable[..., Any]:
    """An operator, left out where an operand is neutral."""
    rule = expressions.infix(symbol, weakness)

    def apply(equation: Any, kind: str, one: Scalar, other: Scalar) -> Any:
        if isinstance(other, np.generic) and other == neutral:
            return one
        if isinstance(one, np.generic) and one == neutral and symbol != "-":
            return other
        return rule(kind, expressed(one), expressed(other))

    return apply


ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "add": _unless(0, "+", SUM),
    "sub": _unless(0, "-", SUM),
    "mul": _unless(1, "*", PRODUCT),
    "div": _of(expressions.divided),
    "rem": _of(expressions.remainder),
    "neg": _of(expressions.minus),
    "not": _of(expressions.inverted),
    "and": _joined_and_known("&"),
    "or": _joined_and_known("|"),
    "xor": _of(expressions.logical("^")),
    "integer_pow": _power,
    "square": lambda equation, kind, scalar: _of(expressions.infix("*", PRODUCT))(
        equation, kind, scalar, scalar
    ),
    "clamp": _clamped,
    "convert_element_type": _converted,
    "select_n": _selected,
    **dict.fromkeys(
        ("copy", "copy_p", "stop_gradient", "device_put"),
        lambda equation, kind, scalar: scalar,
    ),
    **{
        name: _of(expressions.compared(symbol))
        for name, symbol in (
            ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
        )
    },
    **{
        name: _of(expressions.function(written))
        for name, written in (
            ("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("exp", "exp"), ("log", "log"),
            ("sqrt", "sqrt"), ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"),
            ("real", "real"), ("imag", "imag"),
        )
    },
}  # fmt: skip
