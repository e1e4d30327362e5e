"""Batches of loops and branches, as JAX batches its own.

    for_loop      with bounds of a batch each element has its own; the loop goes on until the last
                  element is through, and the others keep what they have
    while_loop    with a condition that differs between elements the same
    switch        with an index that differs between elements: all branches, of which each element
                  takes its own

Otherwise regions are batched, and what does not depend on the batch is carried once. Batched axes
are moved to the front.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.capture.control_flow.branches import share_captured
from diastase.capture.regions import Region
from diastase.jaxprs.evaluate import evaluated
from diastase.jaxprs.loops import trip_count
from diastase.primitives.checks import require_p
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.define import Rule
from diastase.primitives.errors import NotTransformableError
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import (
    BatchAxis,
    batched,
    convert_outputs,
    equations_in,
    settled,
    trace_to_jaxpr,
)

Flags = Sequence[bool]
Batched = tuple[Sequence[Any], Sequence[int | None]]


def in_front(operands: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """The operands of a batch with its axis in front."""
    return [
        value if dim is None else jnp.moveaxis(value, dim, 0)
        for value, dim in zip(operands, dims, strict=True)
    ]


def for_all(axis: BatchAxis, value: Any, is_batched: bool) -> Any:
    """A value with a batch axis, repeated if it has none."""
    return value if is_batched else lax.broadcast(value, (axis.size,))


def _all_mapped(
    axis: BatchAxis, region: ClosedJaxpr, operands: Sequence[Any], flags: Flags
) -> list[Any]:
    """The results of a region for a batch, all of them with a batch axis."""
    results, found = batched(axis, lambda *ops: evaluated(region, ops), operands, as_dims(flags))
    return with_axes(axis, results, found, [True] * len(found))


def _aval(axis: BatchAxis, aval: Any, is_batched: bool) -> Any:
    return aval.update(shape=(axis.size, *aval.shape)) if is_batched else aval


def _avals(axis: BatchAxis, avals: Sequence[Any], flags: Flags) -> list[Any]:
    return [_aval(axis, aval, flag) for aval, flag in zip(avals, flags, strict=True)]


def _refuse_other_sizes(construct: str, avals: Sequence[Any], results: Sequence[Any]) -> None:
    if any(aval.shape != result.shape for aval, result in zip(avals, results, strict=True)):
        raise NotTransformableError(
            construct=construct,
            transformation="vmap",
            reason="it changes the size of an array; keep sizes the same (mask or pad)",
            span=user_span(),
        )


def _refuse_checks(construct: str, *regions: ClosedJaxpr) -> None:
    """Refuse a check in code that is run for elements that do not come there, too."""
    if any(equation.primitive is require_p for equation in equations_in(regions)):
        raise NotTransformableError(
            construct=construct,
            transformation="vmap",
            reason="it decides for each element by itself whether a check in it is made "
            "(assert, raise, or a variable that may have no value)",
            span=user_span(),
        )


def as_dims(flags: Flags) -> list[int | None]:
    """The batched axis, in front, of what has one."""
    return [0 if flag else None for flag in flags]


# --- loops ----------------------------------------------------------------------------------------


def _for_loop(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    body, count = params["body_jaxpr"], params["body_nconsts"]
    values, flags = in_front(operands, dims), [dim is not None for dim in dims]
    start = count + 3
    _refuse_other_sizes("for_loop", list(body.in_avals[count + 1 :]), params["result_avals"])
    if any(flags[count:start]):
        return _for_loop_of_own_bounds(axis, values, flags, params)
    constants = [*flags[:count], False]
    jaxpr, captured, carried = _batched_body(axis, body, constants, flags[start:])
    results = for_loop_p.bind(
        *captured,
        *values[:start],
        *with_axes(axis, values[start:], flags[start:], carried),
        **{
            **params,
            "body_jaxpr": jaxpr,
            "body_nconsts": len(captured) + count,
            "result_avals": tuple(_avals(axis, params["result_avals"], carried)),
        },
    )
    return results, as_dims(carried)


def _batched_body(
    axis: BatchAxis, body: ClosedJaxpr, constants: Flags, carry: Flags
) -> tuple[ClosedJaxpr, list[Any], list[bool]]:
    """A loop's body, and which carried values have a batch axis, before and after it."""

    def turn(carried: list[bool]) -> tuple[list[bool], tuple[ClosedJaxpr, list[Any]]]:
        jaxpr, captured, found = _batched_region(axis, body, [*constants, *carried], carried)
        return found, (jaxpr, captured)

    carried, (jaxpr, captured) = settled(list(carry), turn)
    return jaxpr, captured, carried


def _batched_region(
    axis: BatchAxis, region: ClosedJaxpr, inputs: Flags, at_least: Flags
) -> tuple[ClosedJaxpr, list[Any], list[bool]]:
    """A region for a batch, and which of its results have a batch axis: `at_least` these."""
    wanted: list[bool] = []

    def function(*given: Any) -> Sequence[Any]:
        results, found = batched(axis, lambda *ops: evaluated(region, ops), given, as_dims(inputs))
        wanted[:] = [flag or more for flag, more in zip(found, at_least, strict=True)]
        return with_axes(axis, results, found, wanted)

    jaxpr, captured = trace_to_jaxpr(function, _avals(axis, region.in_avals, inputs), "vmap")
    jaxpr = convert_outputs(jaxpr, _avals(axis, region.out_avals, wanted))
    return jaxpr, captured, wanted


def with_axes(axis: BatchAxis, values: Sequence[Any], flags: Flags, carried: Flags) -> list[Any]:
    """Values of which those in `carried` have a batch axis from now on."""
    return [
        for_all(axis, value, flag) if wanted else value
        for value, flag, wanted in zip(values, flags, carried, strict=True)
    ]


def _for_loop_of_own_bounds(
    axis: BatchAxis, values: Sequence[Any], flags: Flags, params: Mapping[str, Any]
) -> Batched:
    """Over iteration numbers; an element that is through keeps its values."""
    body, count = params["body_jaxpr"], params["body_nconsts"]
    _refuse_checks("for_loop", body)
    start, avals = count + 3, body.in_avals[count + 1 :]
    constants = [for_all(axis, value, flag) for value, flag in zip(values, flags, strict=True)]
    lower, upper, step = constants[count:start]
    trips = jax.vmap(trip_count)(lower, upper, step)
    types = _avals(axis, avals, [True] * len(avals))
    everything = [*flags[:count], True, *([True] * len(avals))]

    def one(trip: Any, *carry: Any) -> Sequence[Any]:
        done = trips - 1 - trip if params["apply_reverse_transform"] else trip
        index = lower + jnp.asarray(done, lower.dtype) * step
        results = _all_mapped(axis, body, [*values[:count], index, *carry], everything)
        return [chosen(trip < trips, new, old) for new, old in zip(results, carry, strict=True)]

    number = jax.typeof(jnp.int64(0))
    jaxpr, captured = trace_to_jaxpr(one, [number, *types], "vmap")
    results = for_loop_p.bind(
        *captured,
        jnp.int64(0),
        jnp.max(trips, initial=0),
        jnp.int64(1),
        *constants[start:],
        body_jaxpr=convert_outputs(jaxpr, types),
        body_nconsts=len(captured),
        apply_reverse_transform=False,
        preserve_dimensions=params["preserve_dimensions"],
        result_avals=tuple(types),
    )
    return results, [0] * len(results)


def chosen(flags: Any, new: Any, old: Any) -> Any:
    """By the leading axes: the new value where a flag is set, else the old."""
    shape = (*flags.shape, *[1] * (new.ndim - flags.ndim))
    return jnp.where(lax.reshape(flags, shape), new, old)


def _while_loop(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start = tested + count
    values, flags = in_front(operands, dims), [dim is not None for dim in dims]
    _refuse_other_sizes("while_loop", list(body.in_avals[count:]), params["result_avals"])
    jaxpr, captured, carried = _batched_body(axis, body, flags[tested:start], flags[start:])
    condition, more, (by_element,) = _batched_region(
        axis, test, [*flags[:tested], *carried], [False]
    )
    if by_element:
        return _while_loop_of_own_condition(axis, values, flags, params)
    results = while_loop_p.bind(
        *more,
        *values[:tested],
        *captured,
        *values[tested:start],
        *with_axes(axis, values[start:], flags[start:], carried),
        **{
            **params,
            "cond_jaxpr": condition,
            "body_jaxpr": jaxpr,
            "cond_nconsts": len(more) + tested,
            "body_nconsts": len(captured) + count,
            "result_avals": tuple(_avals(axis, params["result_avals"], carried)),
        },
    )
    return results, as_dims(carried)


def _while_loop_of_own_condition(
    axis: BatchAxis, values: Sequence[Any], flags: Flags, params: Mapping[str, Any]
) -> Batched:
    """Until all are through: the flags of those that are not are carried, too."""
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    _refuse_checks("while_loop", test, body)
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start, avals = tested + count, body.in_avals[count:]
    all_of_them = [True] * len(avals)
    tests, inputs = [*flags[:tested], *all_of_them], [*flags[tested:start], *all_of_them]

    def one(goes_on: Any, *carry: Any) -> Sequence[Any]:
        results = _all_mapped(axis, body, [*values[tested:start], *carry], inputs)
        kept = [chosen(goes_on, new, old) for new, old in zip(results, carry, strict=True)]
        (again,) = _all_mapped(axis, test, [*values[:tested], *kept], tests)
        return [goes_on & again, *kept]

    carry = with_axes(axis, values[start:], flags[start:], all_of_them)
    (goes_on,) = _all_mapped(axis, test, [*values[:tested], *carry], tests)
    types = [jax.typeof(goes_on), *_avals(axis, avals, all_of_them)]
    jaxpr, captured = trace_to_jaxpr(one, types, "vmap")
    condition, _ = trace_to_jaxpr(lambda goes_on, *_: [jnp.any(goes_on)], types, "vmap")
    results = while_loop_p.bind(
        *captured,
        goes_on,
        *carry,
        cond_jaxpr=condition,
        body_jaxpr=convert_outputs(jaxpr, types),
        cond_nconsts=0,
        body_nconsts=len(captured),
        preserve_dimensions=params["preserve_dimensions"],
        result_avals=tuple(types),
    )
    return results[1:], [0] * len(avals)


# --- branches -------------------------------------------------------------------------------------


def _switch(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    branches, avals = params["branch_jaxprs"], params["result_avals"]
    for branch in branches:
        _refuse_other_sizes("cond or switch", branch.out_avals, avals)
    (index, *values), (by_element, *flags) = (
        in_front(operands, dims),
        [dim is not None for dim in dims],
    )
    if by_element:
        return _each_its_own(axis, index, values, flags, branches), [0] * len(avals)

    def turn(wanted: list[bool]) -> tuple[list[bool], list[Any]]:
        batches = [_batched_region(axis, branch, flags, wanted) for branch in branches]
        return [any(each) for each in zip(*(flags for *_, flags in batches), strict=True)], batches

    wanted, batches = settled([False] * len(avals), turn)
    regions = [Region(jaxpr, tuple(captured)) for jaxpr, captured, _ in batches]
    shared, regions = share_captured(regions, values)
    results = switch_p.bind(
        index,
        *shared,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=tuple(_avals(axis, avals, wanted)),
    )
    return results, as_dims(wanted)


def _each_its_own(
    axis: BatchAxis,
    index: Any,
    values: Sequence[Any],
    flags: Flags,
    branches: Sequence[ClosedJaxpr],
) -> list[Any]:
    """All branches, and of their results for each element those of its own."""
    _refuse_checks("cond or switch", *branches)
    found: list[Any] = []
    for number, branch in enumerate(branches):
        results = _all_mapped(axis, branch, values, flags)
        is_taken = index == number
        found = (
            [chosen(is_taken, new, old) for new, old in zip(results, found, strict=True)]
            if number
            else list(results)
        )
    return found


RULES: Mapping[tuple[str, str], Rule] = {
    ("for_loop", "vmap_of_axis"): _for_loop,
    ("while_loop", "vmap_of_axis"): _while_loop,
    ("switch", "vmap_of_axis"): _switch,
}
"""Rules that are given the axis."""
