"""Which rule an equation of a derivative has, by the `diff_method` of its QNode.

`hadamard` without shots gives the exact derivative, by an auxiliary wire, in all its modes; so does
the exact rule, with its derivative wire. What PennyLane refuses with this method is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from diastase.autodiff.parameter_shift.derivatives import cotangent_by_shifts, tangent_by_shifts
from diastase.autodiff.parameter_shift.refusals import gives_averages, refuse_parts
from diastase.primitives.errors import NoDerivativeError
from diastase.primitives.quantum import allocate_p
from diastase_mlir.diagnostics import span_of

Rule = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]
_SHIFTS: Mapping[str, Rule] = {
    "qnode_tangent": tangent_by_shifts,
    "qnode_cotangent": cotangent_by_shifts,
}


def _ours_at(closed: Any) -> Any:
    """The line of the first equation of a body that has one."""
    spans = (span_of(equation.source_info) for equation in closed.jaxpr.eqns)
    return next((span for span in spans if span is not None), None)


def rule_of_method(exact: Rule, name: str, params: Mapping[str, Any]) -> Rule:
    """The rule of an equation with this name; `exact`: that of a QNode without a method."""
    if name not in _SHIFTS:
        return exact
    if not any(part.primitive is allocate_p for part in params["jaxpr"].jaxpr.eqns):
        raise NoDerivativeError(
            construct=f"QNode {params['name']}",
            reason=f"it runs in Python, on {params['device']}, and its circuit is not known here",
            span=_ours_at(params["jaxpr"]),
        )
    method, options = params.get("differentiation") or (None, ())
    if method is not None and ("mode", "exact") not in options:
        return _SHIFTS[name]
    if method is not None:
        refuse_parts(params["jaxpr"], method)
    needs_wires = name == "qnode_tangent" or len(params["directions"]) > 0
    if params["num_wires"] is None and needs_wires and gives_averages(params["jaxpr"]):
        return partial(_exactly_by_shifts, _SHIFTS[name])
    return exact


def _exactly_by_shifts(rule: Rule, operands: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Of averages: where derivative wires cannot be added, to a number of wires that is traced."""
    return rule(operands, {**params, "differentiation": ("parameter-shift", ())})
