"""JVP rules of loops and branches: the tangents are carried beside the primals.

Which carried values have tangents is found by iteration: a value whose tangent is not zero after
the body has one before it, too. A register carries its derivative within itself
(`tangents.tangent_circuit`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.autodiff.tangents.gate_rules import Pair, Rule
from diastase.autodiff.tangents.tangent_circuit import (
    Extended,
    derivative_of,
    extended,
    tangents_at,
)
from diastase.jaxprs.control_flow import LoopOperands, record_switch
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
    return tangents_at(avals, dict(zip(active, found, strict=True)))


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


def _loop(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    at, moved = LoopOperands.read(primals, params), LoopOperands.read(tangents, params)
    body, test, avals = params["body_jaxpr"], params.get("cond_jaxpr"), params["result_avals"]
    first = len(body.in_avals) - len(avals)
    constants = _active(moved.constants, body.in_avals[: len(at.constants)])
    result, active = _stable(body, constants, first, _active(moved.carry, avals))
    if test is not None:
        added = _tangent_avals(body.in_avals[first:], active)
        test = select_inputs(test, range(len(test.in_avals)), [*test.in_avals, *added])
    entries = [moved.constants[number] for number in constants]
    changes = [ad.instantiate_zeros(moved.carry[number]) for number in active]
    extended_loop = LoopOperands(
        at.tested, [*result.captured, *at.constants, *entries], at.bounds, [*at.carry, *changes]
    )
    jaxpr = _reordered(result, body, len(at.constants), len(constants))
    results = extended_loop.record(params, jaxpr, (*avals, *_tangent_avals(avals, active)), test)
    return results[: len(avals)], _changes(avals, active, results[len(avals) :])


def _switch(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Pair:
    branches, avals = params["branch_jaxprs"], params["result_avals"]
    index, *operands = primals
    active = _active(tangents[1:], branches[0].in_avals)
    found = [set(extended(branch, active).active) for branch in branches]
    wanted = tuple(sorted(set[int]().union(*found)))
    extensions = [extended(branch, active, wanted) for branch in branches]
    entries = [tangents[1 + number] for number in active]
    results = record_switch(
        index,
        [(result.jaxpr, result.captured) for result in extensions],
        [*operands, *entries],
        (*avals, *_tangent_avals(avals, wanted)),
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
    "for_loop": _loop,
    "while_loop": _loop,
    "switch": _switch,
}
