"""Options of `parameter-shift` and others that go by the number of a parameter.

`shifts`, `gradient_recipes` and `argnum` count, as PennyLane does, the parameters of gates that are
differentiated by, in the order of execution; that is known while tracing only outside of loops and
branches.
"""

from collections.abc import Mapping
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.jaxprs.dependence import Activity
from diastase.primitives.define import Role, has_role
from diastase.primitives.errors import NoDerivativeError
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import equations_in

Equation = Any
BY_NUMBER = ("shifts", "gradient_recipes", "argnum")
ONLY_GATES = (
    f"the options {', '.join(BY_NUMBER)} go by the number of a parameter, and it has none: leave "
    "them out"
)


def of_parameter(options: Mapping[str, Any], name: str, place: int, equation: Equation) -> Any:
    """What an option says for a parameter."""
    given = options.get(name)
    if given is None:
        return None
    if place >= len(given):
        reason = f"it is parameter {place} of those that are differentiated by, and {name} has "
        raise no_derivative(equation, equation.params["name"], f"{reason}{len(given)} elements")
    return given[place]


def numbered(body: ClosedJaxpr, activity: Activity) -> Mapping[int, int]:
    """The number of each gate's first active parameter."""
    found, number = dict[int, int](), 0
    for equation in body.jaxpr.eqns:
        name = equation.primitive.name
        if name == "gate":
            found[id(equation)] = number
            number += sum(activity.of(equation)[1:])
        elif has_role(equation, Role.CONTROL_FLOW):
            if any(_is_active_gate(activity, each) for each in equations_in(equation.params)):
                raise no_derivative(equation, name, _ONLY_OUTSIDE)
    return found


_ONLY_OUTSIDE = (
    f"the options {', '.join(BY_NUMBER)} go by the number of a parameter, which is not known "
    "in loops and branches: leave them out"
)


def _is_active_gate(activity: Activity, equation: Equation) -> bool:
    return equation.primitive.name == "gate" and any(activity.of(equation)[1:])


def no_derivative(equation: Equation, construct: str, reason: str) -> NoDerivativeError:
    """The error, at the line of an equation."""
    return NoDerivativeError(construct=construct, reason=reason, span=span_of(equation.source_info))
