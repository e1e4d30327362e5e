"""The gradient of a QNode by one run and one sweep back, for any number of arguments and results.

In one region, where the body was (`parts`):

    run the head on a register that records        (`primitives.adjoint.record_p`)
    measure; cotangents of what was measured, from those of the results, through the tail
    the adjoint of the register for these          (`seeds`)
    sweep back: derivatives g by the parameters of all operations that were executed
    the gradient of the classical surrogate        (`surrogate`): derivatives by the arguments

What else than a parameter selects elements of an argument has its derivatives put into their places
at once, too (`selections`).

Source: Jones and Gacon, "Efficient calculation of gradients in classical simulations of variational
quantum algorithms" (2020), for circuits of gates; the surrogate is ours.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Var

from diastase.primitives.adjoint import record_p, sweep_p, tape_length_p
from diastase.primitives.derivatives import Positions
from diastase.primitives.quantum import qnode_p, release_p
from diastase.primitives.vectors import copy_register_p
from diastase.tracing.derivatives.dependence import active_variables
from diastase.tracing.derivatives.evaluation import evaluated, is_number
from diastase.tracing.derivatives.lengths import bounded_length, longest_turn
from diastase.tracing.derivatives.parts import Parts, marked
from diastase.tracing.derivatives.result_vectors import paired
from diastase.tracing.derivatives.seeds import BY_OPERAND, SEEDS
from diastase.tracing.derivatives.selections import put_together, without_parts
from diastase.tracing.derivatives.stretches import in_stretches
from diastase.tracing.derivatives.surrogate import Cursor, run_surrogate
from diastase.tracing.resizing import dimension_table
from diastase_mlir.jax_internals import evaluate_equation, trace_to_jaxpr

_OF_THE_EQUATION = ("wanted", "directions", "with_results")
"""Parameters that the circuit with its sweep does not have."""


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
    head = marked(parts.head, wanted)
    state, *classical = evaluated(head, values, {"allocate_qubits": _recording})
    own, others = parts.own(classical)
    measured = [
        evaluate_equation(equation, [state, *operands])[0]
        for equation, operands in zip(parts.measurements, own, strict=True)
    ]

    adjoint = copy_register_p.bind(state, blank=True)
    by_measured = _through_tail(parts.tail, cotangents, measured, others)
    rows = list(zip(parts.measurements, own, by_measured, strict=True))
    for equation, operands, cotangent in rows:
        adjoint = SEEDS[equation.primitive.name](equation, state, operands, cotangent, adjoint)
    changing = active_variables(head, wanted)
    by_operand = [
        BY_OPERAND[equation.primitive.name](equation, state, operands, cotangent)
        if _has_active_operand(equation, changing)
        else None
        for equation, operands, cotangent in rows
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

    found = _surrogate_gradient(head, values, weights, wanted, more)
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
    bound = bounded_length(head)
    if bound is not None:
        return bound
    return dimension_table().size(tape_length_p.bind(state)) + longest_turn(head)


# --- the gradient of the surrogate ----------------------------------------------------------------


def _surrogate_gradient(
    head: Any, values: Sequence[Any], weights: Any, wanted: Positions, more: Any
) -> list[Any]:
    """The gradient of `weights . parameters`, and of what `more` makes of the head's results."""
    inputs = head.jaxpr.invars
    sources = [inputs[position] for position in wanted]
    slicing, region, parts = without_parts(in_stretches(head), sources)
    given = dict(zip(inputs, values, strict=True))

    def loss(arguments: Sequence[Any]) -> Any:
        known = given | dict(zip(parts, arguments, strict=True))
        cursor = Cursor(weights, 0, jnp.float64(0))
        operands = [known[variable] for variable in region.jaxpr.invars]
        classical = run_surrogate(region, operands, cursor)
        return cursor.settled()[1] + more(classical)

    _, pull_back = jax.vjp(loss, evaluated(slicing, values))
    (found,) = pull_back(jnp.float64(1))
    return [put_together(variable, parts, found) for variable in sources]
