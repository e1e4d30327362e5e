"""Carried values of a loop that need not be kept for its reverse derivative, as a jaxpr shows them.

counters    integers to which each iteration adds the same number: known from the iteration's
sums        values to which each iteration adds something that does not depend on them, and that
            nothing else reads: their cotangent is the same in every iteration
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

_SUMS = ("add", "add_any")


def counters(body: ClosedJaxpr, first: int) -> dict[int, int]:
    """By position in the carry, which begins with input `first`: what is added each time."""
    made = _made_by(body)
    found: dict[int, int] = {}
    for position, result in enumerate(body.jaxpr.outvars):
        start, step, atom = body.jaxpr.invars[first + position], 0, result
        if not _is_integer(start.aval):
            continue
        while not isinstance(atom, Literal) and atom is not start:
            equation = made.get(atom)
            number = None if equation is None else _added_number(equation)
            if number is None:
                break
            step, atom = step + number[0], number[1]
        if atom is start:
            found[position] = step
    return found


def _added_number(equation: Any) -> tuple[int, Any] | None:
    """A number, and to what an equation adds it."""
    if equation.primitive.name != "add":
        return None
    one, other = equation.invars
    if isinstance(one, Literal):
        one, other = other, one
    return (int(other.val), one) if isinstance(other, Literal) else None


def _is_integer(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "i" and aval.shape == ()


def sums(body: ClosedJaxpr, first: int) -> set[int]:
    """Positions in the carry, which begins with input `first`."""
    made, jaxpr = _made_by(body), body.jaxpr
    atoms = [atom for equation in jaxpr.eqns for atom in equation.invars]
    uses = Counter(id(atom) for atom in [*atoms, *jaxpr.outvars] if not isinstance(atom, Literal))
    found: set[int] = set()
    for position, result in enumerate(jaxpr.outvars):
        start, pending = jaxpr.invars[first + position], [result]
        while pending:
            atom = pending.pop()
            if isinstance(atom, Literal) or uses[id(atom)] != 1 or atom.aval != start.aval:
                continue
            equation = made.get(atom)
            if atom is start:
                found.add(position)
            elif equation is not None and equation.primitive.name in _SUMS:
                pending += equation.invars
    return found


def _made_by(body: ClosedJaxpr) -> Mapping[Any, Any]:
    return {variable: equation for equation in body.jaxpr.eqns for variable in equation.outvars}
