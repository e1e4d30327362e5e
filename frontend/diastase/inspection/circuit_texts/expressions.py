"""Scalars that are known only when a program runs, as expressions.

An `Expression` is the text of OpenQASM, what is known of it, and the operator and operands that it
is made of, of which QIR makes instructions; a `Choice` is one of two scalars, decided by a
condition, for as long as it can be kept apart: a gate by a choice of angles is a choice of gates.
A scalar that is known is a numpy scalar, so all functions here take all three.

The trap: what depends on an outcome is written with `&`, `|`, `^` and `== 0`, which are right for
bits; PennyLane's reader gives `&&` and `!` of outcomes another meaning, without an error.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

ATOM, SIGN, PRODUCT, SUM, REST = range(5)
"""How weakly the outermost operator of an expression binds; `REST` is in brackets anywhere."""

MOST_CHOICES = 64


class NotSayableError(Exception):
    """There is no expression for this; `reason` goes on after the name of the operation."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Expression:
    """An expression: its text, how weakly it binds, and what is known of its value."""

    text: str
    weakness: int = ATOM
    kind: str = "f"
    """As numpy's kinds of types: f, i, b."""
    is_natural: bool = False
    """Whether it is never negative."""
    is_outcome: bool = False
    """Whether it depends on a measurement."""
    opposite: "Expression | None" = None
    """What it is the negation of."""
    operator: str = ""
    """What it is the result of; nothing for names and numbers."""
    operands: "tuple[Expression, ...]" = ()
    value: np.generic | None = None
    """Of a number."""

    def within(self, weakness: int) -> str:
        """The text as an operand that must not bind more weakly than this."""
        return self.text if self.weakness <= weakness else f"({self.text})"


@dataclass(frozen=True)
class Choice:
    """`if_true` where the condition holds, else `if_false`."""

    condition: Expression
    if_false: "Scalar"
    if_true: "Scalar"


Scalar = np.generic | Expression | Choice


def number(value: Any) -> str:
    """A known scalar as text, exactly."""
    value = np.asarray(value)[()]
    if value.dtype.kind == "b":
        return "true" if value else "false"
    if value.dtype.kind in "iu":
        return str(int(value))
    if value.dtype.kind != "f" or not np.isfinite(value):
        raise NotSayableError(f"needs the number {value}, for which there is no literal")
    return repr(float(value))


def kind_of(scalar: Scalar) -> str:
    """The kind of number that a scalar is: f, i, b."""
    if isinstance(scalar, Choice):
        return kind_of(scalar.if_true)
    if isinstance(scalar, Expression):
        return scalar.kind
    return "i" if scalar.dtype.kind in "iu" else scalar.dtype.kind


def names_in(scalar: Scalar) -> set[str]:
    """The names that a scalar refers to."""
    if isinstance(scalar, Choice):
        parts = (scalar.condition, scalar.if_false, scalar.if_true)
        return set[str]().union(*map(names_in, parts))
    return set(_NAME.findall(scalar.text)) if isinstance(scalar, Expression) else set()


_NAME = re.compile(r"[A-Za-z_]\w*")


def expressed(scalar: Scalar) -> Expression:
    """A scalar as an expression."""
    if isinstance(scalar, Expression):
        return scalar
    if isinstance(scalar, Choice):
        return _expressed_choice(scalar)
    text = number(scalar)
    kind = "i" if scalar.dtype.kind in "iu" else scalar.dtype.kind
    is_negative = text.startswith("-")
    weakness = SIGN if is_negative else ATOM
    return Expression(text, weakness, kind, not is_negative, value=scalar)


def _expressed_choice(choice: Choice) -> Expression:
    """`(1 - int(c)) * a + int(c) * b`, of values that are finite wherever they are written."""
    low, high = expressed(choice.if_false), expressed(choice.if_true)
    which = choice.condition
    if low.kind == "b":
        both = _joined("|", _joined("&", which, high), _joined("&", negated(which), low))
        return both
    if {low.weakness, high.weakness} - {ATOM, SIGN}:
        raise NotSayableError("needs a choice between computed numbers, which are no expression")
    picked = f"int({which.text})"
    weakness, kind, natural = SUM, high.kind, low.is_natural and high.is_natural
    text = f"(1 - {picked}) * {low.within(ATOM)} + {picked} * {high.within(ATOM)}"
    if (low.text, high.text) == ("0", "1"):
        text, weakness, kind, natural = picked, ATOM, "i", True
    parts = (which, low, high)
    return _made("choice", parts, text, weakness, kind, natural, is_outcome=which.is_outcome)


def _made(
    operator: str, operands: "tuple[Expression, ...]", text: str, weakness: int, kind: str,
    is_natural: bool = False, *, is_outcome: bool | None = None,
) -> Expression:  # fmt: skip
    """What an operator gives, which depends on outcomes if an operand does."""
    if is_outcome is None:
        is_outcome = any(operand.is_outcome for operand in operands)
    return Expression(
        text, weakness, kind, is_natural, is_outcome, operator=operator, operands=operands
    )


def negated(condition: Expression) -> Expression:
    """Whether a condition does not hold."""
    if condition.opposite is not None:
        return condition.opposite
    inside = condition.within(ATOM)
    text, weakness = (f"{inside} == 0", REST) if condition.is_outcome else (f"!{inside}", SIGN)
    return replace(_made("not", (condition,), text, weakness, "b", True), opposite=condition)


def _joined(operator: str, one: Expression, other: Expression) -> Expression:
    """Two conditions by `&` or `|`; known ones are decided."""
    decisive = "false" if operator == "&" else "true"
    texts = one.text, other.text
    if decisive in texts:
        return Expression(decisive, ATOM, "b", True)
    neutral = "true" if operator == "&" else "false"
    if neutral in texts:
        return other if one.text == neutral else one
    is_outcome = one.is_outcome or other.is_outcome
    written = operator if is_outcome else operator * 2
    text = f"{one.within(ATOM)} {written} {other.within(ATOM)}"
    return _made(operator, (one, other), text, REST, "b", True)


def chosen(condition: Scalar, if_false: Scalar, if_true: Scalar) -> Scalar:
    """One of two scalars of one type."""
    if isinstance(condition, np.generic):
        return if_true if condition else if_false
    which = expressed(condition)
    known = [value for value in (if_false, if_true) if isinstance(value, np.generic)]
    if len(known) == 2:
        if known[0] == known[1]:
            return known[0]
        if known[0].dtype.kind == "b":
            return which if known[1] else negated(which)
    elif if_false == if_true:
        return if_false
    picked = Choice(which, if_false, if_true)
    if _count(picked) > MOST_CHOICES:
        raise NotSayableError(f"depends on outcomes in more than {MOST_CHOICES} ways")
    return expressed(picked) if _is_condition(if_false) and _is_condition(if_true) else picked


def _is_condition(scalar: Scalar) -> bool:
    if isinstance(scalar, np.generic):
        return scalar.dtype.kind == "b"
    return isinstance(scalar, Expression) and scalar.kind == "b"


def _count(scalar: Scalar) -> int:
    if isinstance(scalar, Choice):
        return _count(scalar.if_false) + _count(scalar.if_true)
    return 1


def first_condition(scalars: Sequence[Any]) -> Expression | None:
    """What the first choice among some scalars depends on."""
    return next((each.condition for each in scalars if isinstance(each, Choice)), None)


def given(scalar: Any, condition: Expression, holds: bool) -> Any:
    """A scalar where it is known whether a condition holds."""
    if not isinstance(scalar, Choice):
        return scalar
    branches = [given(each, condition, holds) for each in (scalar.if_false, scalar.if_true)]
    if scalar.condition == condition:
        return branches[holds]
    return Choice(scalar.condition, *branches)


# --- operators ------------------------------------------------------------------------------------


def infix(symbol: str, weakness: int) -> Callable[..., Expression]:
    """A rule for an operator of two numbers."""

    def rule(kind: str, one: Expression, other: Expression) -> Expression:
        right = other.within(weakness if symbol == "+" else weakness - 1)
        text = f"{one.within(weakness)} {symbol} {right}"
        natural = one.is_natural and other.is_natural and symbol in "+*%"
        return _made(symbol, (one, other), text, weakness, kind, natural)

    return rule


def divided(kind: str, one: Expression, other: Expression) -> Expression:
    """Of two numbers that are integers here, the first is cast: `/` would round."""
    if kind != "f":
        raise NotSayableError("divides integers, which readers round differently")
    if one.kind == other.kind == "i":
        one = as_real(one)
    return infix("/", PRODUCT)("f", one, other)


def as_real(one: Expression) -> Expression:
    """An integer as a floating-point number."""
    return _made("float", (one,), f"float[64]({one.text})", ATOM, "f", one.is_natural)


def as_integer(one: Expression, dtype: Any) -> Expression:
    """An integer as one of a type that does not hold all of its own."""
    is_natural = dtype.kind == "u" or (one.is_natural and dtype.itemsize == 8)
    return _made("int", (one,), f"{type_name(dtype)}({one.text})", ATOM, "i", is_natural)


def type_name(dtype: Any) -> str:
    """A type of numbers in OpenQASM; integers have 64 bits where nothing is said."""
    kind, bits = dtype.kind, 8 * dtype.itemsize
    if kind == "c":
        return f"complex[float[{bits // 2}]]"
    if kind == "b":
        return "bool"
    name = {"f": "float", "i": "int", "u": "uint"}[kind]
    return name if kind in "iu" and bits == 64 else f"{name}[{bits}]"


def widened(one: Expression) -> Expression:
    """An integer as one of 64 bits, in which arithmetic goes on."""
    return _made("int", (one,), f"int({one.text})", ATOM, "i", one.is_natural)


def remainder(kind: str, one: Expression, other: Expression) -> Expression:
    """JAX's remainder has the sign of the first number, as C's; readers differ about that."""
    if kind != "i" or not (one.is_natural and other.is_natural):
        raise NotSayableError("takes a remainder of numbers that may be negative, or no integers")
    return infix("%", PRODUCT)(kind, one, other)


def compared(symbol: str) -> Callable[..., Expression | np.bool_]:
    """A rule for a comparison."""

    def rule(kind: str, one: Expression, other: Expression) -> Expression | np.bool_:
        if one.is_natural and one.kind == "i" and other.text == "0" and symbol in ("<", ">="):
            return np.bool_(symbol == ">=")
        text = f"{one.within(SUM)} {symbol} {other.within(SUM)}"
        return _made(symbol, (one, other), text, REST, "b", True)

    return rule


def logical(symbol: str) -> Callable[..., Expression]:
    """A rule for an operator of two conditions."""

    def rule(kind: str, one: Expression, other: Expression) -> Expression:
        if kind != "b":
            raise NotSayableError("works on the bits of integers")
        if symbol != "^":
            return _joined(symbol, one, other)
        is_outcome = one.is_outcome or other.is_outcome
        written = "^" if is_outcome else "!="
        text = f"{one.within(ATOM)} {written} {other.within(ATOM)}"
        return _made("^", (one, other), text, REST, "b", True)

    return rule


def inverted(kind: str, one: Expression) -> Expression:
    """Not."""
    if kind != "b":
        raise NotSayableError("works on the bits of integers")
    return negated(one)


def minus(kind: str, one: Expression) -> Expression:
    """The opposite."""
    return _made("-", (one,), f"-{one.within(ATOM)}", SIGN, kind)


def power(kind: str, base: Expression, exponent: int) -> Expression:
    """A natural power of a number."""
    text, operands = f"{base.within(ATOM)} ** {exponent}", (base, expressed(np.int64(exponent)))
    return _made("**", operands, text, PRODUCT, kind, exponent % 2 == 0)


def scaled(factor: float, one: Expression) -> Expression:
    """A number times a known factor."""
    if factor in (1, -1):
        return one if factor == 1 else minus("f", one)
    text = f"{factor!r} * {one.within(ATOM)}"
    return _made("*", (expressed(np.float64(factor)), one), text, PRODUCT, "f")


def function(name: str) -> Callable[..., Expression]:
    """A rule for a function."""

    def rule(kind: str, *operands: Expression) -> Expression:
        listed = ", ".join(operand.text for operand in operands)
        return _made(name, operands, f"{name}({listed})", ATOM, kind)

    return rule
