"""Checks of values at run time: `require`.

Shapes and types are known while tracing; what depends on values is checked by the program. The
check is an equation without results: where it fails, the program runs to its end, and the call
raises `InvalidValueError` with the user's line.
"""

from typing import Any

import jax.numpy as jnp
from jax.extend.core import Primitive

from diastase.primitives.define import Role, define_primitive
from diastase_mlir.jax_compat import SizeCheckEffect
from diastase_runtime.abi import ErrorCode


def _require_abstract_eval(
    holds: Any, *, what: str, error: ErrorCode
) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


require_p: Primitive = define_primitive(
    "require",
    Role.CHECK,
    construct="a check of a value",
    abstract_eval=_require_abstract_eval,
    has_effects=True,
    missing_rules={"transpose": "it has no derivative"},
    rules={
        "jvp": lambda primals, _, **params: (require_p.bind(*primals, **params), []),
        "vmap": lambda values, _, **params: (require_p.bind(jnp.all(values[0]), **params), []),
    },
)
"""`holds ->`: record an error, unless the boolean is true; `error` says which, with `what`
as its message."""


def require(holds: Any, what: str) -> None:
    """Check, when the program runs, that a traced boolean is true."""
    require_p.bind(holds, what=what, error=ErrorCode.INVALID_VALUE)


def assert_holds(holds: Any, what: str) -> None:
    """The same for an assertion of the user's."""
    require_p.bind(holds, what=what, error=ErrorCode.ASSERTION_FAILED)
