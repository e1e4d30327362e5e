"""Checks at run time: `assert_size` and `assume` of sizes, `require` of values.

Those of sizes have neither operands nor results; sizes are parameters, expressions over dimension
symbols, as in the shapes of jaxpr variables. The explicit form of a jaxpr leaves both out.

- `assert_size`: a size that is used must not be negative (`at_least` is 0, or more where empty
  arrays are refused). It is recorded before the first use of a size that cannot be shown to be
  at least 0, and is what any allocation implies. A failure is the user's error; `construct` is
  the function of JAX that the user called.
- `assume`: what tracing took to be so. Where it is not, the program is another one than the
  function traced for these sizes, and is left at once.
- `require`: a traced boolean is True. Where it is not, the program runs to its end, and the call
  raises `InvalidValueError` with the user's line.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive

from diastase.primitives.define import Role, define_primitive
from diastase_mlir.diagnostics import called_function
from diastase_mlir.jax_compat import SizeCheckEffect
from diastase_mlir.program import Assumption
from diastase_runtime.abi import ErrorCode

_FUNCTIONS = frozenset(
    name
    for module in (jax.numpy, jax.lax, jax.nn, jax.random, jax.numpy.linalg, jax.numpy.fft)
    for name in dir(module)
)
"""What a user may have called that needs a size."""


def _assert_size_abstract_eval(
    *, size: Any, at_least: Any, construct: str
) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


def _assume_abstract_eval(*, assumption: Assumption) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


_NO_OPERANDS = "it has no operands, so no transformation ever reaches it"
_NO_RULES = {"jvp": _NO_OPERANDS, "transpose": _NO_OPERANDS, "vmap": _NO_OPERANDS}

assert_size_p: Primitive = define_primitive(
    "assert_size",
    Role.CHECK,
    construct="an array's size",
    abstract_eval=_assert_size_abstract_eval,
    has_effects=True,
    missing_rules=_NO_RULES,
)

assume_p: Primitive = define_primitive(
    "assume",
    Role.CHECK,
    construct="an assumption",
    abstract_eval=_assume_abstract_eval,
    has_effects=True,
    missing_rules=_NO_RULES,
)


def assert_size(size: Any, at_least: Any = 0) -> None:
    """Record the check that an expression over dimension symbols is not negative, or too small."""
    construct = called_function(_FUNCTIONS) or "the program"
    assert_size_p.bind(size=size, at_least=at_least, construct=construct)


def assume(assumption: Assumption) -> None:
    """Record the check of an assumption."""
    assume_p.bind(assumption=assumption)


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
