"""Adjoint differentiation: the gradient of a QNode by one run and one sweep back.

`parts_of` takes a body apart: it allocates its register and applies operations (its *head*), then
measures; its *tail* computes results of what was measured. It gives None where a body is no such
sequence (outcomes in the middle, registers of an observable's own): then there are other ways.
`gradient` makes one region of it, for any number of arguments and results:

    run the head on a register that records        (`primitives.statevector.record_p`)
    measure; cotangents of what was measured, from those of the results, through the tail
    the adjoint of the register for these          (`seeds`)
    sweep back: derivatives g by the parameters of all operations that were executed
    the gradient of the classical surrogate        (`surrogate`): derivatives by the arguments

Source: Jones and Gacon, "Efficient calculation of gradients in classical simulations of variational
quantum algorithms" (2020), for circuits of gates; the surrogate is ours.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Var

from diastase.autodiff.adjoint.seeds import BY_OPERAND, SEEDS, Measured
from diastase.autodiff.adjoint.surrogate import (
    number_of_parameters,
    parameters_of_operation,
    surrogate_gradient,
)
from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.dependence import active_variables
from diastase.jaxprs.evaluate import evaluated, is_number, paired
from diastase.primitives.define import Role, has_role
from diastase.primitives.qnode_derivatives import Positions, inexact_positions
from diastase.primitives.quantum import (
    allocate_p,
    is_register,
    qnode_p,
    release_p,
    touches_register,
)
from diastase.primitives.statevector import copy_register_p, record_p, sweep_p, tape_length_p
from diastase_mlir.jax_compat import (
    equations_in,
    equations_of,
    evaluate_equation,
    rebuilt,
    trace_to_jaxpr,
    with_jaxprs,
)

Equation = Any
_OF_THE_EQUATION = ("wanted", "directions", "with_results")
"""Parameters that the circuit with its sweep does not have."""


@dataclass(frozen=True)
class Parts:
    """A body taken apart."""

    head: ClosedJaxpr
    """Of the body's operands; gives the register, all classical operands of the measurements, and
    then what else the tail needs."""
    measurements: tuple[Equation, ...]
    tail: ClosedJaxpr
    """Takes what was measured, then the head's other values; gives the inexact results."""

    def own(self, classical: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """The head's classical results: operands of each measurement; the rest."""
        remaining, own = list(classical), list[list[Any]]()
        for equation in self.measurements:
            count = len(equation.invars) - 1
            own.append(remaining[:count])
            remaining = remaining[count:]
        return own, remaining


def parts_of(closed: ClosedJaxpr) -> Parts | None:
    """Take a body apart."""
    head, measurements, tail = list[Equation](), list[Equation](), list[Equation]()
    measured: set[Any] = set()
    register: Any = None
    for equation in closed.jaxpr.eqns:
        name = equation.primitive.name
        if any(atom in measured for atom in equation.invars if isinstance(atom, Var)):
            if touches_register(equation):
                return None
            tail.append(equation)
            measured.update(equation.outvars)
        elif name in SEEDS:
            measurements.append(equation)
            measured.update(equation.outvars)
        elif name != "release_qubits":
            if touches_register(equation):
                acting = filter(touches_register, equations_of(equation))
                if not all(map(_is_of_a_head, acting)):
                    return None
                if measurements or (name == "allocate_qubits") != (register is None):
                    return None
                register = equation.outvars[0]
            head.append(equation)
    if register is None or any(out is register for out in closed.jaxpr.outvars):
        return None
    return _assembled(closed, head, measurements, tail, register)


def _is_of_a_head(equation: Equation) -> bool:
    """Whether an equation does to registers what a sweep goes back through."""
    return equation.primitive is allocate_p or has_role(equation, Role.RECORDED, Role.CONTROL_FLOW)


def _assembled(
    closed: ClosedJaxpr,
    head: Sequence[Equation],
    measurements: Sequence[Equation],
    tail: Sequence[Equation],
    register: Any,
) -> Parts:
    classical = [
        atom for equation in measurements for atom in equation.invars if not is_register(atom)
    ]
    values = [variable for equation in measurements for variable in equation.outvars]
    results = [closed.jaxpr.outvars[p] for p in inexact_positions(closed.out_avals)]
    made = {*values, *(variable for equation in tail for variable in equation.outvars)}
    used = [atom for equation in tail for atom in equation.invars] + results
    others = dict.fromkeys(atom for atom in used if isinstance(atom, Var) and atom not in made)
    return Parts(
        rebuilt(closed, closed.jaxpr.invars, head, [register, *classical, *others]),
        tuple(measurements),
        rebuilt(closed, [*values, *others], tail, results),
    )


def _with_marks(closed: ClosedJaxpr, positions: Collection[int]) -> ClosedJaxpr:
    """The jaxpr with arrays of operations that may depend on some inputs `differentiated`."""
    found = active_variables(closed, positions)
    equations = [_marked(equation, found) for equation in closed.jaxpr.eqns]
    return rebuilt(closed, closed.jaxpr.invars, equations, closed.jaxpr.outvars)


def _marked(equation: Equation, found: set[Any]) -> Equation:
    if not touches_register(equation):
        return equation
    params = equation.params
    if has_role(equation, Role.OF_ARRAY):
        changed = {"differentiated": equation.invars[1] in found} if _is_variable(equation) else {}
        return equation.replace(params={**params, **changed})
    if not has_role(equation, Role.CONTROL_FLOW):
        return equation
    if not any(atom in found for atom in equation.invars if isinstance(atom, Var)):
        return equation
    return equation.replace(
        params=with_jaxprs(params, lambda part: _with_marks(part, inexact_positions(part.in_avals)))
    )


def _is_variable(equation: Equation) -> bool:
    return isinstance(equation.invars[1], Var)


# --- the gradient ---------------------------------------------------------------------------------


def gradient(
    parts: Parts,
    values: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Positions,
    params: Mapping[str, Any],
) -> list[Any]:
    """The gradient of `cotangents . results` by the values in `wanted`.

    `params` may ask for the results before it, `with_results`.
    """
    given = [*values, *cotangents]
    operands = [value for value in given if not is_number(value)]

    def region(*traced: Any) -> Sequence[Any]:
        remaining = iter(traced)
        inside = [value if is_number(value) else next(remaining) for value in given]
        results, found = _swept(parts, inside[: len(values)], inside[len(values) :], wanted)
        return [*(results() if params.get("with_results") else ()), *found]

    jaxpr, captured = trace_to_jaxpr(region, [jax.typeof(value) for value in operands], "gradient")
    kept = {name: value for name, value in params.items() if name not in _OF_THE_EQUATION}
    return qnode_p.bind(*captured, *operands, **{**kept, "jaxpr": jaxpr})


def _swept(
    parts: Parts, values: Sequence[Any], cotangents: Sequence[Any], wanted: Positions
) -> tuple[Callable[[], list[Any]], list[Any]]:
    """In the region: what computes the results, and the gradient."""
    head = _with_marks(parts.head, wanted)
    state, *classical = evaluated(head, values, {"allocate_qubits": _recording})
    own, others = parts.own(classical)
    measured = [
        evaluate_equation(equation, [state, *operands])[0]
        for equation, operands in zip(parts.measurements, own, strict=True)
    ]

    adjoint = copy_register_p.bind(state, blank=True)
    by_measured = _through_tail(parts.tail, cotangents, measured, others)
    rows = [
        Measured(equation, state, operands, cotangent)
        for equation, operands, cotangent in zip(parts.measurements, own, by_measured, strict=True)
    ]
    for row in rows:
        adjoint = row.seed(adjoint)
    changing = active_variables(head, wanted)
    by_operand = [
        row.by_operand() if _has_active_operand(row.equation, changing) else None for row in rows
    ]
    weights = sweep_p.bind(state, adjoint, size=_length(head, state))
    release_p.bind(adjoint)
    release_p.bind(state)

    def more(classical: Sequence[Any]) -> Any:
        """What does not come from operations: operands of measurements, the tail."""
        changed, others = parts.own(classical)
        total = jnp.float64(0)
        for operands, weight in zip(changed, by_operand, strict=True):
            if weight is not None:
                total = total + paired([weight], operands[:1])
        if any(variable in changing for variable in head.jaxpr.outvars[-len(others) or None :]):
            results = evaluated(parts.tail, [*measured, *others])
            total = total + paired(cotangents, results)
        return total

    found = surrogate_gradient(head, values, weights, wanted, more)
    return lambda: evaluated(parts.tail, [*measured, *others]), found


def _through_tail(
    tail: Any, cotangents: Sequence[Any], measured: Sequence[Any], others: Sequence[Any]
) -> Sequence[Any]:
    """Cotangents of what was measured, from those of the results."""
    results = tail.jaxpr.outvars
    if results == tail.jaxpr.invars[: len(measured)] and not tail.jaxpr.eqns:
        if all(jax.typeof(c).dtype == m.dtype for c, m in zip(cotangents, measured, strict=True)):
            return cotangents

    def function(*numbers: Any) -> Any:
        return paired(cotangents, evaluated(tail, [*numbers, *others]))

    return jax.vjp(function, *measured)[1](jnp.float64(1))


def _has_active_operand(equation: Any, changing: set[Any]) -> bool:
    """Whether the coefficients or the matrix of a measurement may change."""
    if equation.primitive.name not in BY_OPERAND:
        return False
    operand = equation.invars[1]
    return isinstance(operand, Var) and operand in changing


def _recording(equation: Any, *operands: Any) -> Sequence[Any]:
    return [record_p.bind(*evaluate_equation(equation, operands))]


def _length(head: Any, state: Any) -> Any:
    """How many derivatives there are, and what a stretch of the surrogate reads behind these."""
    bound = number_of_parameters(head, bound=True)
    if bound is not None:
        return bound
    longest = sum(map(parameters_of_operation, equations_in(head)))
    return dimension_table().size(tape_length_p.bind(state)) + longest
