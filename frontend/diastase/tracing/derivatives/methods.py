"""Which rule an equation of a derivative has, by the `diff_method` of its QNode.

A method without a rule here has the exact one: `hadamard`, whose result without shots is exact.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diastase.tracing.derivatives.shifted import cotangent_by_shifts, tangent_by_shifts

Rule = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]
_SHIFTING = ("parameter-shift", "finite-diff", "spsa")

RULES_OF_METHODS: Mapping[str, Mapping[str, Rule]] = {
    "qnode_tangent": dict.fromkeys(_SHIFTING, tangent_by_shifts),
    "qnode_cotangent": dict.fromkeys(_SHIFTING, cotangent_by_shifts),
}
