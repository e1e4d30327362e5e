"""Which results of a circuit's body may differ from run to run.

A body that is run once for each shot gives classical values, too. Those that depend on what was
drawn (an outcome, a callback) differ; the others are the same each time.

The register is drawn into everything, so it is no path: only what primitives read from it counts.
"""

from collections.abc import Iterable
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr

from diastase.primitives.quantum import AbstractRegister

_SOURCES = frozenset({"measure", "sample", "uniform", "device_step", "io_callback"})
"""Primitives whose results differ from run to run."""


def differs(jaxpr: ClosedJaxpr) -> list[bool]:
    """For each result of a circuit's body, whether it may differ from run to run."""
    differing: set[Any] = set()
    for equation in jaxpr.jaxpr.eqns:
        inputs = [atom for atom in equation.invars if not hasattr(atom, "val")]
        if _draws(equation) or any(atom in differing for atom in inputs):
            differing.update(v for v in equation.outvars if not _is_register(v))
    return [not hasattr(atom, "val") and atom in differing for atom in jaxpr.jaxpr.outvars]


def _draws(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws."""
    if equation.primitive.name in _SOURCES:
        return True
    return any(_draws(inner) for jaxpr in _jaxprs(equation.params.values()) for inner in jaxpr.eqns)


def _jaxprs(values: Iterable[Any]) -> Iterable[Jaxpr]:
    for value in values:
        if isinstance(value, ClosedJaxpr):
            yield value.jaxpr
        elif isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, list | tuple):
            yield from _jaxprs(value)


def _is_register(variable: Any) -> bool:
    return isinstance(variable.aval, AbstractRegister)
