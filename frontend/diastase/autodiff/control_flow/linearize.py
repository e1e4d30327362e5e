"""Reverse mode of loops and branches: they run as they are, and keep what they were given.

When JAX linearises a construct, its linear part is recorded as one equation
(`primitives.control_flow_derivatives`), whose transpose is the derivative backwards:

    for_loop      forwards once more, keeping what is carried, then backwards (`loop_vjp`)
    while_loop    counts its iterations, and is a `for_loop` of that many from then on
    switch        the branches' vector-Jacobian products, as branches
    jax.checkpoint of anything with loops inside: the function once more

So residuals are the operands of a construct only, and the derivative computes it once more. Forward
mode (`jvp_rules`) has none of this.

`implementation` says what the equations of derivatives stand for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.autodiff.control_flow.jvp_rules import RULES as FORWARD_RULES
from diastase.autodiff.control_flow.loop_vjp import loop_cotangent
from diastase.autodiff.tangents.regions import derivative_of
from diastase.capture.control_flow.branches import share_captured
from diastase.capture.dynamic_carry import SizePattern
from diastase.capture.regions import Region
from diastase.jaxprs.dependence import active_carry, active_results
from diastase.jaxprs.evaluate import evaluated
from diastase.jaxprs.loops import number_of_turns
from diastase.primitives.control_flow import for_loop_p, switch_p
from diastase.primitives.control_flow_derivatives import (
    BatchOf,
    Construct,
    CotangentOf,
    Function,
    JvpOf,
    Positions,
    TangentOf,
    active_positions,
    along,
    control_derivative_p,
)
from diastase.primitives.define import Rule
from diastase.primitives.errors import NotTransformableError
from diastase.primitives.qnode_derivatives import inexact_positions, is_inexact, refuse_stateful
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import (
    Zero,
    add_input,
    batched,
    checkpoint_p,
    forward_derivative,
    trace_to_jaxpr,
)

# --- linearisation --------------------------------------------------------------------------------


def _for_loop(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
    count = params["body_nconsts"]
    _refuse_resizing("for_loop", operands[count + 3 :], params)
    results = for_loop_p.bind(*operands, **params)
    return _linearised("for_loop", nonzeros, operands, params, results)


def _while_loop(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start = tested + count
    _refuse_resizing("while_loop", operands[start:], params)
    number, results = number_of_turns(
        lambda carried: evaluated(params["cond_jaxpr"], [*operands[:tested], *carried])[0],
        lambda carried: evaluated(params["body_jaxpr"], [*operands[tested:start], *carried]),
        operands[start:],
        lambda: SizePattern().fresh(params["result_avals"]),
    )
    settings = {
        "body_jaxpr": add_input(params["body_jaxpr"], count, jax.typeof(jnp.int64(0))),
        "body_nconsts": count,
        "apply_reverse_transform": False,
        "preserve_dimensions": True,
        "result_avals": params["result_avals"],
    }
    bounds = jnp.int64(0), number, jnp.int64(1)
    loop = [*operands[tested:start], *bounds, *operands[start:]]
    moved = [*nonzeros[tested:start], False, False, False, *nonzeros[start:]]
    results, found, kept, linear = _linearised("for_loop", moved, loop, settings, results)

    def of_all(residuals: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        still = Zero(jax.typeof(number).to_tangent_aval())
        entries = [*tangents[tested:start], still, still, still, *tangents[start:]]
        return linear(residuals, *entries)

    return results, found, kept, of_all


def checkpoint(nonzeros: Sequence[bool], *operands: Any, jaxpr: Any, **params: Any) -> Any:
    """`jax.checkpoint` of a function with loops inside: it is run again, whatever the policy."""
    results = checkpoint_p.bind(*operands, jaxpr=jaxpr, **params)
    closed = jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())
    settings = {"jaxpr": closed, "result_avals": tuple(closed.out_avals)}
    return _linearised("checkpoint", nonzeros, operands, settings, results)


def _switch(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
    avals = params["result_avals"]
    for branch in params["branch_jaxprs"]:
        _refuse_other_sizes("cond or switch", branch.out_avals, avals)
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
        _refuse_what_has_no_derivative(construct, operands, moved, params)

    def linear(kept: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        return along(function, kept, tangents, found)

    return results, [position in found for position in range(len(results))], list(operands), linear


def _refuse_what_has_no_derivative(
    construct: str, operands: Sequence[Any], moved: Positions, params: Mapping[str, Any]
) -> None:
    """Look for samples in a construct whose results are integers: JAX takes zeros for theirs.

    Differentiating, in a trace that is thrown away, raises what it finds.
    """
    avals = [jax.typeof(operand) for operand in operands]
    changes = [avals[position].to_tangent_aval() for position in moved]

    def attempt(*arguments: Any) -> Sequence[Any]:
        entries = dict(zip(moved, arguments[len(avals) :], strict=True))
        if construct == "checkpoint":
            derivative_of(params["jaxpr"], arguments[: len(avals)], entries)
            return []
        tangents = [
            entries.get(position, Zero(aval.to_tangent_aval()))
            for position, aval in enumerate(avals)
        ]
        FORWARD_RULES[construct](arguments[: len(avals)], tangents, **params)
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


def _refuse_resizing(construct: str, carry: Sequence[Any], params: Mapping[str, Any]) -> None:
    _refuse_other_sizes(construct, list(map(jax.typeof, carry)), params["result_avals"])


def _refuse_other_sizes(construct: str, avals: Sequence[Any], results: Sequence[Any]) -> None:
    for aval, result in zip(avals, results, strict=True):
        if getattr(aval, "shape", ()) != getattr(result, "shape", ()):
            raise NotTransformableError(
                construct=construct,
                transformation="reverse-mode",
                reason="it changes the size of an array; keep sizes the same (mask or pad), or "
                "differentiate forwards, with jax.jvp",
                span=user_span(),
            )


# --- what the equations of derivatives stand for --------------------------------------------------


def implementation(what: Function, operands: Sequence[Any]) -> list[Any]:
    """The results of one of these functions, recorded as what it is."""
    match what:
        case Construct():
            if what.name == "checkpoint":
                return evaluated(what.settings["jaxpr"], operands)
            return _CONSTRUCTS[what.name].bind(*operands, **what.settings)
        case BatchOf():
            return _of_each(what, operands)
        case JvpOf():
            values, entries = _taken_apart(operands, len(what.wanted))
            results, changes = _forwards(what.function, values, what.wanted, entries)
            return [*results, *(changes[position] for position in inexact_positions(results))]
        case TangentOf():
            values, entries = _taken_apart(operands, len(what.wanted))
            _, changes = _forwards(what.function, values, what.wanted, entries)
            return [changes[position] for position in what.found]
        case CotangentOf():
            values, weights = _taken_apart(operands, len(what.found))
            function = what.function
            if isinstance(function, Construct) and function.name in _BACKWARDS:
                rule = _BACKWARDS[function.name]
                return rule(values, weights, function.settings, what.wanted, what.found)
            return _pulled_back(what, values, weights)


def _taken_apart(operands: Sequence[Any], more: int) -> tuple[list[Any], list[Any]]:
    count = len(operands) - more
    return list(operands[:count]), list(operands[count:])


def _of_each(what: BatchOf, operands: Sequence[Any]) -> list[Any]:
    function = lambda *inputs: implementation(what.function, inputs)  # noqa: E731
    results, found = batched(what.axis, function, operands, what.dims)
    repeated = [
        result if flag else jax.lax.broadcast(result, (what.axis.size,))
        for result, flag in zip(results, found, strict=True)
    ]
    return [jnp.moveaxis(result, 0, what.place) for result in repeated]


def _forwards(
    function: Function, values: Sequence[Any], wanted: Positions, entries: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    given = dict(zip(wanted, entries, strict=True))
    tangents = [
        given[position] if position in given else Zero(jax.typeof(value).to_tangent_aval())
        for position, value in enumerate(values)
    ]
    results, changes = forward_derivative(
        lambda *inputs: implementation(function, inputs), values, tangents
    )
    return results, [ad.instantiate_zeros(change) for change in changes]


def _pulled_back(what: CotangentOf, values: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    def function(*moved: Any) -> Sequence[Any]:
        known = dict(enumerate(values)) | dict(zip(what.wanted, moved, strict=True))
        results = implementation(what.function, list(known.values()))
        return [results[position] for position in what.found]

    _, pull = jax.vjp(function, *(values[position] for position in what.wanted))
    return list(pull(list(weights)))


def _switch_cotangent(
    operands: Sequence[Any],
    cotangents: Sequence[Any],
    settings: Mapping[str, Any],
    wanted: Sequence[int],
    found: Sequence[int],
) -> list[Any]:
    index, *values = operands
    places = [position - 1 for position in wanted]
    entries = [*values, *cotangents]
    regions = [
        _branch_backwards(jaxpr, entries, places, found) for jaxpr in settings["branch_jaxprs"]
    ]
    shared, regions = share_captured(regions, entries)
    return switch_p.bind(
        index,
        *shared,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=tuple(regions[0].jaxpr.out_avals),
    )


def _branch_backwards(
    branch: Any, entries: Sequence[Any], places: Sequence[int], found: Sequence[int]
) -> Region:
    count = len(branch.in_avals)

    def backwards(*arguments: Any) -> Sequence[Any]:
        inputs, weights = arguments[:count], arguments[count:]

        def function(*moved: Any) -> Sequence[Any]:
            values = dict(enumerate(inputs)) | dict(zip(places, moved, strict=True))
            results = evaluated(branch, list(values.values()))
            return [results[position] for position in found]

        changes = jax.vjp(function, *(inputs[place] for place in places))[1](list(weights))
        return [
            jax.lax.convert_element_type(change, change.dtype)  # not weakly typed in any branch
            for change in changes
        ]

    jaxpr, captured = trace_to_jaxpr(backwards, list(map(jax.typeof, entries)), "derivative")
    return Region(jaxpr, tuple(captured))


_CONSTRUCTS: Mapping[str, Any] = {"for_loop": for_loop_p, "switch": switch_p}
_BACKWARDS: Mapping[str, Callable[..., list[Any]]] = {
    "for_loop": loop_cotangent,
    "switch": _switch_cotangent,
}
"""Reverse derivatives of constructs; those of others are what JAX makes of them."""


# --- constructs that are linear in some operands --------------------------------------------------


def _transposed(construct: str) -> Rule:
    """A construct that JAX has found to be linear in its undefined operands: from any of these."""

    def rule(cotangents: Sequence[Any], *operands: Any, **params: Any) -> Sequence[Any]:
        wanted = tuple(
            position for position, value in enumerate(operands) if ad.is_undefined_primal(value)
        )
        found = tuple(
            position
            for position, value in enumerate(cotangents)
            if type(value) is not Zero and is_inexact(jax.typeof(value))
        )
        values = [
            jnp.zeros(value.aval.shape, value.aval.dtype)
            if ad.is_undefined_primal(value)
            else value
            for value in operands
        ]
        function = Construct(construct, params, params["result_avals"])
        known = [cotangents[position] for position in found]
        backwards = CotangentOf(function, wanted, found)
        results = control_derivative_p.bind(*values, *known, what=backwards)
        by_operand = dict(zip(wanted, results, strict=True))
        return [by_operand.get(position) for position in range(len(operands))]

    return rule


RULES: Mapping[tuple[str, str], Rule] = {
    ("for_loop", "linearise"): _for_loop,
    ("while_loop", "linearise"): _while_loop,
    ("switch", "linearise"): _switch,
    ("for_loop", "transpose"): _transposed("for_loop"),
    ("switch", "transpose"): _transposed("switch"),
}
