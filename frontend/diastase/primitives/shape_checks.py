"""Checks of sizes at run time: `assert_size` and `assume`.

Neither has operands or results; sizes are parameters, expressions over dimension symbols, as in
the shapes of jaxpr variables. The explicit form of a jaxpr leaves both out.

- `assert_size`: a size that is used must not be negative (`at_least` is 0, or more where empty
  arrays are refused). It is recorded before the first use of a size that cannot be shown to be
  at least 0, and is what any allocation implies. A failure is the user's error; `construct` is
  the function of JAX that the user called.
- `assume`: what tracing took to be so. Where it is not, the program is another one than the
  function traced for these sizes, and is left at once.
"""

from typing import Any

import jax
from jax.extend.core import Primitive

from diastase.primitives.define import Role, define_primitive
from diastase_mlir.diagnostics import called_function
from diastase_mlir.jax_compat import SizeCheckEffect
from diastase_mlir.program import Assumption

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
