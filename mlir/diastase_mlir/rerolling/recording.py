"""Equations that compute a value of others, recorded to stand in a jaxpr that has these."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from diastase_mlir.jax_compat import constant_equation, source_context, trace_to_jaxpr

Equation = Any
Values = Callable[[Any], Any]
"""From an atom of a jaxpr to its value in the current trace."""


def recorded(
    compute: Callable[[Values], Any], needs: Iterable[Any], source: Any
) -> tuple[list[Equation], Any]:
    """The equations of `compute`, which asks for the values of these variables; its result."""
    variables = list(dict.fromkeys(needs))

    def computed(*operands: Any) -> list[Any]:
        known = dict(zip(variables, operands, strict=True))
        return [compute(lambda atom: known[atom] if is_variable(atom) else _array(atom))]

    with source_context(source):
        made, captured = trace_to_jaxpr(computed, [atom.aval for atom in variables], "vector")
    inputs, (result,) = made.jaxpr.invars, made.jaxpr.outvars
    tables = zip(inputs, captured, strict=False)
    equations = [constant_equation(variable, np.asarray(value)) for variable, value in tables]
    instead: dict[Any, Any] = dict(zip(inputs[len(captured) :], variables, strict=True))
    for equation in made.jaxpr.eqns:
        operands = [instead.get(a, a) if is_variable(a) else a for a in equation.invars]
        equations.append(equation.replace(invars=operands))
    return equations, instead.get(result, result)


def _array(literal: Any) -> np.ndarray:
    return np.asarray(literal.val, literal.aval.dtype)


def is_variable(atom: Any) -> bool:
    """Whether an atom is no number."""
    return not hasattr(atom, "val")
