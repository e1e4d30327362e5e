"""`inlined`: a jaxpr in the place of an equation.

    inlined    [*operands]    jaxpr: [*operands] -> results

As if its equations stood there, one after the other; symbols of sizes that they define are known
after. It is how a jaxpr with variables that define symbols becomes part of another one. The jaxpr
is closed, without constants, and purely classical.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Primitive

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import INSIDE_A_QNODE


def _inlined_abstract_eval(*_: Any, jaxpr: ClosedJaxpr) -> tuple[Sequence[Any], set[Any]]:
    return jaxpr.out_avals, set(jaxpr.effects)


inlined_p: Primitive = define_primitive(
    "inlined",
    Role.INLINED,
    construct="adjoint",
    abstract_eval=_inlined_abstract_eval,
    has_effects=True,
    missing_rules=INSIDE_A_QNODE,
    provided_rules=("jvp",),
)
