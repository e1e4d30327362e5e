"""Which rule an equation of a derivative has, by the `diff_method` of its QNode.

`hadamard` without shots gives the exact derivative, by an auxiliary wire; so does the exact rule,
with its derivative wire. What PennyLane refuses with this method is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diastase.tracing.derivatives.shifted import (
    cotangent_by_shifts,
    refuse_parts,
    tangent_by_shifts,
)

Rule = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]
_SHIFTS: Mapping[str, Rule] = {
    "qnode_tangent": tangent_by_shifts,
    "qnode_cotangent": cotangent_by_shifts,
}


def rule_of_method(exact: Rule, name: str, params: Mapping[str, Any]) -> Rule:
    """The rule of an equation with this name; `exact`: that of a QNode without a method."""
    method = (params.get("differentiation") or (None,))[0]
    if method == "hadamard":
        refuse_parts(params["jaxpr"], method)
    return exact if method in (None, "hadamard") else _SHIFTS[name]
