"""Comparisons of sizes that become values: `x.shape[0] < 20`, asked by the user's code.

The size of an array that a loop resizes differs from one iteration to the next, so no answer given
while tracing holds. Where a comparison in the user's code cannot be decided, the decider may make
a traced boolean of it, good for `cond`, for the condition of a `while_loop`, or for `jnp.where`.
If Python asks for its truth after all (`if`, `and`), the question goes to the decider as others do.
A comparison with a traced number is a comparison of numbers, wherever the size comes from.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from jax.core import Tracer

from diastase_mlir.diagnostics import is_user_file
from diastase_mlir.jax_compat.private import core
from diastase_mlir.jax_compat.symbolic.dimensions import (
    SizeScope,
    is_number,
    is_symbolic,
    lower_bound,
)

ORDERINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    **ORDERINGS,
    "==": operator.eq,
    "!=": operator.ne,
}


class Comparing(Protocol):
    """The part of a decider that makes values of comparisons."""

    def compared(self, left: Any, comparison: str, right: Any) -> Any | None:
        """The comparison as a traced boolean; None if it is to be answered now."""
        ...

    def truth(self, value: Any) -> bool | None:
        """The answer to such a question, or to some connected by `&`, `|` and `~`."""
        ...


def value_of_comparison(
    decider: Comparing | None, left: Any, comparison: str, right: Any, frame: Any
) -> Any | None:
    """What the decider makes of a comparison in this frame, None for an answer."""
    scope = left.scope
    if decider is None or not isinstance(scope, SizeScope):
        return None
    if not is_user_file(frame.f_code.co_filename):
        return None
    if isinstance(right, Tracer):
        return COMPARISONS[comparison](core.dimension_as_value(left), right)
    if not is_number(right) and getattr(right, "scope", None) is not scope:
        return None
    difference = scope.normalised(left - right)
    if not is_symbolic(difference) or _is_decided(difference, comparison):
        return None
    return decider.compared(scope.normalised(left), comparison, scope.normalised(right))


def _is_decided(difference: Any, comparison: str) -> bool:
    """Whether it is known how a difference compares with 0."""
    least, most = lower_bound(difference), -lower_bound(-difference)
    if comparison in ("==", "!="):
        return least > 0 or most < 0
    if comparison in ("<", ">="):
        return least >= 0 or most < 0
    return least > 0 or most <= 0
