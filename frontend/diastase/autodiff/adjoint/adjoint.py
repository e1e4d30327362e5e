"""Adjoint differentiation: the gradient of a QNode by one run and one sweep back.

`gradient` makes one region of a body that has been taken apart (`parts`), for any number of
arguments and results; of bodies that cannot be (outcomes in the middle, registers of an
observable's own) there are other ways:

    run the head on a register that records        (`primitives.statevector.record_p`)
    measure; cotangents of what was measured, from those of the results, through the tail
    the adjoint of the register for these          (`seeds`)
    sweep back: derivatives g by the parameters of all operations that were executed
    the gradient of the classical surrogate        (`surrogate`): derivatives by the arguments

Source: Jones and Gacon, "Efficient calculation of gradients in classical simulations of variational
quantum algorithms" (2020), for circuits of gates; the surrogate is ours.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Var

from diastase.autodiff.adjoint.parts import Half, Measurement, Parts
from diastase.autodiff.adjoint.seeds import Measured
from diastase.autodiff.adjoint.surrogate import (
    number_of_parameters,
    parameters_of_operation,
    surrogate_gradient,
)
from diastase.autodiff.tangents.mixed_gate_rules import RAISE, superoperator
from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.dependence import active_variables
from diastase.jaxprs.evaluate import evaluated, is_number, paired
from diastase.primitives.define import Role, has_role
from diastase.primitives.mixed import half_p
from diastase.primitives.qnode_derivatives import Positions, inexact_positions
from diastase.primitives.quantum import (
    allocate_p,
    qnode_p,
    release_p,
    touches_register,
)
from diastase.primitives.statevector import (
    add_scaled_p,
    copy_register_p,
    record_p,
    sweep_p,
    tape_length_p,
)
from diastase_mlir.jax_compat import (
    equations_in,
    evaluate_equation,
    rebuilt,
    trace_to_jaxpr,
    with_jaxprs,
)

Equation = Any
_OF_THE_EQUATION = ("wanted", "directions", "with_results")
"""Parameters that the circuit with its sweep does not have."""


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
    halves = _halves(state, parts)
    measured = [
        evaluate_equation(measurement.equation, [halves[measurement.half], *operands])[0]
        for measurement, operands in zip(parts.measurements, own, strict=True)
    ]

    by_measured = _through_tail(parts.tail, cotangents, measured, others)
    rows = [
        Measured(measurement.equation, halves[measurement.half], operands, cotangent)
        for measurement, operands, cotangent in zip(
            parts.measurements, own, by_measured, strict=True
        )
    ]
    adjoint = _adjoint(state, parts, rows)
    changing = active_variables(head, wanted)
    by_operand = [
        measurement.rules.BY_OPERAND[measurement.name](row)
        if _has_active_operand(measurement, changing)
        else None
        for measurement, row in zip(parts.measurements, rows, strict=True)
    ]
    for half, part in halves.items():
        if half:
            release_p.bind(part)
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


def _has_active_operand(measurement: Measurement, changing: set[Any]) -> bool:
    """Whether the coefficients or the matrix of a measurement may change."""
    equation = measurement.equation
    if equation.primitive.name not in measurement.rules.BY_OPERAND:
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


# --- halves of a register with derivative wires ---------------------------------------------------


def _halves(state: Any, parts: Parts) -> dict[Half, Any]:
    """The registers that measurements read; all but the state itself are to be released."""
    found: dict[Half, Any] = {(): state}

    def half(which: Half) -> Any:
        if which not in found:
            found[which] = half_p.bind(half(which[:-1]), which=which[-1])
        return found[which]

    for measurement in parts.measurements:
        half(measurement.half)
    return found


def _adjoint(state: Any, parts: Parts, rows: Sequence[Measured]) -> Any:
    """The adjoint of the state for all that was measured of it."""
    of_half = dict[Half, Any]()
    for measurement, row in zip(parts.measurements, rows, strict=True):
        moves = tuple(place for place, which in enumerate(measurement.half) if which)
        if moves not in of_half:
            of_half[moves] = copy_register_p.bind(state, blank=True)
        seed = measurement.rules.SEEDS[measurement.name]
        of_half[moves] = seed(row, of_half[moves])
    adjoint = of_half.pop((), None)
    for moves, part in of_half.items():
        part = _moved(part, moves, parts)
        if adjoint is None:
            adjoint = part
            continue
        adjoint = add_scaled_p.bind(adjoint, part, jnp.complex128(1))
        release_p.bind(part)
    return copy_register_p.bind(state, blank=True) if adjoint is None else adjoint


def _moved(part: Any, moves: Half, parts: Parts) -> Any:
    """What was added where all derivative wires are 0, where these are 1."""
    (allocation,) = [e for e in parts.head.jaxpr.eqns if e.primitive is allocate_p]
    number = allocation.params["num_wires"]
    for place in moves:
        part = superoperator(part, RAISE, (), (number + place,))
    return part


# --- what is differentiated by ------------------------------------------------------------------


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
