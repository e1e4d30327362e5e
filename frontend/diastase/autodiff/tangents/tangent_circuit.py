"""Circuits that compute directional derivatives: the same circuit, on one wire more.

Forward derivatives of any order by numbers a + b e with e e = 0: a state and its derivative are
the two halves of a state with one more wire, the *derivative wire*, on which e is the matrix
N = [[0, 0], [1, 0]]. A gate U whose parameters change, with derivative V, becomes the matrix
U x I + V x N on its wires and the derivative wire; a gate that does not change stays what it is.
An expectation value <s|O|s> has the derivative <s|O|t> + <t|O|s> = <S| O x X |S>, where S is the
pair of s and its derivative t: again an expectation value. The second derivative is the same, done
to the first; so there are 2^k times as many amplitudes for order k.

A new derivative wire stands before those that there are, so that each keeps its place from the end.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.autodiff.tangents.regions import MARK, Extended, extended
from diastase.jaxprs.dependence import lasting
from diastase.primitives.define import Role, has_role
from diastase.primitives.qnode_derivatives import Positions, inexact_positions
from diastase.primitives.quantum import DERIVATIVE_WIRE, allocate_p
from diastase_mlir.jax_compat import needed_equations, rebuilt, with_jaxprs, with_tangent

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

    def positioned(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(positioned, value))
        return DERIVATIVE_WIRE + last - value if _is_derivative_wire(value) else value

    return _with_wires(closed, positioned)


def _is_derivative_wire(value: Any) -> bool:
    return isinstance(value, int) and value >= DERIVATIVE_WIRE


def _with_wires(closed: ClosedJaxpr, positioned: Callable[[Any], Any]) -> ClosedJaxpr:
    equations = [_positioned(equation, positioned) for equation in closed.jaxpr.eqns]
    return rebuilt(closed, closed.jaxpr.invars, equations, closed.jaxpr.outvars)


def _positioned(equation: Any, positioned: Callable[[Any], Any]) -> Any:
    params = dict(equation.params)
    if equation.primitive is allocate_p:
        params["num_wires"] += params.pop("derivative_wires")
    for name in ("wires", "words"):
        if name in params:
            params[name] = positioned(params[name])
    if has_role(equation, Role.CONTROL_FLOW):  # JAX's own have no wires, but may have constants
        params = with_jaxprs(params, lambda region: _with_wires(region, positioned))
    return equation.replace(params=params)


def _derivative_wires(closed: ClosedJaxpr) -> int:
    return max(
        equation.params.get("derivative_wires", 0)
        for equation in closed.jaxpr.eqns
        if equation.primitive is allocate_p
    )


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
