"""Which results of a circuit's body may differ from run to run.

A body that is run once for each shot gives classical values, too. Those that depend on what was
drawn (an outcome, a callback) differ; the others are the same each time.

The register is drawn into everything, so it is no path: only what primitives read from it counts.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.primitives.drawing import any_inside, draws
from diastase.primitives.quantum import AbstractRegister
from diastase.tracing.derivatives.evaluation import evaluated


def differs(jaxpr: ClosedJaxpr) -> list[bool]:
    """For each result of a circuit's body, whether it may differ from run to run."""
    differing: set[Any] = set()
    for equation in jaxpr.jaxpr.eqns:
        inputs = [atom for atom in equation.invars if not hasattr(atom, "val")]
        if _differs(equation) or any(atom in differing for atom in inputs):
            differing.update(v for v in equation.outvars if not _is_register(v))
    return [not hasattr(atom, "val") and atom in differing for atom in jaxpr.jaxpr.outvars]


def classical_results(jaxpr: ClosedJaxpr, operands: Sequence[Any]) -> dict[int, Any]:
    """By their places, the results of a body that need no register, evaluated without it."""
    found: dict[int, Any] = {}
    for place, result in enumerate(jaxpr.jaxpr.outvars):
        needed, equations = {result} if not hasattr(result, "val") else set(), list[Any]()
        for equation in reversed(jaxpr.jaxpr.eqns):
            if needed.isdisjoint(equation.outvars):
                continue
            equations.insert(0, equation)
            needed.update(atom for atom in equation.invars if not hasattr(atom, "val"))
        if any(map(_is_register, needed)) or any(map(_differs, equations)):
            continue
        part = jaxpr.jaxpr.replace(eqns=equations, outvars=[result])
        (found[place],) = evaluated(jaxpr.replace(jaxpr=part), operands)
    return found


def _differs(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws or asks Python."""
    name = equation.primitive.name
    is_source = name in ("device_step", "io_callback") or draws(equation)
    return is_source or any_inside(_differs, equation.params.values())


def _is_register(variable: Any) -> bool:
    return isinstance(variable.aval, AbstractRegister)
