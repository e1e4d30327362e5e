"""Which equations draw: their results differ from run to run."""

from typing import Any

from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_compat import equations_in, equations_of


def draws(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws."""
    return any(map(_draws, equations_of(equation)))


def any_draws(within: Any) -> bool:
    """Whether an equation draws in a jaxpr, or in any of those among parameters."""
    return any(map(_draws, equations_in(within)))


def _draws(equation: Any) -> bool:
    on_device = equation.primitive.name == "device_step" and equation.params["step"].draws
    return on_device or has_role(equation, Role.RANDOM)
