"""Circuits that compute directional derivatives: the same circuit, on one wire more.

Forward derivatives of any order by dual numbers a + b e with e e = 0: a state and its derivative
are the two halves of a state with one more wire, the *derivative wire*, on which e is the matrix
N = [[0, 0], [1, 0]]. A gate U whose parameters change, with derivative V, becomes the matrix
U x I + V x N on its wires and the derivative wire; a gate that does not change stays what it is.
An expectation value <s|O|s> has the derivative <s|O|t> + <t|O|s> = <S| O x X |S>, where S is the
pair of s and its derivative t: again an expectation value. The second derivative is the same, done
to the first; so there are 2^k times as many amplitudes for order k. A new derivative wire stands
before those that there are, so that each keeps its place from the end; in a register of a density
matrix it stands after them, so that a half (`half_p`), which has no oldest one, keeps the others.

`extended` is `jax.jvp` for jaxprs with registers. The trap: a register is active always, and has no
tangent of its own. What JAX sees as its tangent is `MARK`, a number that nothing reads; it only
makes JAX apply our rules to every equation on a register.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.jaxprs.dependence import lasting
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.define import Role, has_role
from diastase.primitives.qnode_derivatives import Positions, inexact_positions
from diastase.primitives.quantum import DERIVATIVE_WIRE, allocate_p, is_register_aval
from diastase_mlir.jax_compat import (
    Zero,
    forward_derivative,
    needed_equations,
    rebuilt,
    trace_to_jaxpr,
    with_jaxprs,
    with_tangent,
)

MARK = np.float64(0.0)


@dataclass(frozen=True)
class Extended:
    """An extended jaxpr, and which of the region's own results have tangents in it."""

    captured: list[Any]
    jaxpr: ClosedJaxpr
    active: tuple[int, ...]


def extended(
    closed: ClosedJaxpr,
    active: Sequence[int],
    always: Sequence[int] = (),
    instead: dict[str, Any] | None = None,
) -> Extended:
    """Extend a closed jaxpr; `always`: results that get a tangent even if it is zero."""
    avals = list(closed.in_avals)
    found: list[int] = []

    def function(*arguments: Any) -> Sequence[Any]:
        values, entries = arguments[: len(avals)], arguments[len(avals) :]
        results, changes = derivative_of(
            closed, values, dict(zip(active, entries, strict=True)), instead
        )
        found[:] = [
            number
            for number, change in enumerate(changes)
            if not is_register_aval(closed.out_avals[number])
            and (number in always or type(change) is not Zero)
        ]
        return [*results, *(ad.instantiate_zeros(changes[number]) for number in found)]

    types = [*avals, *(avals[position].to_tangent_aval() for position in active)]
    jaxpr, captured = trace_to_jaxpr(function, types, "derivative")
    return Extended(captured, jaxpr, tuple(found))


def derivative_of(
    closed: ClosedJaxpr,
    values: Sequence[Any],
    entries: Mapping[int, Any],
    instead: dict[str, Any] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Results of a jaxpr and their tangents; `entries`: tangents of operands, by position."""
    return forward_derivative(
        lambda *operands: evaluated(closed, operands, instead),
        values,
        tangents_at(closed.in_avals, entries),
    )


def tangents_at(avals: Sequence[Any], entries: Mapping[int, Any]) -> list[Any]:
    """Tangents of values of these types, by position; zeros where there is none."""
    return [
        MARK
        if is_register_aval(aval)
        else entries[position]
        if position in entries
        else Zero(aval.to_tangent_aval())
        for position, aval in enumerate(avals)
    ]


_order: ContextVar[int] = ContextVar("_order", default=0)
"""How many derivative wires the circuit had that is being extended."""


def new_wire() -> int:
    """The derivative wire that is being added."""
    return DERIVATIVE_WIRE + _order.get()


def old_wires() -> int:
    """How many derivative wires there were before."""
    return _order.get()


def tangent_circuit(closed: ClosedJaxpr, active: Positions) -> tuple[ClosedJaxpr, list[Any]]:
    """The jaxpr `[*captured, *x, *v] -> derivatives of inexact results`, and `captured`."""
    wanted = inexact_positions(closed.out_avals)
    token = _order.set(_derivative_wires(closed))
    try:
        result = extended(closed, active, wanted, {"allocate_qubits": _allocate})
    finally:
        _order.reset(token)
    return _only_tangents(result, len(closed.out_avals)), result.captured


def with_positions(closed: ClosedJaxpr, num_wires: int) -> ClosedJaxpr:
    """The finished circuit: derivative wires as positions after those of the circuit itself."""
    last = num_wires + _derivative_wires(closed) - 1
    is_mixed = any(equation.params.get("mixed") for equation in _allocations(closed))

    def positioned(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(positioned, value))
        if not _is_derivative_wire(value):
            return value
        number = value - DERIVATIVE_WIRE
        return num_wires + number if is_mixed else last - number

    return _with_wires(closed, positioned)


def _is_derivative_wire(value: Any) -> bool:
    return isinstance(value, int) and value >= DERIVATIVE_WIRE


def _with_wires(closed: ClosedJaxpr, positioned: Callable[[Any], Any]) -> ClosedJaxpr:
    equations = [_positioned(equation, positioned) for equation in closed.jaxpr.eqns]
    return rebuilt(closed, closed.jaxpr.invars, equations, closed.jaxpr.outvars)


def _positioned(equation: Any, positioned: Callable[[Any], Any]) -> Any:
    params = dict(equation.params)
    if equation.primitive is allocate_p and not params.get("mixed"):
        params["num_wires"] += params.pop("derivative_wires")
    for name in ("wires", "words"):
        if name in params:
            params[name] = positioned(params[name])
    if has_role(equation, Role.CONTROL_FLOW):  # JAX's own have no wires, but may have constants
        params = with_jaxprs(params, lambda region: _with_wires(region, positioned))
    return equation.replace(params=params)


def _derivative_wires(closed: ClosedJaxpr) -> int:
    return max(equation.params.get("derivative_wires", 0) for equation in _allocations(closed))


def _allocations(closed: ClosedJaxpr) -> Sequence[Any]:
    return [equation for equation in closed.jaxpr.eqns if equation.primitive is allocate_p]


def _allocate(equation: Any, *operands: Any) -> Sequence[Any]:
    params = dict(equation.params)
    params["derivative_wires"] = params.get("derivative_wires", 0) + 1
    return [with_tangent(allocate_p.bind(*operands, **params), MARK)]


def _only_tangents(result: Extended, count: int) -> ClosedJaxpr:
    """Without the results themselves, and what only they need."""
    closed = result.jaxpr
    outputs = closed.jaxpr.outvars[count:]
    kept, _ = needed_equations(closed.jaxpr.eqns, outputs, lasting)
    return rebuilt(closed, closed.jaxpr.invars, kept, outputs)
