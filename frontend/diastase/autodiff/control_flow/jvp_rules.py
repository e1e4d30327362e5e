"""Forward derivatives of loops and branches: the tangents are carried beside the values.

Which carried values have tangents is found by iteration: a value whose tangent is not zero after
the body has one before it, too. A register carries its derivative within itself
(`tangents.regions`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.autodiff.tangents.gate_rules import Pair, Rule
from diastase.autodiff.tangents.regions import MARK, Extended, derivative_of, extended
from diastase.capture.control_flow.branches import share_captured
from diastase.capture.regions import Region
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.qnode_derivatives import is_inexact
from diastase.primitives.quantum import is_register_aval
from diastase_mlir.jax_compat import Zero, rebuilt, select_inputs, settled


def _active(tangents: Sequence[Any], avals: Sequence[Any]) -> tuple[int, ...]:
    return tuple(
        position
        for position, (tangent, aval) in enumerate(zip(tangents, avals, strict=True))
        if type(tangent) is not Zero and not is_register_aval(aval) and is_inexact(aval)
    )


def _changes(avals: Sequence[Any], active: Sequence[int], found: Sequence[Any]) -> list[Any]:
    """Tangents of all results, of which `active` have those in `found`."""
    entries = dict(zip(active, found, strict=True))
    return [
        MARK
        if is_register_aval(aval)
        else entries[number]
        if number in entries
        else Zero(aval.to_tangent_aval())
        for number, aval in enumerate(avals)
    ]


def _tangent_avals(avals: Sequence[Any], active: Sequence[int]) -> tuple[Any, ...]:
    return tuple(avals[number].to_tangent_aval() for number in active)


def _stable(body: ClosedJaxpr, leading: tuple[int, ...], first: int, carry: Sequence[int]) -> Any:
    """The body, extended until all that it changes is carried: and which of the carry that is.

    `leading`: positions of active constants; `first`: the position of the first carried value.
    """

    def turn(active: tuple[int, ...]) -> tuple[tuple[int, ...], Extended]:
        result = extended(body, (*leading, *(first + number for number in active)), active)
        return tuple(sorted({*active, *result.active})), result

    active, result = settled(tuple(sorted(carry)), turn)
    return result, active


def _reordered(result: Extended, body: ClosedJaxpr, constants: int, leading: int) -> ClosedJaxpr:
    """Inputs `[*captured, *constants, *their tangents, *index, *carry, *its tangents]`.

    `extended` gives all tangents last, those of the constants before those of the carry.
    """
    jaxpr = result.jaxpr.jaxpr
    constants += len(result.captured)
    count = len(result.captured) + len(body.in_avals)
    plain, entries = jaxpr.invars[:count], jaxpr.invars[count:]
    inputs = [*plain[:constants], *entries[:leading], *plain[constants:], *entries[leading:]]
    return rebuilt(result.jaxpr, inputs, jaxpr.eqns, jaxpr.outvars)


def _for_loop(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    body, count = params["body_jaxpr"], params["body_nconsts"]
    avals = params["result_avals"]
    start = count + 3
    constants = _active(tangents[:count], body.in_avals[:count])
    carried = _active(tangents[start:], avals)
    result, active = _stable(body, constants, count + 1, carried)
    operands = [
        *result.captured,
        *primals[:count],
        *(tangents[number] for number in constants),
        *primals[count:],
        *(ad.instantiate_zeros(tangents[start + number]) for number in active),
    ]
    results = for_loop_p.bind(
        *operands,
        **{
            **params,
            "body_jaxpr": _reordered(result, body, count, len(constants)),
            "body_nconsts": len(result.captured) + count + len(constants),
            "result_avals": (*avals, *_tangent_avals(avals, active)),
        },
    )
    return results[: len(avals)], _changes(avals, active, results[len(avals) :])


def _while_loop(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    test, body, avals = params["cond_jaxpr"], params["body_jaxpr"], params["result_avals"]
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start = tested + count
    constants = _active(tangents[tested:start], body.in_avals[:count])
    carried = _active(tangents[start:], avals)
    result, active = _stable(body, constants, count, carried)
    added = [body.in_avals[count + number].to_tangent_aval() for number in active]
    condition = select_inputs(test, range(len(test.in_avals)), [*test.in_avals, *added])
    operands = [
        *primals[:tested],
        *result.captured,
        *primals[tested:start],
        *(tangents[tested + number] for number in constants),
        *primals[start:],
        *(ad.instantiate_zeros(tangents[start + number]) for number in active),
    ]
    results = while_loop_p.bind(
        *operands,
        **{
            **params,
            "cond_jaxpr": condition,
            "body_jaxpr": _reordered(result, body, count, len(constants)),
            "body_nconsts": len(result.captured) + count + len(constants),
            "result_avals": (*avals, *_tangent_avals(avals, active)),
        },
    )
    return results[: len(avals)], _changes(avals, active, results[len(avals) :])


def _switch(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    branches, avals = params["branch_jaxprs"], params["result_avals"]
    index, *operands = primals
    active = _active(tangents[1:], branches[0].in_avals)
    found = [set(extended(branch, active).active) for branch in branches]
    wanted = tuple(sorted(set[int]().union(*found)))
    extensions = [extended(branch, active, wanted) for branch in branches]
    entries = [tangents[1 + number] for number in active]
    regions = [Region(result.jaxpr, tuple(result.captured)) for result in extensions]
    shared, regions = share_captured(regions, [*operands, *entries])
    results = switch_p.bind(
        index,
        *shared,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=(*avals, *_tangent_avals(avals, wanted)),
    )
    return results[: len(avals)], _changes(avals, wanted, results[len(avals) :])


def _inlined(primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr) -> Pair:
    """A jaxpr in the place of an equation: its equations, differentiated in place."""
    entries = {
        position: tangent for position, tangent in enumerate(tangents) if type(tangent) is not Zero
    }
    return derivative_of(jaxpr, primals, entries)


RULES: Mapping[str, Rule] = {
    "inlined": _inlined,
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
