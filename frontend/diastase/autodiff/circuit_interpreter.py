"""A circuit's body evaluated again, with a counter of the parameters that were executed.

A `Walk` stands where the register was: it has the register or none, how many *runs* the parameters
so far take (`position`; a number of Python's as long as that is known), and what has been added up.
What happens at a parameter is up to a `Visitor`. Loops and branches are traced anew, with the
walk's values carried in the register's place, so a parameter is known by the order of execution.

    with the register        a circuit with shifted parameters (`parameter_shift.runs`)
    without                  a classical program: the sum of all parameters with weights, or a count
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.capture.control_flow.branches import share_captured
from diastase.capture.regions import Region
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register_aval
from diastase_mlir.jax_compat import (
    evaluate_equation,
    evaluate_jaxpr,
    select_inputs,
    trace_to_jaxpr,
)

Equation = Any
ALLOCATED = object()
"""The register of a walk that will have one."""


@dataclass
class Walk:
    """Stands for the register."""

    register: Any = None
    """None: this is a classical program; `ALLOCATED`: there will be one."""
    position: Any = 0
    total: Any = None
    pending: list[Any] = field(default_factory=list)
    """What a visitor is to add to `total`."""


class Visitor:
    """What happens at the operations of a body."""

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """An operation whose operands these are, without the register: operands to go on with."""
        raise NotImplementedError

    def apply(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> None:
        """Apply the operation, with operands to go on with, to the walk's register."""
        (walk.register,) = evaluate_equation(equation, [walk.register, *operands])

    def outcome(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Any:
        """The outcome of a measurement in the middle."""
        raise NotImplementedError

    def allocate(self, equation: Equation, operands: Sequence[Any]) -> Any:
        """The register that the walk will have."""
        return evaluate_equation(equation, operands)[0]

    def measure(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """What takes the register, first, and gives none."""
        return evaluate_equation(equation, operands)

    def settle(self, walk: Walk) -> None:
        """Add what is pending."""


def walked(closed: ClosedJaxpr, operands: Sequence[Any], walk: Walk, visitor: Visitor) -> list[Any]:
    """Evaluate a region; its results, of which the register is the walk."""
    given = iter(operands)
    values = [
        walk if is_register_aval(variable.aval) else next(given) for variable in closed.jaxpr.invars
    ]
    names = {equation.primitive.name for equation in closed.jaxpr.eqns}
    return evaluate_jaxpr(closed, values, dict.fromkeys(names, _stepping(walk, visitor)))


def _stepping(walk: Walk, visitor: Visitor) -> Callable[..., Sequence[Any]]:
    def step(equation: Equation, *operands: Any) -> Sequence[Any]:
        name, quantum = equation.primitive.name, any(isinstance(o, Walk) for o in operands)
        if name == "allocate_qubits":
            if walk.register is not None:
                walk.register = visitor.allocate(equation, operands)
            return [walk]
        if not quantum:
            return evaluate_equation(equation, operands)
        classical = [operand for operand in operands if not isinstance(operand, Walk)]
        if has_role(equation, Role.OPERATION):
            classical = visitor.operate(walk, equation, classical)
            if walk.register is not None:
                visitor.apply(walk, equation, classical)
            return [walk]
        if name == "measure":
            return [walk, visitor.outcome(walk, equation, classical)]
        if name in _CONTROL_FLOW:
            return _CONTROL_FLOW[name](equation, classical, walk, visitor)
        given = [walk.register if isinstance(operand, Walk) else operand for operand in operands]
        return visitor.measure(walk, equation, given)

    return step


# --- control flow ---------------------------------------------------------------------------------


def _state(walk: Walk, visitor: Visitor) -> list[Any]:
    visitor.settle(walk)
    parts = [walk.register, jnp.asarray(walk.position, jnp.int64), walk.total]
    return [part for part in parts if part is not None]


def _resumed(walk: Walk, values: Sequence[Any]) -> Walk:
    """A walk like another one, with these values."""
    given = iter(values)
    register = None if walk.register is None else next(given)
    return Walk(register, next(given), None if walk.total is None else next(given))


def _continue(walk: Walk, results: Sequence[Any], count: int) -> list[Any]:
    after = _resumed(walk, results[:count])
    walk.register, walk.position, walk.total = after.register, after.position, after.total
    return [walk, *results[count:]]


def _region(
    closed: ClosedJaxpr, walk: Walk, visitor: Visitor, state: Sequence[Any], leading: int
) -> Region:
    """`[*captured, *leading operands, *state, *carry] -> [*state, *carry]`."""
    avals = [v.aval for v in closed.jaxpr.invars if not is_register_aval(v.aval)]
    count = len(state)

    def body(*arguments: Any) -> Sequence[Any]:
        inner = _resumed(walk, arguments[leading : leading + count])
        rest = [*arguments[:leading], *arguments[leading + count :]]
        results = walked(closed, rest, inner, visitor)
        values = [result for result in results if not isinstance(result, Walk)]
        return [*_state(inner, visitor), *values]

    types = [*avals[:leading], *map(jax.typeof, state), *avals[leading:]]
    jaxpr, captured = trace_to_jaxpr(body, types, "derivative")
    return Region(jaxpr, tuple(captured), leading=leading)


def _result_avals(equation: Equation, state: Sequence[Any]) -> tuple[Any, ...]:
    own = [aval for aval in equation.params["result_avals"] if not is_register_aval(aval)]
    return (*map(jax.typeof, state), *own)


def _for_loop(
    equation: Equation, operands: Sequence[Any], walk: Walk, visitor: Visitor
) -> Sequence[Any]:
    params, state = equation.params, _state(walk, visitor)
    count = params["body_nconsts"]
    region = _region(params["body_jaxpr"], walk, visitor, state, count + 1)
    results = for_loop_p.bind(
        *region.captured, *operands[: count + 3], *state, *operands[count + 3 :],
        **{
            **params,
            "body_jaxpr": region.jaxpr,
            "body_nconsts": len(region.captured) + count,
            "result_avals": _result_avals(equation, state),
        },
    )  # fmt: skip
    return _continue(walk, results, len(state))


def _while_loop(
    equation: Equation, operands: Sequence[Any], walk: Walk, visitor: Visitor
) -> Sequence[Any]:
    params, state = equation.params, _state(walk, visitor)
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    region = _region(params["body_jaxpr"], walk, visitor, state, count)
    start = tested + count
    results = while_loop_p.bind(
        *operands[:tested], *region.captured, *operands[tested:start], *state, *operands[start:],
        **{
            **params,
            "cond_jaxpr": _condition(params["cond_jaxpr"], tested, state),
            "body_jaxpr": region.jaxpr,
            "body_nconsts": len(region.captured) + count,
            "result_avals": _result_avals(equation, state),
        },
    )  # fmt: skip
    return _continue(walk, results, len(state))


def _condition(test: ClosedJaxpr, constants: int, state: Sequence[Any]) -> ClosedJaxpr:
    """A condition, which never looks at the register, beside a walk's values."""
    jaxpr = test.jaxpr
    kept = [variable for variable in jaxpr.invars if not is_register_aval(variable.aval)]
    own = [variable.aval for variable in kept]
    plain = test.replace(
        jaxpr=jaxpr.replace(invars=kept, debug_info=jaxpr.debug_info.with_unknown_names())
    )
    avals = [*own[:constants], *map(jax.typeof, state), *own[constants:]]
    after = constants + len(state)
    return select_inputs(plain, [*range(constants), *range(after, len(avals))], avals)


def _switch(
    equation: Equation, operands: Sequence[Any], walk: Walk, visitor: Visitor
) -> Sequence[Any]:
    index, *values = operands
    state = _state(walk, visitor)
    branches = equation.params["branch_jaxprs"]
    regions = [_region(branch, walk, visitor, state, 0) for branch in branches]
    shared, regions = share_captured(regions, [*state, *values])
    results = switch_p.bind(
        index,
        *shared,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=_result_avals(equation, state),
    )
    return _continue(walk, results, len(state))


_CONTROL_FLOW: Mapping[str, Callable[[Equation, Sequence[Any], Walk, Visitor], Sequence[Any]]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
