"""`concurrent_qnodes`: QNodes of a program that do not depend on each other.

    concurrent_qnodes    [*operands of the first, *of the second, …]  ->  the results, likewise

`branch_jaxprs` has a jaxpr for each of them, in the order of the program: one equation `qnode`.
They may be run in any order and at the same time; if several fail, the error is the first one's.
The primitive replaces equations of a program that is traced (`tracing.concurrency`).
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.primitives.define import Role, define_primitive


def _abstract_eval(*_: Any, branch_jaxprs: Sequence[ClosedJaxpr]) -> tuple[Sequence[Any], set[Any]]:
    results = [aval for jaxpr in branch_jaxprs for aval in jaxpr.out_avals]
    return results, set[Any]().union(*(jaxpr.effects for jaxpr in branch_jaxprs))


concurrent_qnodes_p = define_primitive(
    "concurrent_qnodes",
    Role.CIRCUIT,
    construct="qjit(async_qnodes=True)",
    abstract_eval=_abstract_eval,
    has_effects=True,
    missing_rules=dict.fromkeys(
        ("jvp", "transpose", "vmap"), "it replaces equations of a program that is traced"
    ),
)
