"""Reverse mode of loops and branches: they run as they are, and keep what they were given.

When JAX linearises a construct, its linear part is recorded as one equation
(`primitives.linear_control_flow`), whose transpose is the derivative backwards:

    for_loop      forwards once more, keeping what is carried, then backwards (`loops_backwards`)
    while_loop    counts its iterations, and is a `for_loop` of that many from then on
    switch        the branches' vector-Jacobian products, as branches
    jax.lax.while_loop (a `fori_loop` with traced bounds is one) as `while_loop`

So residuals are the operands of a construct only, and the derivative computes it once more. Forward
mode (`control_flow_rules`) has none of this.

The two linear equations are differentiated and batched by what they stand for (`IMPLEMENTATIONS`),
to any order. Where JAX splits a program into what is known and what is not by itself (in
`jax.checkpoint`), a construct is split, too: what is known of it runs without the rest (`known`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from diastase.errors import NotTransformableError
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.define import Rule
from diastase.primitives.derivatives import is_inexact
from diastase.primitives.linear_control_flow import (
    control_cotangent_p,
    linear_part,
)
from diastase.tracing.branches import share_captured
from diastase.tracing.derivatives import control_flow_rules
from diastase.tracing.derivatives.dependence import active_carry, active_results
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.derivatives.loops_backwards import loop_cotangent
from diastase.tracing.regions import Region
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import (
    Zero,
    add_input,
    forward_derivative,
    trace_to_jaxpr,
)

Positions = tuple[int, ...]


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
    number, *results = _counted(operands, params)
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


def _counted(operands: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """The number of iterations and the results, found in one run."""
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start, number = tested + count, jax.typeof(jnp.int64(0))
    avals = params["body_jaxpr"].in_avals[count:]

    def next_one(trip: Any, *values: Any) -> Sequence[Any]:
        return [trip + 1, *evaluated(params["body_jaxpr"], [*operands[tested:start], *values])]

    body, captured = trace_to_jaxpr(next_one, [number, *avals], "derivative")
    return while_loop_p.bind(
        *operands[:tested],
        *captured,
        jnp.int64(0),
        *operands[start:],
        cond_jaxpr=add_input(params["cond_jaxpr"], tested, number),
        body_jaxpr=body,
        cond_nconsts=tested,
        body_nconsts=len(captured),
        preserve_dimensions=True,
        result_avals=(number, *params["result_avals"]),
    )


def lax_while_loop(
    nonzeros: Sequence[bool],
    *operands: Any,
    cond_jaxpr: Any,
    body_jaxpr: Any,
    cond_nconsts: int,
    body_nconsts: int,
    **_: Any,
) -> Any:
    """JAX's own loop, whose jaxprs may have constants, in ours."""
    tested, start = cond_nconsts, cond_nconsts + body_nconsts
    inside = body_jaxpr.in_avals[body_nconsts:]
    test, more = trace_to_jaxpr(
        lambda *values: evaluated(cond_jaxpr, [*operands[:tested], *values]), inside, "while_loop"
    )
    body, others = trace_to_jaxpr(
        lambda *values: evaluated(body_jaxpr, [*operands[tested:start], *values]),
        inside,
        "while_loop",
    )
    places = {id(value): position for position, value in enumerate(operands[:start])}

    def moves(value: Any) -> bool:
        position = places.get(id(value))
        return position is not None and nonzeros[position]

    moved = [*map(moves, more), *map(moves, others), *nonzeros[start:]]
    results, found, kept, linear = _while_loop(
        moved,
        *more,
        *others,
        *operands[start:],
        cond_jaxpr=test,
        body_jaxpr=body,
        cond_nconsts=len(more),
        body_nconsts=len(others),
        preserve_dimensions=True,
        result_avals=tuple(inside),
    )

    def of_all(residuals: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        def entry(value: Any) -> Any:
            if moves(value):
                return tangents[places[id(value)]]
            return Zero(jax.typeof(value).to_tangent_aval())

        return linear(residuals, *map(entry, more), *map(entry, others), *tangents[start:])

    return results, found, kept, of_all


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
    moved = tuple(
        position
        for position, (nonzero, value) in enumerate(zip(nonzeros, operands, strict=True))
        if nonzero and is_inexact(jax.typeof(value))
    )
    found = tuple(sorted(_DEPENDENT[construct](moved, params)))

    def linear(residuals: Sequence[Any], *tangents: Any) -> Sequence[Any]:
        entries = [
            tangents[position] if position in moved else Zero(jax.typeof(value).to_tangent_aval())
            for position, value in enumerate(residuals)
        ]
        return linear_part(construct, params, residuals, entries, found)

    return results, [position in found for position in range(len(results))], list(operands), linear


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
                "differentiate forwards, with jax.jvp or jax.jacfwd",
                span=user_span(),
            )


# --- what the linear equations stand for ----------------------------------------------------------


def _taken_apart(operands: Sequence[Any], more: int) -> tuple[list[Any], list[Any]]:
    count = len(operands) - more
    return list(operands[:count]), list(operands[count:])


def _tangent(operands: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    values, entries = _taken_apart(operands, len(params["wanted"]))
    given = dict(zip(params["wanted"], entries, strict=True))
    tangents = [
        given[position] if position in given else Zero(jax.typeof(value).to_tangent_aval())
        for position, value in enumerate(values)
    ]
    rule = control_flow_rules.RULES[params["construct"]]
    _, changes = rule(values, tangents, **dict(params["settings"]))
    return [ad.instantiate_zeros(changes[position]) for position in params["found"]]


def _cotangent(operands: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    values, weights = _taken_apart(operands, len(params["found"]))
    rule = {"for_loop": loop_cotangent, "switch": _switch_cotangent}[params["construct"]]
    return rule(values, weights, dict(params["settings"]), params["wanted"], params["found"])


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


Implementation = Callable[[Sequence[Any], Mapping[str, Any]], list[Any]]

IMPLEMENTATIONS: Mapping[str, Implementation] = {
    "control_tangent": _tangent,
    "control_cotangent": _cotangent,
}
"""What stands in the place of each when tracing is over."""


def _differentiated(implementation: Implementation) -> Rule:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return forward_derivative(lambda *ops: implementation(ops, params), primals, tangents)

    return rule


def _linearised_by(implementation: Implementation) -> Rule:
    def rule(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
        places = [
            position
            for position, (nonzero, value) in enumerate(zip(nonzeros, operands, strict=True))
            if nonzero and is_inexact(jax.typeof(value))
        ]

        def function(*moved: Any) -> Sequence[Any]:
            values = dict(enumerate(operands)) | dict(zip(places, moved, strict=True))
            return implementation(list(values.values()), params)

        results, along = jax.linearize(function, *(operands[place] for place in places))

        def linear(_: Sequence[Any], *tangents: Any) -> Sequence[Any]:
            return along(*(tangents[place] for place in places))

        return results, [True] * len(results), [], linear

    return rule


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
        results = control_cotangent_p.bind(
            *values,
            *(cotangents[position] for position in found),
            construct=construct,
            settings=tuple(params.items()),
            wanted=wanted,
            found=found,
        )
        by_operand = dict(zip(wanted, results, strict=True))
        return [by_operand.get(position) for position in range(len(operands))]

    return rule


RULES: Mapping[tuple[str, str], Rule] = {
    ("for_loop", "linearise"): _for_loop,
    ("while_loop", "linearise"): _while_loop,
    ("switch", "linearise"): _switch,
    ("for_loop", "transpose"): _transposed("for_loop"),
    ("switch", "transpose"): _transposed("switch"),
    **{(name, "jvp"): _differentiated(rule) for name, rule in IMPLEMENTATIONS.items()},
    **{(name, "linearise"): _linearised_by(rule) for name, rule in IMPLEMENTATIONS.items()},
}
