"""An interpreter of a circuit's body that counts the parameters of executed operations.

A `Walk` stands where the register was: it has the register or none, how many *runs* the parameters
so far take (`position`; a number of Python's as long as that is known), and what has been added up.
What happens at an operation is up to a `Visitor`. Loops and branches are traced anew, with the
walk's values carried in the register's place, so a parameter is known by the order of execution.

    with the register        a circuit with shifted parameters (`parameter_shift.runs`), or with
                             given outcomes (`mcm_branches`)
    without                  a classical program: the sum of all parameters with weights
                             (`adjoint.surrogate`, `parameter_shift.runs`), or a count

The trap: each loop or branch begins with a sum of zero, which is added to the outer one after it.
So the outer one stays a sum (`jaxprs.loop_reversal.sums`), whose cotangent need not be carried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.jaxprs.constant_folding import simplified
from diastase.jaxprs.control_flow import LoopOperands, known_range, record_switch
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register_aval, touches_register
from diastase_mlir.jax_compat import evaluate_equation, select_inputs, trace_to_jaxpr

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
    """What happens at the operations of a body: by default nothing changes."""

    def operate(self, walk: Walk, equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        """An operation whose operands these are, without the register: operands to go on with."""
        return operands

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

    def count(self, equation: Equation) -> int | None:
        """How far a loop or a branch moves the position; None where only the program knows."""
        return None


def walked(closed: ClosedJaxpr, operands: Sequence[Any], walk: Walk, visitor: Visitor) -> list[Any]:
    """Evaluate a region; its results, of which the register is the walk."""
    given = iter(operands)
    values = [walk if is_register_aval(aval) else next(given) for aval in closed.in_avals]
    names = {each.primitive.name for each in closed.jaxpr.eqns if touches_register(each)}
    return evaluated(closed, values, dict.fromkeys(names, partial(_step, walk, visitor)))


def _step(walk: Walk, visitor: Visitor, equation: Equation, *operands: Any) -> Sequence[Any]:
    name = equation.primitive.name
    if name == "allocate_qubits":
        if walk.register is not None:
            walk.register = visitor.allocate(equation, operands)
        return [walk]
    classical = [operand for operand in operands if not isinstance(operand, Walk)]
    if len(classical) == len(operands):
        return evaluate_equation(equation, operands)
    if name == "operations" or has_role(equation, Role.OPERATION):
        classical = visitor.operate(walk, equation, classical)
        if walk.register is not None:
            visitor.apply(walk, equation, classical)
        return [walk]
    if name == "measure":
        return [walk, visitor.outcome(walk, equation, classical)]
    if has_role(equation, Role.CONTROL_FLOW):
        return _control_flow(walk, visitor, equation, classical)
    given = [walk.register if isinstance(operand, Walk) else operand for operand in operands]
    return visitor.measure(walk, equation, given)


# --- control flow ---------------------------------------------------------------------------------


def _control_flow(
    walk: Walk, visitor: Visitor, equation: Equation, operands: Sequence[Any]
) -> Sequence[Any]:
    """The equation with the walk's values in the place of the register."""
    visitor.settle(walk)
    own = None if walk.total is None else jnp.zeros(walk.total.shape, walk.total.dtype)
    state, params = _state(Walk(walk.register, walk.position, own)), equation.params
    classical = (aval for aval in params["result_avals"] if not is_register_aval(aval))
    avals = [*map(jax.typeof, state), *classical]
    region = partial(_region, walk, visitor, state)
    if equation.primitive.name == "switch":
        index, *values = operands
        branches = [region(branch, 0) for branch in params["branch_jaxprs"]]
        results = record_switch(index, branches, [*state, *values], avals)
    else:
        at, test = LoopOperands.read(operands, params), params.get("cond_jaxpr")
        leading = len(at.constants) + (test is None)
        body, captured = region(params["body_jaxpr"], leading, equation if test is None else None)
        if test is not None:
            test = _condition(test, len(at.tested), avals[: len(state)])
        constants, carry = [*captured, *at.constants], [*state, *at.carry]
        loop = LoopOperands(at.tested, constants, at.bounds, carry)
        results = loop.record(params, body, avals, test)
    after, count = _resumed(walk, results), visitor.count(equation)
    walk.register = after.register
    walk.position = after.position if count is None else walk.position + count
    walk.total = None if walk.total is None else walk.total + after.total
    return [walk, *results[len(state) :]]


def _state(walk: Walk) -> list[Any]:
    parts = [walk.register, jnp.asarray(walk.position, jnp.int64), walk.total]
    return [part for part in parts if part is not None]


def _resumed(walk: Walk, values: Sequence[Any]) -> Walk:
    """A walk like another one, with these values."""
    given = iter(values)
    register = None if walk.register is None else next(given)
    return Walk(register, next(given), None if walk.total is None else next(given))


def _region(
    walk: Walk,
    visitor: Visitor,
    state: Sequence[Any],
    closed: ClosedJaxpr,
    leading: int,
    for_loop: Equation | None = None,
) -> tuple[ClosedJaxpr, list[Any]]:
    """`[*captured, *leading operands, *state, *carry] -> [*state, *carry]`, and what is captured.

    The last of the leading operands is the index of a `for_loop`, where it is the body of one.
    """
    avals = [aval for aval in closed.in_avals if not is_register_aval(aval)]
    count = len(state)

    def body(*arguments: Any) -> Sequence[Any]:
        inner = _resumed(walk, arguments[leading : leading + count])
        rest = [*arguments[:leading], *arguments[leading + count :]]
        results = walked(closed, rest, inner, visitor)
        visitor.settle(inner)
        return [*_state(inner), *(value for value in results if not isinstance(value, Walk))]

    types = [*avals[:leading], *map(jax.typeof, state), *avals[leading:]]
    jaxpr, captured = trace_to_jaxpr(body, types, "derivative")
    limits = None if for_loop is None else known_range(for_loop)
    ranges = {} if limits is None else {len(captured) + leading - 1: limits}
    return simplified(jaxpr, ranges), captured


def _condition(test: ClosedJaxpr, constants: int, state: Sequence[Any]) -> ClosedJaxpr:
    """A condition, which never looks at the register, beside a walk's values."""
    jaxpr = test.jaxpr
    kept = [variable for variable in jaxpr.invars if not is_register_aval(variable.aval)]
    own = [variable.aval for variable in kept]
    plain = test.replace(
        jaxpr=jaxpr.replace(invars=kept, debug_info=jaxpr.debug_info.with_unknown_names())
    )
    avals = [*own[:constants], *state, *own[constants:]]
    after = constants + len(state)
    return select_inputs(plain, [*range(constants), *range(after, len(avals))], avals)
