"""Primitives of control flow: `for_loop`, `while_loop`, `switch` (of `cond` too), `inlined`.

Regions are closed jaxprs without constants; what they close over are leading operands. Tracing has
made the types of what a region takes and returns equal, but for sizes: where a loop changes a size,
or branches differ in one, each side has a symbol of its own there, and `result_avals`, the types of
all results, has a third. Shapes that differ in no symbol are equal. The names and parameters are
the contract with the compiler:

    for_loop    [*consts, lower, upper, step, *carry]   body: [*consts, index, *carry] -> carry
    while_loop  [*cond_consts, *body_consts, *carry]    condition: [*cond_consts, *carry] -> bool
                                                        body: [*body_consts, *carry] -> carry
    switch      [index, *operands]                      branches: [*operands] -> results
    inlined     [*operands]                             jaxpr: [*operands] -> results

The index of `switch` is an i64 in the range of the branches. With quantum bodies the register is
the first carried value or operand, and the first result. `inlined` is purely classical, and as if
its equations stood there, one after the other: symbols of sizes that they define are known after.
"""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Primitive

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.quantum import IN_LANES, INSIDE_A_QNODE

_PROVIDED_RULES = ("jvp", "linearise", "transpose", "vmap_of_axis")


def _effects(*jaxprs: ClosedJaxpr) -> set[Any]:
    return set[Any]().union(*(jaxpr.effects for jaxpr in jaxprs))


def _for_loop_abstract_eval(
    *_: Any,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    apply_reverse_transform: bool,
    preserve_dimensions: bool,
    result_avals: tuple[Any, ...],
    part: str | None = None,
) -> tuple[Sequence[Any], set[Any]]:
    """`part`: what it is of a loop that is taken in segments, for its reverse derivative."""
    return result_avals, _effects(body_jaxpr)


def _while_loop_abstract_eval(
    *_: Any,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    preserve_dimensions: bool,
    result_avals: tuple[Any, ...],
) -> tuple[Sequence[Any], set[Any]]:
    return result_avals, _effects(cond_jaxpr, body_jaxpr)


def _switch_abstract_eval(
    *_: Any, branch_jaxprs: tuple[ClosedJaxpr, ...], result_avals: tuple[Any, ...]
) -> tuple[Sequence[Any], set[Any]]:
    return result_avals, _effects(*branch_jaxprs)


for_loop_p: Primitive = define_primitive(
    "for_loop",
    Role.CONTROL_FLOW,
    construct="for_loop",
    abstract_eval=_for_loop_abstract_eval,
    has_effects=True,
    provided_rules=_PROVIDED_RULES,
)
while_loop_p: Primitive = define_primitive(
    "while_loop",
    Role.CONTROL_FLOW,
    construct="while_loop",
    abstract_eval=_while_loop_abstract_eval,
    has_effects=True,
    missing_rules={
        "transpose": "how often it goes round is not known on the way back; jax.vjp counts first"
    },
    provided_rules=[name for name in _PROVIDED_RULES if name != "transpose"],
)
switch_p: Primitive = define_primitive(
    "switch",
    Role.CONTROL_FLOW,
    construct="cond or switch",
    abstract_eval=_switch_abstract_eval,
    has_effects=True,
    provided_rules=_PROVIDED_RULES,
)


def _inlined_abstract_eval(*_: Any, jaxpr: ClosedJaxpr) -> tuple[Sequence[Any], set[Any]]:
    return jaxpr.out_avals, set(jaxpr.effects)


inlined_p: Primitive = define_primitive(
    "inlined",
    Role.INLINED,
    construct="adjoint",
    abstract_eval=_inlined_abstract_eval,
    has_effects=True,
    missing_rules=INSIDE_A_QNODE,
    provided_rules=IN_LANES,
)
