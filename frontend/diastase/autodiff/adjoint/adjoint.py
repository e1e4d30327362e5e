"""The gradient of a QNode by one run and one sweep back, for any number of arguments and results.

In one region, where the body was (`qnode.circuit_split`):

    run the head on a register that records        (`primitives.statevector.record_p`)
    measure; cotangents of what was measured, from those of the results, through the tail
    the adjoint of the register for these          (`qnode.adjoint_seeds`)
    sweep back: derivatives g by the parameters of all operations that were executed
    the gradient of the classical surrogate        (`surrogate`): derivatives by the arguments

What else than a parameter selects elements of an argument has its derivatives put into their places
at once, too.

Source: Jones and Gacon, "Efficient calculation of gradients in classical simulations of variational
quantum algorithms" (2020), for circuits of gates; the surrogate is ours.

Parts of inputs, and derivatives by all parts of an input put into their places at once.

JAX transposes each slice of an array to an array of zeros with the part in it, and adds these up: a
loop or a matrix for each of a thousand parts would make a thousand such arrays. Parameters of gates
are vectors by now (`gate_segments`); what else reads parts of inputs has its derivatives put into
their places together.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Var

from diastase.autodiff.adjoint.gate_segments import in_stretches
from diastase.autodiff.adjoint.surrogate import Cursor, run_surrogate
from diastase.autodiff.qnode.adjoint_seeds import BY_OPERAND, SEEDS
from diastase.autodiff.qnode.circuit_split import Parts, marked
from diastase.autodiff.qnode.parameter_counts import bounded_length, longest_turn
from diastase.autodiff.qnode.result_vectors import paired
from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.dependence import active_variables
from diastase.jaxprs.evaluate import evaluated, is_number
from diastase.primitives.qnode_derivatives import Positions
from diastase.primitives.quantum import qnode_p, release_p
from diastase.primitives.statevector import copy_register_p, record_p, sweep_p, tape_length_p
from diastase_mlir.jax_compat import evaluate_equation, rebuilt, trace_to_jaxpr
from diastase_mlir.rerolling import Part, is_view, put_into_places, viewed, whole

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


def without_parts(
    closed: ClosedJaxpr, wanted: Collection[Any]
) -> tuple[ClosedJaxpr, ClosedJaxpr, dict[Any, Part]]:
    """What takes parts of some inputs, the rest as a jaxpr of all inputs and these, and the parts.

    An input of which not only parts are read is a part itself, and the first jaxpr gives it, too.
    """
    inputs = closed.jaxpr.invars
    parts = {variable: whole(variable) for variable in inputs if variable in wanted}
    slices, others = list[Any](), list[Any]()
    for equation in closed.jaxpr.eqns:
        if is_view(equation) and equation.invars[0] in parts:
            parts[equation.outvars[0]] = viewed(parts[equation.invars[0]], equation)
            slices.append(equation)
        else:
            others.append(equation)
    read = [atom for equation in others for atom in equation.invars] + closed.jaxpr.outvars
    used = dict.fromkeys(atom for atom in read if isinstance(atom, Var) and atom in parts)
    slicing = rebuilt(closed, inputs, slices, list(used))
    rest = rebuilt(closed, list(dict.fromkeys([*inputs, *used])), others, closed.jaxpr.outvars)
    return slicing, rest, {variable: parts[variable] for variable in used}


def put_together(variable: Any, parts: Mapping[Any, Part], cotangents: Sequence[Any]) -> Any:
    """The cotangent of an input, given those of all parts."""
    aval = variable.aval
    total, places, numbers = None, list[np.ndarray](), list[Any]()
    for (own, part), cotangent in zip(parts.items(), cotangents, strict=True):
        if own is variable:
            total = cotangent
        elif part.root is variable:
            places.append(part.places(cotangent.shape))
            numbers.append(lax.reshape(cotangent, (cotangent.size,)))
    if places:
        targets = np.concatenate(places)
        pieces = [(targets, np.arange(len(targets)))]
        flat = put_into_places(aval.size, pieces, lax.concatenate(numbers, 0))
        own = lax.reshape(flat, aval.shape)
        total = own if total is None else lax.add(total, own)
    return jnp.zeros(aval.shape, aval.dtype) if total is None else total
