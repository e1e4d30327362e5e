"""Which equations draw: their results differ from run to run."""

from collections.abc import Callable, Iterable
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr

_SOURCES = frozenset({"measure", "sample", "uniform"})


def draws(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws."""
    return _draws(equation.primitive.name, equation.params)


def any_draws(params: Iterable[Any]) -> bool:
    """Whether an equation draws in any of the jaxprs among these parameters."""
    return any_inside(draws, params)


def any_inside(holds: Callable[[Any], bool], params: Iterable[Any]) -> bool:
    """Whether something holds of an equation of the jaxprs among these parameters."""
    return any(holds(equation) for jaxpr in _jaxprs(params) for equation in jaxpr.eqns)


def _draws(name: str, params: Any) -> bool:
    is_source = name in _SOURCES or (name == "device_step" and params["step"].draws)
    return is_source or any_draws(params.values())


def _jaxprs(params: Iterable[Any]) -> Iterable[Jaxpr]:
    for value in params:
        if isinstance(value, ClosedJaxpr):
            yield value.jaxpr
        elif isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, list | tuple):
            yield from _jaxprs(value)
