"""Which equations draw: their results differ from run to run."""

from collections.abc import Callable
from typing import Any

from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_internals import jaxprs_in


def draws(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws."""
    on_device = equation.primitive.name == "device_step" and equation.params["step"].draws
    return on_device or has_role(equation, Role.RANDOM) or any_draws(equation.params)


def any_draws(within: Any) -> bool:
    """Whether an equation draws in a jaxpr, or in any of those among parameters."""
    return any_inside(draws, within)


def any_inside(holds: Callable[[Any], bool], params: Any) -> bool:
    """Whether something holds of an equation of the jaxprs among these parameters."""
    return any(holds(equation) for jaxpr in jaxprs_in(params) for equation in jaxpr.eqns)
