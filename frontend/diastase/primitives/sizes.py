"""`assert_size`: a size that is used must not be negative, checked at run time.

It has no operands and no results; its parameter `size` is an expression over dimension symbols,
as in the shapes of jaxpr variables; `at_least` is 0, or more where empty arrays are refused. It
is recorded before the first use of a size that cannot be
shown to be at least 0. The explicit form of a jaxpr leaves it out, as it leaves out the check
that any allocation implies.
"""

from typing import Any

from jax.extend.core import Primitive

from diastase.primitives.define import define_primitive
from diastase_mlir.jax_internals import SizeCheckEffect


def _assert_size_abstract_eval(*, size: Any, at_least: Any) -> tuple[list[Any], set[Any]]:
    return [], {SizeCheckEffect()}


_NO_OPERANDS = "it has no operands, so no transformation ever reaches it"

assert_size_p: Primitive = define_primitive(
    "assert_size",
    construct="an array's size",
    abstract_eval=_assert_size_abstract_eval,
    has_effects=True,
    missing_rules={"jvp": _NO_OPERANDS, "transpose": _NO_OPERANDS, "vmap": _NO_OPERANDS},
)


def assert_size(size: Any, at_least: Any = 0) -> None:
    """Record the check that an expression over dimension symbols is not negative, or too small."""
    assert_size_p.bind(size=size, at_least=at_least)
