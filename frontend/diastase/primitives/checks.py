"""Checks of values at run time: `require`.

Shapes and types are known while tracing; what depends on values is checked by the program. The
check is an equation without results: where it fails, the program runs to its end, and the call
raises `InvalidValueError` with the user's line.
"""

from typing import Any

from jax.extend.core import Primitive

from diastase.primitives.define import define_primitive
from diastase_mlir.jax_internals import SizeCheckEffect


def _require_abstract_eval(holds: Any, *, what: str) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


_INSIDE = "it stands in a QNode, which is transformed as a whole"

require_p: Primitive = define_primitive(
    "require",
    construct="a check of a value",
    abstract_eval=_require_abstract_eval,
    has_effects=True,
    missing_rules=dict.fromkeys(("transpose", "vmap"), _INSIDE),
    rules={"jvp": lambda primals, _, **params: (require_p.bind(*primals, **params), [])},
)
"""`holds ->`: record an error, unless the boolean is true; `what` is the error's message."""


def require(holds: Any, what: str) -> None:
    """Check, when the program runs, that a traced boolean is true."""
    require_p.bind(holds, what=what)
