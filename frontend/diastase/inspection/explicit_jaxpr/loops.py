"""`for_loop` and `while_loop` in explicit form: sizes of carried values are carried, too.

    [*captured sizes, *constants, *implicit sizes, (index,) *carry] -> [*implicit sizes, *carry]

There is one implicit size for each different size in the types of the carried values: in a loop
that keeps its sizes, those of the initial values, returned as they came in; in one that resizes,
one for each class of axes that share a size (each axis, with `allow_array_resizing=True`). Its
results' sizes are then the first results of the equation.

The trap: a size that a *captured array* has as well is no implicit argument. It is a constant of
the body, named once, which is why captured and carried arrays of one size can be added there.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import Jaxpr

from diastase.inspection.explicit_jaxpr.model import ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.scope import (
    Place,
    Scope,
    places_of,
    size_at,
    without_result_types,
)
from diastase.inspection.explicit_jaxpr.types import Atom, ExplicitVariable, size_type
from diastase_mlir.jax_compat import is_symbolic

Places = Sequence[Sequence[Place]]
"""For each implicit size, the carried values and axes that have it."""


class _Body:
    """A body or condition, translated."""

    def __init__(self, outer: Scope, jaxpr: Jaxpr, constants: int, indices: int, places: Places):
        self._scope = outer.nest()
        arguments = jaxpr.invars[constants:]
        self._constants = [self._scope.bind_input(item) for item in jaxpr.invars[:constants]]
        self._implicit = [self._declare(arguments[indices:], at) for at in places]
        declared: dict[int, dict[int, Any]] = {}
        for variable, at in zip(self._implicit, places, strict=True):
            for item, axis in at:
                declared.setdefault(indices + item, {})[axis] = variable
        self._arguments = [
            self._scope.bind_input(argument, declared.get(position))
            for position, argument in enumerate(arguments)
        ]
        self._outputs = self._scope.translate(jaxpr)
        self.captured = list(self._scope.captured)
        """Sizes from outside."""

    def _declare(self, carried: Sequence[Any], places: Sequence[tuple[int, int]]) -> Any:
        """One variable for the size that these axes share."""
        return self._scope.declare_separately(
            [carried[item].aval.shape[axis] for item, axis in places]
        )

    def jaxpr(self, returned: Places) -> ExplicitJaxpr:
        """The jaxpr, which returns the sizes of its results at these places first."""
        captured = list(self._scope.captured.values())
        sizes = [size_at(self._outputs, at[0]) for at in returned]
        return ExplicitJaxpr(
            (),
            (*captured, *self._constants, *self._implicit, *self._arguments),
            tuple(self._scope.equations),
            (*sizes, *self._outputs),
            num_consts=len(captured) + len(self._constants),
            num_implicit_inputs=len(self._implicit),
            num_implicit_outputs=len(sizes),
            assumed_equal=tuple(self._scope.assumed_equal),
        )


def _implicit_places(carried: Sequence[Any], constants: Sequence[Any]) -> Places:
    """The places of each symbolic size of carried values that no captured one has, too."""
    excluded = places_of(constants)
    return [at for size, at in places_of(carried).items() if size not in excluded]


def translate_for_loop(scope: Scope, equation: Any) -> None:
    """The start of the index is an operand of its own, as in Catalyst's form."""
    params = equation.params
    count, jaxpr = params["body_nconsts"], params["body_jaxpr"].jaxpr
    operands = [scope.atom(operand) for operand in equation.invars]
    constants, carry = operands[:count], operands[count + 3 :]
    lower, upper, step = operands[count : count + 3]
    places = _implicit_places(jaxpr.invars[count + 1 :], jaxpr.invars[:count])
    body = _Body(scope, jaxpr, count, 1, places)
    captured = [scope.held(size) for size in body.captured]
    implicit = [size_at(carry, at[0]) for at in places]
    explicit_params = {
        **without_result_types(params),
        "body_jaxpr": body.jaxpr(places),
        "body_nconsts": len(captured) + count,
        "nimplicit": len(implicit),
    }
    all_operands = (*captured, *constants, *implicit, lower, upper, step, lower, *carry)
    _record_loop(scope, equation, all_operands, places, explicit_params)


def translate_while_loop(scope: Scope, equation: Any) -> None:
    """Condition and body take the same implicit sizes; the body returns them."""
    params = equation.params
    condition_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    condition_jaxpr, body_jaxpr = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    operands = [scope.atom(operand) for operand in equation.invars]
    carry = operands[condition_count + body_count :]
    constants = [*condition_jaxpr.invars[:condition_count], *body_jaxpr.invars[:body_count]]
    places = _implicit_places(body_jaxpr.invars[body_count:], constants)
    condition = _Body(scope, condition_jaxpr, condition_count, 0, places)
    body = _Body(scope, body_jaxpr, body_count, 0, places)
    condition_sizes = [scope.held(size) for size in condition.captured]
    body_sizes = [scope.held(size) for size in body.captured]
    explicit_params = {
        **without_result_types(params),
        "cond_jaxpr": condition.jaxpr(()),
        "body_jaxpr": body.jaxpr(places),
        "cond_nconsts": len(condition_sizes) + condition_count,
        "body_nconsts": len(body_sizes) + body_count,
        "nimplicit": len(places),
    }
    all_operands = (
        *condition_sizes,
        *operands[:condition_count],
        *body_sizes,
        *operands[condition_count : condition_count + body_count],
        *(size_at(carry, at[0]) for at in places),
        *carry,
    )
    _record_loop(scope, equation, all_operands, places, explicit_params)


def _record_loop(
    scope: Scope, equation: Any, operands: Sequence[Atom], places: Places, params: Any
) -> None:
    """The equation of a loop; its first results are the sizes of the others."""
    implicit = [_implicit_result(scope, equation.outvars, at) for at in places]
    scope.record(equation, operands, implicit, params)


def _implicit_result(
    scope: Scope, results: Sequence[Any], places: Sequence[tuple[int, int]]
) -> ExplicitVariable:
    """The variable that holds a size of the results from now on, unless it is known before."""
    item, axis = places[0]
    size = results[item].aval.shape[axis]
    if is_symbolic(size) and not scope.can_hold(size):
        return scope.declare(size)
    return ExplicitVariable(size_type())
