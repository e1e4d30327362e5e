"""The equations of derivatives of QNodes, replaced by circuits and classical code.

`expand_derivatives` walks a traced program; variables stay what they are, so that the symbols of
sizes that they define do. What replaces an equation is a jaxpr in its place (`inlined`).
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.adjoint.adjoint import gradient
from diastase.autodiff.adjoint.parts import parts_of
from diastase.autodiff.control_flow.derivative_equations import implementation
from diastase.autodiff.fuse_value_and_grad import with_shared_runs
from diastase.autodiff.lanes.elements import in_groups
from diastase.autodiff.parameter_shift.methods import rule_of_method
from diastase.autodiff.tangents.tangent_circuit import tangent_circuit, with_positions
from diastase.capture.jax_errors import failures_at
from diastase.capture.tracer_errors import refuse_tracers
from diastase.jaxprs.evaluate import gradient_by_element, number_of, paired
from diastase.primitives.batching import InLanes, element_avals, parallel_map_p
from diastase.primitives.control_flow import inlined_p
from diastase.primitives.errors import NotTransformableError
from diastase.primitives.qnode_derivatives import Direction, Operands, tangent
from diastase.primitives.quantum import qnode_p
from diastase_mlir import user_span
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_compat import (
    constant_equation,
    evaluate_jaxpr,
    rebuilt,
    source_context,
    trace_to_jaxpr,
    with_jaxprs,
)

Equation = Any
_MOST_NUMBERS = 1024
_FEW = 64


def expand_derivatives(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program without equations of derivatives, at any depth."""
    shared = with_shared_runs(closed.jaxpr.eqns, closed, _has_sweep)
    equations = [_expanded(equation) for equation in shared]
    if all(map(operator.is_, equations, closed.jaxpr.eqns)):
        return closed
    inner = closed.jaxpr
    effects = set[Any]().union(*(equation.effects for equation in equations))
    return closed.replace(jaxpr=inner.replace(eqns=equations, effects=effects))


def _has_sweep(params: Mapping[str, Any]) -> bool:
    return rule_of_method(_cotangent, "qnode_cotangent", params) is _cotangent


def _expanded(equation: Equation) -> Equation:
    rule = _rule_of(equation)
    if "mapped" in equation.params and equation.primitive is not parallel_map_p:
        return _batch(equation, rule or partial(_single, equation.primitive))
    if rule is not None:
        avals = [atom.aval for atom in equation.invars]
        jaxpr = _traced(rule, equation, avals, equation.params)
        return equation.replace(
            primitive=inlined_p, params={"jaxpr": jaxpr}, effects=set(jaxpr.effects)
        )
    params = with_jaxprs(equation.params, expand_derivatives)
    return equation if params is equation.params else equation.replace(params=params)


def _batch(equation: Equation, rule: "Rule") -> Equation:
    """An equation of a batch: that of one element, or of a few in lanes, for all of them."""
    params = dict(equation.params)
    mapped = params.pop("mapped")
    avals = [atom.aval for atom in equation.invars]
    jaxpr = _traced(rule, equation, element_avals(avals, mapped), params)
    replaced: dict[str, Any] = {"jaxpr": jaxpr, "mapped": mapped}
    groups = in_groups(jaxpr, avals, mapped)
    if groups is not None:
        whole = _traced(lambda operands, _: groups.compute(*operands), equation, avals, {})
        replaced["in_lanes"] = InLanes(groups.lanes, whole)
    return equation.replace(primitive=parallel_map_p, params=replaced, effects=set(jaxpr.effects))


def _single(primitive: Any, operands: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    return primitive.bind(*operands, **params)


def _traced(
    rule: "Rule", equation: Equation, avals: Sequence[Any], params: Mapping[str, Any]
) -> ClosedJaxpr:
    """What replaces an equation, itself without equations of derivatives; at its line."""
    numbers = [number_of(atom) for atom in equation.invars]

    def known(*operands: Any) -> Sequence[Any]:
        pairs = zip(numbers, operands, strict=True)
        return rule([other if number is None else number for number, other in pairs], params)

    span = span_of(equation.source_info)
    with source_context(equation.source_info), failures_at(span):
        jaxpr, captured = trace_to_jaxpr(known, avals, "derivative")
        return expand_derivatives(_with_constants(jaxpr, captured))


def _rule_of(equation: Equation) -> Any:
    """The exact rule, or that of the QNode's `diff_method`."""
    name = equation.primitive.name
    exact = _RULES.get(name)
    return None if exact is None else rule_of_method(exact, name, equation.params)


def _with_constants(closed: ClosedJaxpr, captured: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr, which makes its leading inputs itself: tables and matrices that rules brought in.

    A jaxpr in the place of an equation has no constants of its own.
    """
    refuse_tracers(captured)  # as of a function that closes over values of the loop it is in
    inputs, equations = closed.jaxpr.invars, list[Equation]()
    for variable, value in zip(inputs, captured, strict=False):
        equations += _constant(variable, np.asarray(value))
    equations += closed.jaxpr.eqns
    return rebuilt(closed, inputs[len(captured) :], equations, closed.jaxpr.outvars)


def _constant(variable: Any, array: np.ndarray) -> Sequence[Equation]:
    """Equations that compute a constant; a large one that is nearly all zeros, without a table."""
    if array.size <= _MOST_NUMBERS or np.count_nonzero(array) > _FEW:
        return [constant_equation(variable, array)]
    places = np.argwhere(array)
    made, _ = trace_to_jaxpr(lambda: [_padded(array, places)], [], "constant")
    assert len(made.in_avals) == 0, "numbers are written out in the equations"
    *before, last = made.jaxpr.eqns
    return [*before, last.replace(outvars=[variable])]


def _padded(array: np.ndarray, places: Any) -> Any:
    zero = array.dtype.type(0)
    result = jax.lax.full(array.shape, zero)
    for place in places:
        sides = [
            (int(low), int(size - low - 1), 0) for low, size in zip(place, array.shape, strict=True)
        ]
        element = jax.lax.full((1,) * array.ndim, array[tuple(place)])
        result = result + jax.lax.pad(element, zero, sides)
    return result


def _tangent(operands: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """The circuit of the derivative: one derivative wire for each direction."""
    given = Operands.read(operands, params)
    circuit, captured, more = _along_directions(params)
    entries = [entry for direction in given.directions for entry in direction]
    more = {name: value for name, value in more.items() if name not in ("jaxpr", "directions")}
    return qnode_p.bind(*captured, *given.values, *entries, jaxpr=circuit, **more)


def _along_directions(
    params: Mapping[str, Any],
) -> tuple[ClosedJaxpr, list[Any], dict[str, Any]]:
    """The circuit of the derivative along all directions, what it captures, its parameters."""
    circuit, captured = params["jaxpr"], list[Any]()
    for positions in params["directions"]:
        shifted = tuple(len(captured) + position for position in positions)
        circuit, constants = tangent_circuit(circuit, shifted)
        captured = [*constants, *captured]
    if params["num_wires"] is None:
        raise NotTransformableError(
            construct=f"QNode {params['name']}",
            transformation="jvp",
            reason="its number of wires is traced, and only averages (expval, probs) have such "
            "derivatives then",
            span=user_span(),
        )
    number = params["num_wires"] + len(params["directions"])
    return (
        with_positions(circuit, params["num_wires"]),
        captured,
        {**params, "num_wires": number},
    )


def _cotangent(operands: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """By one sweep back where the circuit allows it, else run by run."""
    given = Operands.read(operands, params)
    order = len(params["directions"])
    circuit, captured, more = params["jaxpr"], list[Any](), dict(params)
    if order:
        circuit, captured, more = _along_directions(params)
    parts = parts_of(circuit)
    if parts is None:
        return _run_by_run(operands, params)
    entries = [entry for direction in given.directions for entry in direction]
    wanted = tuple(len(captured) + position for position in params["wanted"])
    values = [*captured, *given.values, *entries]
    return gradient(parts, values, given.cotangents, wanted, more)


def _run_by_run(operands: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """A run for each element of what is differentiated by: always possible."""
    given = Operands.read(operands, params)
    more = {name: value for name, value in params.items() if name not in ("wanted", "directions")}
    old = list(map(Direction, params["directions"], given.directions))

    def gradient_by(position: int) -> Any:
        def along(entry: Any) -> Any:
            direction = Direction((position,), [entry])
            return paired(given.cotangents, tangent(given.values, [*old, direction], **more))

        return gradient_by_element(along, given.values[position], jax.vmap)

    return list(map(gradient_by, params["wanted"]))


Rule = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]

_RULES: Mapping[str, Rule] = {
    "several_runs": lambda operands, params: evaluate_jaxpr(params["jaxpr"], operands),
    "qnode_tangent": _tangent,
    "qnode_cotangent": _cotangent,
    "control_derivative": lambda operands, params: implementation(params["what"], operands),
}
