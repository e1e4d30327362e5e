"""How many numbers g has for a region: one for each real parameter of each executed operation.

`exact_length` is the number itself, where no value of the program decides it. `bounded_length` is a
number that it does not exceed, nor does any stretch of operations in it, executed or not.
"""

from collections.abc import Callable
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from diastase.primitives.define import Role, has_role
from diastase_mlir.jax_compat import closed_jaxprs_in, equations_in

Equation = Any


def length_of_operation(equation: Equation) -> int:
    """How many numbers g has for an operation."""
    name, params = equation.primitive.name, equation.params
    if name == "gate":
        return params["num_parameters"]
    if name == "global_phase":
        return 1
    return 2 * equation.invars[1].aval.size if params.get("differentiated", False) else 0


def exact_length(closed: ClosedJaxpr) -> int | None:
    """The number for one execution of a region; None where it is not known."""
    return _sum(closed, exact_length_of)


def exact_length_of(equation: Equation) -> int | None:
    """The number for one execution of an equation; None where it is not known."""
    if not has_role(equation, Role.CONTROL_FLOW):
        return length_of_operation(equation)
    lengths = [exact_length(region) for region in closed_jaxprs_in(equation.params)]
    if None in lengths or not any(lengths):
        return None if None in lengths else 0
    match equation.primitive.name:
        case "for_loop":
            trips = known_trips(equation)
            return None if trips is None else trips * sum(map(int, filter(None, lengths)))
        case "switch":
            return lengths[0] if len(set(lengths)) == 1 else None
        case _:
            return None


def bounded_length(closed: ClosedJaxpr) -> int | None:
    """A number that is never too small; None where there is none."""
    return _sum(closed, _bounded_length_of)


def longest_turn(closed: ClosedJaxpr) -> int:
    """The number for a region in which no loop goes round more than once, at least."""
    return sum(map(length_of_operation, equations_in(closed)))


def _bounded_length_of(equation: Equation) -> int | None:
    if not has_role(equation, Role.CONTROL_FLOW):
        return length_of_operation(equation)
    lengths = [bounded_length(region) for region in closed_jaxprs_in(equation.params)]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths) or not any(known):
        return 0 if len(known) == len(lengths) else None
    if equation.primitive.name == "for_loop":
        trips = known_trips(equation)
        return None if trips is None else max(trips, 1) * sum(known)
    return max(known) if equation.primitive.name == "switch" else None


def _sum(closed: ClosedJaxpr, length: Callable[[Equation], int | None]) -> int | None:
    total = 0
    for equation in closed.jaxpr.eqns:
        more = length(equation)
        if more is None:
            return None
        total += more
    return total


def known_trips(equation: Equation) -> int | None:
    """How often a `for_loop` goes round, if its bounds are numbers."""
    indices = _known_indices(equation)
    return None if indices is None else len(indices)


def known_range(equation: Equation) -> tuple[int, int] | None:
    """The least and the largest index of a `for_loop`; None where they are not known."""
    indices = _known_indices(equation)
    return (min(indices[0], indices[-1]), max(indices[0], indices[-1])) if indices else None


def _known_indices(equation: Equation) -> range | None:
    count = equation.params["body_nconsts"]
    bounds = equation.invars[count : count + 3]
    if not all(isinstance(bound, Literal) for bound in bounds):
        return None
    lower, upper, step = (int(bound.val) for bound in bounds)
    return range(lower, upper, step) if step else range(0)
