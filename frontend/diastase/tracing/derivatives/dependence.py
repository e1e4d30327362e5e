"""What in a jaxpr depends on what: which results have derivatives, which inputs are read at all.

Both are found without tracing, and never too few: an equation's results depend on all operands.
"""

from collections.abc import Iterable, Sequence, Set
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from diastase.primitives.derivatives import is_inexact
from diastase.tracing.resizing import dimension_table
from diastase_mlir.jax_internals import rebuilt


def active_results(closed: ClosedJaxpr, active: Iterable[int]) -> set[int]:
    """The results that have derivatives, if the inputs at these positions have."""
    jaxpr = closed.jaxpr
    found: set[Any] = {jaxpr.invars[position] for position in active}
    for equation in jaxpr.eqns:
        if any(variable in found for variable in _variables(equation.invars)):
            found.update(variable for variable in equation.outvars if is_inexact(variable.aval))
    return {
        position
        for position, atom in enumerate(jaxpr.outvars)
        if not isinstance(atom, Literal) and atom in found
    }


def active_carry(body: ClosedJaxpr, constants: Sequence[int], carry: Iterable[int]) -> set[int]:
    """Which carried values have derivatives, if these constants and these initial values have."""
    first = len(body.in_avals) - len(body.out_avals)
    known = set(carry)
    while True:
        found = known | active_results(
            body, (*constants, *(first + position for position in known))
        )
        if found == known:
            return known
        known = found


def without_unread(closed: ClosedJaxpr, results: Sequence[int]) -> tuple[ClosedJaxpr, list[int]]:
    """The jaxpr that computes these results only, and which inputs it has left.

    What defines a symbol stays: types depend on it, though no equation reads it.
    """
    jaxpr = closed.jaxpr
    outputs = [jaxpr.outvars[position] for position in results]
    live: set[Any] = set(_variables(outputs))
    kept: list[Any] = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(_is_needed(variable, live) for variable in equation.outvars):
            kept.append(equation)
            live.update(_variables(equation.invars))
    inputs = [
        position for position, variable in enumerate(jaxpr.invars) if _is_needed(variable, live)
    ]
    variables = [jaxpr.invars[position] for position in inputs]
    return rebuilt(closed, variables, kept[::-1], outputs), inputs


def carry_read(body: ClosedJaxpr, carry: Set[int]) -> tuple[ClosedJaxpr, list[int], list[int]]:
    """What a loop's body needs to compute these of its carried values.

    The body without the rest, the inputs that it has left, and all carried values that it needs.
    """
    first = len(body.in_avals) - len(body.out_avals)
    needed = set(carry)
    while True:
        results = sorted(needed)
        pruned, inputs = without_unread(body, results)
        more = {position - first for position in inputs if position >= first}
        if more <= needed:
            return pruned, inputs, results
        needed |= more


def _variables(atoms: Iterable[Any]) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def _is_needed(variable: Any, live: set[Any]) -> bool:
    return variable in live or dimension_table().defines_symbols(variable)
