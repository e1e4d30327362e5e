"""Which equations draw: their results differ from run to run."""

from collections.abc import Callable, Mapping
from typing import Any

from diastase_mlir.jax_internals import jaxprs_in

_SOURCES = frozenset({"measure", "sample", "uniform"})


def draws(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws."""
    return _draws(equation.primitive.name, equation.params)


def any_draws(params: Mapping[str, Any]) -> bool:
    """Whether an equation draws in any of the jaxprs among these parameters."""
    return any_inside(draws, params)


def any_inside(holds: Callable[[Any], bool], params: Mapping[str, Any]) -> bool:
    """Whether something holds of an equation of the jaxprs among these parameters."""
    return any(holds(equation) for jaxpr in jaxprs_in(params) for equation in jaxpr.eqns)


def _draws(name: str, params: Any) -> bool:
    is_source = name in _SOURCES or (name == "device_step" and params["step"].draws)
    return is_source or any_draws(params)
