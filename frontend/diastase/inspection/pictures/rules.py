"""How equations are written: a table of rules by primitive.

What JAX takes apart (`%`, `//`, `**` of integers, negative positions) is put together again, by the
form of the equations that it makes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diastase.inspection.pictures.words import (
    AND,
    ATOM,
    COMPARED,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    Rule,
    Term,
    Words,
    shortened,
)  # fmt: skip


def _infix(operator: str, weakness: int, *, is_associative: bool = True) -> Rule:
    def rule(words: Words, equation: Any) -> Term:
        left, right = (words.term(atom) for atom in equation.invars)
        texts = left.within(weakness), right.within(weakness - (not is_associative))
        return shortened(operator.join(texts), weakness, [left, right])

    return rule


def _logical(operator: str, weakness: int, neutral: bool) -> Rule:
    """An operator that leaves out what is known to change nothing; of integers, it is of bits."""

    def rule(words: Words, equation: Any) -> Term | None:
        left, right = equation.invars
        if equation.outvars[0].aval.dtype != np.bool_:
            return _infix({"and": " & ", "or": " | "}[operator], AND)(words, equation)
        for one, other in ((left, right), (right, left)):
            value = words.value(one)
            if value is not None and value.shape == () and bool(value) == neutral:
                return words.term(other)
        return _infix(f" {operator} ", weakness)(words, equation)

    return rule


def _negated(words: Words, equation: Any) -> Term:
    (term,) = (words.term(atom) for atom in equation.invars)
    return shortened(f"-{term.within(PRODUCT)}", PRODUCT, [term])


def _not(words: Words, equation: Any) -> Term:
    (term,) = (words.term(atom) for atom in equation.invars)
    if equation.outvars[0].aval.dtype != np.bool_:
        return shortened(f"~{term.within(ATOM)}", SIGN, [term])
    return shortened(f"not {term.within(NOT)}", NOT, [term])


def _same(words: Words, equation: Any) -> Term | None:
    """The operand, where positions mean the same in it: its axes are those of the result, or 1."""
    before, after = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    is_alike = [size for size in before if size != 1] == [size for size in after if size != 1]
    return words.term(equation.invars[0]) if is_alike or not before else None


def _converted(words: Words, equation: Any) -> Term:
    term = words.term(equation.invars[0])
    before, after = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    if before.kind == "f" and after.kind in "iu":
        return shortened(f"int({term.text})", ATOM, [term])
    return term


def _divided(words: Words, equation: Any) -> Term | None:
    """Of integers JAX's division goes towards zero, which no operator of Python's does."""
    if equation.outvars[0].aval.dtype.kind in "iu":
        return None
    return _infix("/", PRODUCT, is_associative=False)(words, equation)


def _power(words: Words, equation: Any) -> Term:
    base = words.term(equation.invars[0])
    exponent = Term(str(equation.params["y"]))
    return shortened(f"{base.within(ATOM)}**{exponent.text}", POWER, [base])


def _powers(words: Words, equation: Any) -> Term:
    return _raised(*(words.term(atom) for atom in equation.invars))


def _raised(base: Term, exponent: Term) -> Term:
    text = f"{base.within(ATOM)}**{exponent.within(ATOM)}"
    return shortened(text, POWER, [base, exponent])


def _slice(words: Words, equation: Any) -> Term | None:
    """One element along the first axes, and all along the others."""
    operand, params = equation.invars[0], equation.params
    starts, limits = params["start_indices"], params["limit_indices"]
    positions = list[str]()
    is_element = True
    for start, limit, size in zip(starts, limits, operand.aval.shape, strict=True):
        whole = (start, limit) == (0, size)
        if not whole and limit != start + 1:
            return None
        if whole and size != 1:
            is_element = False
        elif not is_element:
            return None
        else:
            positions.append(str(start))
    return _element(words.term(operand), [Term(position) for position in positions])


def _dynamic_slice(words: Words, equation: Any) -> Term | None:
    operand, *starts = equation.invars
    sizes, shape = equation.params["slice_sizes"], operand.aval.shape
    count = sum(size == 1 for size in sizes)
    is_leading = all(size == 1 for size in sizes[:count]) and sizes[count:] == shape[count:]
    if not is_leading:
        return None
    return _element(words.term(operand), [_position(words, start) for start in starts[:count]])


def _position(words: Words, atom: Any) -> Term:
    """A position, without what JAX adds for negative ones: `i + size if i < 0 else i`."""
    made = words.origin(atom)
    if _kind(made) != "select_n" or len(made.invars) != 3:
        return words.term(atom)
    which, one, other = made.invars
    test, moved = words.origin(which), words.origin(other)
    operands = [each.invars[0] for each in (test, moved) if each is not None]
    is_normal = (_kind(test), _kind(moved)) == ("lt", "add") and all(
        words.text(operand) == words.text(one) for operand in operands
    )
    return words.term(one if is_normal else atom)


def _element(array: Term, positions: Sequence[Term]) -> Term:
    if not positions:
        return array
    inside = ", ".join(position.text for position in positions)
    text = re.sub(r"(?<!')\]\[", ", ", f"{array.within(ATOM)}[{inside}]")
    return shortened(text, ATOM, [array, *positions])


def _selected(words: Words, equation: Any) -> Term | None:
    """What JAX makes of `%`, `//` and `**`; else a choice of two values."""
    which, *cases = equation.invars
    known = words.value(which)
    if known is not None and known.shape == () and 0 <= int(known) < len(cases):
        return words.term(cases[int(known)])
    if len(cases) != 2:
        return None
    one, other = cases
    made, before = words.origin(other), words.origin(one)
    kind = _kind(made)
    if kind in ("add", "sub") and words.text(made.invars[0]) == words.text(one):
        if kind == "add" and _kind(before) == "rem":
            return _infix(" % ", PRODUCT, is_associative=False)(words, before)
        if kind == "sub" and _kind(before) == "div":
            return _infix("//", PRODUCT, is_associative=False)(words, before)
    return _squared(words, equation) or _choice(words, equation)


def _squared(words: Words, equation: Any) -> Term | None:
    """A step of exponentiation by squaring: `acc * base**(2**k)`, where bit k of `e` is set."""
    which, one, other = equation.invars
    test, product = words.origin(which), words.origin(other)
    if _kind(test) != "ne" or _kind(product) != "mul" or product.invars[0] is not one:
        return None
    bit, exponent = words.origin(test.invars[0]), None
    if _kind(bit) == "and":
        exponent = bit.invars[0]
    while _kind(words.origin(exponent)) == "shift_right_logical":
        exponent = words.origin(exponent).invars[0]
    if exponent is None:
        return None
    base = product.invars[1]
    while _kind(words.origin(base)) == "mul":
        base = words.origin(base).invars[0]
    if (
        words.value(base) is not None
    ):  # the squares of a known base are known, the first comes first
        first = _first_step(words, one)
        base = base if first is None else first
    return _raised(words.term(base), words.term(exponent))


def _first_step(words: Words, atom: Any) -> Any:
    """The base of the first step before this one."""
    made = words.origin(atom)
    while _kind(made) == "select_n" and _kind(words.origin(made.invars[2])) == "mul":
        found = words.origin(made.invars[2]).invars[1]
        before = words.origin(made.invars[1])
        if _kind(before) != "select_n" or _kind(words.origin(before.invars[2])) != "mul":
            return found
        made = before
    return None


def _choice(words: Words, equation: Any) -> Term | None:
    which, one, other = (words.term(atom) for atom in equation.invars)
    if equation.outvars[0].aval.shape:
        return None
    text = f"{other.text} if {which.text} else {one.text}"
    return shortened(text, OR + 1, [other, which, one])


def _kind(equation: Any) -> str:
    return "" if equation is None else equation.primitive.name


RULES: Mapping[str, Rule] = {
    "add": _infix(" + ", SUM),
    "sub": _infix(" - ", SUM, is_associative=False),
    "mul": _infix("*", PRODUCT),
    "div": _divided,
    "convert_element_type": _converted,
    "and": _logical("and", AND, True),
    "or": _logical("or", OR, False),
    "xor": _infix(" ^ ", AND),
    **{
        name: _infix(f" {operator} ", COMPARED, is_associative=False)
        for name, operator in (
            ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
        )
    },
    "neg": _negated,
    "not": _not,
    "pow": _powers,
    "integer_pow": _power,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "select_n": _selected,
    **dict.fromkeys(
        (
            "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "copy",
            "stop_gradient", "device_put", "copy_p", "reduce_precision",
        ),
        _same,
    ),
}  # fmt: skip
