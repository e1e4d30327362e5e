"""What is known of a program's numbers: scalars followed through its classical equations.

A `Value` is a number (Python's, or with symbols), `VARYING` inside of a loop that is looked at for
all of its turns at once, or None where nothing is known. It also says which outcomes of
measurements it has been computed from, whatever is known of it.

Of arrays nothing is followed. `//` and `%` come as what JAX makes of them, a truncated division and
a correction of its sign: `select_n` finds the two again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jax.extend.core import Literal

from diastase.inspection.resources.interpretation.exact import Number, is_known, settled
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import sympy
else:
    sympy = LazyModule("sympy")


class _Varying:
    """Stands for a number that is another one in each turn."""

    def __repr__(self) -> str:
        return "VARYING"


VARYING: Any = _Varying()


@dataclass(frozen=True)
class Value:
    """What is known of one value."""

    number: Number = None
    outcomes: frozenset[Any] = frozenset()
    """The measurements that it depends on."""
    or_zero: Number = None
    """The other number, where it is one of two and zero is one of them: of a correction."""


NOTHING = Value()


def value_of(atom: Any) -> Value:
    """What is known of a literal, or of a value that tracing knows."""
    given = atom.val if isinstance(atom, Literal) else atom
    if np.ndim(given) or not isinstance(given, int | float | np.generic | np.ndarray):
        return NOTHING
    dtype = np.asarray(given).dtype
    return Value(np.asarray(given).item()) if dtype.kind in "biuf" else NOTHING


def results_of(equation: Any, operands: Sequence[Value]) -> list[Value]:
    """What is known of the results of a classical equation."""
    outcomes = frozenset[Any]().union(*(operand.outcomes for operand in operands))
    number = None
    if len(equation.outvars) == 1 and not getattr(equation.outvars[0].aval, "shape", None):
        number = _result(equation, [operand.number for operand in operands])
        if number is None and equation.primitive.name == "select_n" and len(operands) == 3:
            return [Value(None, outcomes, _not_zero(*operands[1:]))]
    return [Value(number, outcomes)] * len(equation.outvars)


def _not_zero(one: Value, other: Value) -> Number:
    """Of two numbers that which is not zero, if the other is."""
    if one.number == 0:
        return other.number
    return one.number if other.number == 0 else None


def _result(equation: Any, numbers: Sequence[Number]) -> Number:
    rule = _RULES.get(equation.primitive.name)
    if rule is None:
        return None
    if any(number is VARYING for number in numbers):
        return VARYING
    if any(number is None for number in numbers):
        return None
    if not all(map(is_known, numbers)) and equation.outvars[0].aval.dtype.kind not in "biu":
        return None
    exponent = [equation.params["y"]] if equation.primitive.name == "integer_pow" else []
    try:
        found = rule(*numbers, *exponent)
    except (ArithmeticError, TypeError):
        return None
    if found is None:
        return None
    return _converted(found, equation.outvars[0].aval.dtype)


def _converted(number: Number, dtype: np.dtype[Any]) -> Number:
    """A number in the kind of a type; a float that becomes an integer loses its fraction."""
    number = settled(number)
    if not is_known(number):
        return number
    return {"b": bool, "f": float}.get(dtype.kind, int)(number)


def _quotient(a: Number, b: Number) -> Number:
    """Rounded towards zero."""
    if is_known(a) and is_known(b):
        if isinstance(a, float) or isinstance(b, float):
            return a / b
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return sympy.Function("trunc_div", integer=True)(a, b)


def _remainder(a: Number, b: Number) -> Number:
    if is_known(a) and is_known(b):
        return a - b * _quotient(a, b) if isinstance(a, int) and isinstance(b, int) else None
    return sympy.Function("trunc_rem", integer=True)(a, b)


def _sign(a: Number) -> Number:
    return (a > 0) - (a < 0) if is_known(a) else sympy.sign(a)


def _select(which: Number, *cases: Number) -> Number:
    if is_known(which):
        return cases[int(which)]
    if len(cases) != 2 or any(map(_is_condition, cases)):
        return None
    first, second = cases
    if first == second:
        return first
    if is_known(first) or len(first.args) != 2:
        return None
    # JAX corrects what is rounded towards zero where the signs differ and something is left.
    a, b = first.args
    left = _remainder(a, b)
    is_left = _different(left, 0)
    if first == _quotient(a, b) and settled(second - first) == -1:
        signs_differ = _different(_sign(a), _sign(b))
        return sympy.floor(a / b) if which == _both(signs_differ, is_left) else None
    if first == left and settled(second - first - b) == 0:
        signs_differ = _different(left < 0, b < 0)
        return sympy.Mod(a, b) if which == _both(signs_differ, is_left) else None
    return None


def _is_condition(number: Number) -> bool:
    return isinstance(number, bool) or bool(getattr(number, "is_Boolean", False))


def _both(a: Number, b: Number) -> Number:
    return a & b if is_known(a) and is_known(b) else sympy.And(a, b)


def _either(a: Number, b: Number) -> Number:
    return a | b if is_known(a) and is_known(b) else sympy.Or(a, b)


def _not(a: Number) -> Number:
    return not a if is_known(a) else sympy.Not(a)


def _equal(a: Number, b: Number) -> Number:
    return a == b if is_known(a) and is_known(b) else sympy.Eq(a, b)


def _different(a: Number, b: Number) -> Number:
    return a != b if is_known(a) and is_known(b) else sympy.Ne(a, b)


def _largest(a: Number, b: Number) -> Number:
    return max(a, b) if is_known(a) and is_known(b) else sympy.Max(a, b)


def _smallest(a: Number, b: Number) -> Number:
    return min(a, b) if is_known(a) and is_known(b) else sympy.Min(a, b)


def _itself(a: Number) -> Number:
    return a


_RULES: dict[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "sign": _sign,
    "div": _quotient,
    "rem": _remainder,
    "max": _largest,
    "min": _smallest,
    "integer_pow": lambda a, y: a**y,
    "eq": _equal,
    "ne": _different,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": _both,
    "or": _either,
    "not": _not,
    "select_n": _select,
    **dict.fromkeys(
        ("convert_element_type", "copy", "copy_p", "reshape", "squeeze", "stop_gradient"), _itself
    ),
}
"""By the name of the primitive; on booleans, `and`, `or` and `not`."""
