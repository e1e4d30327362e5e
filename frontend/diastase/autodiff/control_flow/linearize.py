"""Linearization of loops and branches: they run as they are; the residuals are their operands.

When JAX linearises a construct, its linear part is recorded as one equation
(`primitives.control_flow_derivatives`), whose transpose is the derivative backwards:

    for_loop      forwards once more, keeping what is carried, then backwards (`loop_vjp`)
    while_loop    counts its iterations, and is a `for_loop` of that many from then on
    switch        the branches' vector-Jacobian products, as branches
    jax.checkpoint of anything with loops inside: the function once more

So the derivative computes a construct once more. Forward mode (`jvp_rules`) has none of this.

The equations' own rules, and what they stand for, are in `derivative_equations`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.control_flow.batching import refuse_other_sizes
from diastase.autodiff.control_flow.derivative_equations import forwards
from diastase.capture.dynamic_carry import SizePattern
from diastase.jaxprs.control_flow import LoopOperands, number_of_turns
from diastase.jaxprs.dependence import active_carry, active_results
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.control_flow import for_loop_p, switch_p
from diastase.primitives.control_flow_derivatives import (
    Construct,
    Positions,
    active_positions,
    along,
)
from diastase.primitives.define import Rule
from diastase.primitives.qnode_derivatives import refuse_stateful
from diastase_mlir.jax_compat import (
    Zero,
    add_input,
    checkpoint_p,
    trace_to_jaxpr,
)

# --- linearisation --------------------------------------------------------------------------------


def _for_loop(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
    _refuse_resizing(
        "for_loop",
        [*map(jax.typeof, LoopOperands.read(operands, params).carry)],
        params["result_avals"],
    )
    results = for_loop_p.bind(*operands, **params)
    return _linearised("for_loop", nonzeros, operands, params, results)


def _while_loop(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
    at, moved = LoopOperands.read(operands, params), LoopOperands.read(nonzeros, params)
    _refuse_resizing("while_loop", [*map(jax.typeof, at.carry)], params["result_avals"])
    number, results = number_of_turns(
        lambda carried: evaluated(params["cond_jaxpr"], [*at.tested, *carried])[0],
        lambda carried: evaluated(params["body_jaxpr"], [*at.constants, *carried]),
        at.carry,
        lambda: SizePattern().fresh(params["result_avals"]),
    )
    index = jax.typeof(jnp.int64(0))
    settings = {
        "body_jaxpr": add_input(params["body_jaxpr"], len(at.constants), index),
        "body_nconsts": len(at.constants),
        "apply_reverse_transform": False,
        "preserve_dimensions": True,
        "result_avals": params["result_avals"],
    }
    loop = [*at.constants, jnp.int64(0), number, jnp.int64(1), *at.carry]
    nonzeros = [*moved.constants, False, False, False, *moved.carry]
    results, found, kept, linear = _linearised("for_loop", nonzeros, loop, settings, results)

    def of_all(residuals: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        still, entries = Zero(index.to_tangent_aval()), LoopOperands.read(tangents, params)
        return linear(residuals, *entries.constants, still, still, still, *entries.carry)

    return results, found, kept, of_all


def _checkpoint(nonzeros: Sequence[bool], *operands: Any, jaxpr: Any, **params: Any) -> Any:
    """`jax.checkpoint` of a function with loops inside: it is run again, whatever the policy."""
    results = checkpoint_p.bind(*operands, jaxpr=jaxpr, **params)
    closed = jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())
    settings = {"jaxpr": closed, "result_avals": tuple(closed.out_avals)}
    return _linearised("checkpoint", nonzeros, operands, settings, results)


def _switch(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
    avals = params["result_avals"]
    for branch in params["branch_jaxprs"]:
        _refuse_resizing("cond or switch", branch.out_avals, avals)
    results = switch_p.bind(*operands, **params)
    return _linearised("switch", nonzeros, operands, params, results)


def _linearised(
    construct: str,
    nonzeros: Sequence[bool],
    operands: Sequence[Any],
    params: Mapping[str, Any],
    results: Sequence[Any],
) -> Any:
    moved = active_positions(operands, nonzeros)
    found = tuple(sorted(_DEPENDENT[construct](moved, params)))
    function = Construct(construct, params, params["result_avals"])
    for part in params.get("branch_jaxprs") or (params.get("body_jaxpr") or params["jaxpr"],):
        if found and part.effects:
            refuse_stateful(f"a {construct} in reverse", part)
    if moved and not found:
        _refuse_what_has_no_derivative(function, operands, moved)

    def linear(kept: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        return along(function, kept, tangents, found)

    return results, [position in found for position in range(len(results))], list(operands), linear


def _refuse_what_has_no_derivative(
    function: Construct, operands: Sequence[Any], moved: Positions
) -> None:
    """Look for samples in a construct whose results are integers: JAX takes zeros for theirs.

    Differentiating, in a trace that is thrown away, raises what it finds.
    """
    avals = [jax.typeof(operand) for operand in operands]
    changes = [avals[position].to_tangent_aval() for position in moved]

    def attempt(*arguments: Any) -> Sequence[Any]:
        forwards(function, arguments[: len(avals)], moved, arguments[len(avals) :])
        return []

    trace_to_jaxpr(attempt, [*avals, *changes], "derivative")


def _of_loop(moved: Positions, params: Mapping[str, Any]) -> set[int]:
    start = params["body_nconsts"] + 3
    constants = [position for position in moved if position < start]
    carry = [position - start for position in moved if position >= start]
    return active_carry(params["body_jaxpr"], constants, carry)


def _of_branches(moved: Positions, params: Mapping[str, Any]) -> set[int]:
    active = [position - 1 for position in moved]
    return set[int]().union(*(active_results(jaxpr, active) for jaxpr in params["branch_jaxprs"]))


_DEPENDENT: Mapping[str, Callable[[Positions, Mapping[str, Any]], set[int]]] = {
    "for_loop": _of_loop,
    "switch": _of_branches,
    "checkpoint": lambda moved, params: active_results(params["jaxpr"], moved),
}
"""The results that have tangents, given the operands that have."""


def _refuse_resizing(construct: str, avals: Sequence[Any], results: Sequence[Any]) -> None:
    otherwise = ", or differentiate forwards, with jax.jvp"
    refuse_other_sizes(construct, avals, results, "reverse-mode", otherwise)


RULES: Mapping[tuple[str, str], Rule] = {
    ("for_loop", "linearise"): _for_loop,
    ("while_loop", "linearise"): _while_loop,
    ("switch", "linearise"): _switch,
    ("checkpoint", "linearise"): _checkpoint,
}
