"""Batching rules (`vmap`) of loops and branches, as JAX batches its own.

    for_loop      with bounds of a batch each element has its own; the loop goes on until the last
                  element is through, and the others keep what they have
    while_loop    with a condition that differs between elements the same
    switch        with an index that differs between elements: all branches, of which each element
                  takes its own

Otherwise regions are batched, and what does not depend on the batch is carried once. Batched axes
are moved to the front. A register of a batch is a lane register, which is not chosen but predicated
(`predication`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.control_flow.predication import (
    active,
    active_again,
    active_among,
    is_register,
    where_active,
)
from diastase.jaxprs.control_flow import LoopOperands, record_switch, trip_count
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.checks import require_p
from diastase.primitives.define import Role, Rule, has_role
from diastase.primitives.errors import NotTransformableError
from diastase.primitives.quantum import is_register_aval, touches_register
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import (
    BatchAxis,
    batched,
    checkpoint_p,
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
        jnp.moveaxis(value, dim, 0) if dim else value
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


def _avals(axis: BatchAxis, avals: Sequence[Any], flags: Flags) -> list[Any]:
    return [
        aval.update(shape=(axis.size, *aval.shape)) if flag else aval
        for aval, flag in zip(avals, flags, strict=True)
    ]


def refuse_other_sizes(
    construct: str,
    avals: Sequence[Any],
    results: Sequence[Any],
    transformation: str = "vmap",
    otherwise: str = "",
) -> None:
    """Refuse what gives an array of another size than it takes."""
    shapes = [[getattr(aval, "shape", ()) for aval in types] for types in (avals, results)]
    if shapes[0] != shapes[1]:
        raise NotTransformableError(
            construct=construct,
            transformation=transformation,
            reason="it changes the size of an array; keep sizes the same (mask or pad)" + otherwise,
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


def _loop(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    values, flags = in_front(operands, dims), [dim is not None for dim in dims]
    at, by = LoopOperands.read(values, params), LoopOperands.read(flags, params)
    body, test, avals = params["body_jaxpr"], params.get("cond_jaxpr"), params["result_avals"]
    refuse_other_sizes(
        "for_loop" if test is None else "while_loop",
        body.in_avals[len(body.in_avals) - len(avals) :],
        avals,
    )
    if any(by.bounds):
        return _for_loop_of_own_bounds(axis, at, by, params)
    index = [False] if at.bounds else []
    jaxpr, captured, carried = _batched_body(axis, body, [*by.constants, *index], by.carry)
    tested = at.tested
    if test is not None:
        test, more, (by_element,) = _batched_region(axis, test, [*by.tested, *carried], [False])
        if by_element:
            return _while_loop_of_own_condition(axis, at, by, params)
        tested = [*more, *tested]
    carry = with_axes(axis, at.carry, by.carry, carried)
    batch = LoopOperands(tested, [*captured, *at.constants], at.bounds, carry)
    return batch.record(params, jaxpr, _avals(axis, avals, carried), test), as_dims(carried)


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
    axis: BatchAxis, at: LoopOperands, by: LoopOperands, params: Mapping[str, Any]
) -> Batched:
    """Over iteration numbers; an element that is through keeps its values."""
    body, all_of_them = params["body_jaxpr"], [True] * len(at.carry)
    _refuse_checks("for_loop", body)
    lower, upper, step = with_axes(axis, at.bounds, by.bounds, [True] * 3)
    trips = active_among(axis, jax.vmap(trip_count)(lower, upper, step))
    types = _avals(axis, body.in_avals[len(at.constants) + 1 :], all_of_them)

    def one(trip: Any, *carry: Any) -> Sequence[Any]:
        done = trips - 1 - trip if params["apply_reverse_transform"] else trip
        goes_on, index = trip < trips, lower + jnp.asarray(done, lower.dtype) * step
        operands = [*at.constants, index, *where_active(goes_on, carry)]
        with active(axis, goes_on):
            results = _all_mapped(axis, body, operands, [*by.constants, True, *all_of_them])
        return [chosen(goes_on, new, old) for new, old in zip(results, carry, strict=True)]

    jaxpr, captured = trace_to_jaxpr(one, [jax.typeof(jnp.int64(0)), *types], "vmap")
    bounds = jnp.int64(0), jnp.max(trips, initial=0), jnp.int64(1)
    carry = with_axes(axis, at.carry, by.carry, all_of_them)
    params = {**params, "apply_reverse_transform": False, "part": None}
    batch = LoopOperands([], captured, bounds, carry)
    results = batch.record(params, convert_outputs(jaxpr, types), types)
    return active_again(axis, results), as_dims(all_of_them)


def chosen(flags: Any, new: Any, old: Any) -> Any:
    """By the leading axes: the new value where a flag is set, else the old.

    A register is the new one, which has left the other lanes alone.
    """
    if is_register(new):
        return new
    shape = (*flags.shape, *[1] * (new.ndim - flags.ndim))
    return jnp.where(lax.reshape(flags, shape), new, old)


def _while_loop_of_own_condition(
    axis: BatchAxis, at: LoopOperands, by: LoopOperands, params: Mapping[str, Any]
) -> Batched:
    """Until all are through: the flags of those that are not are carried, too."""
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    _refuse_checks("while_loop", test, body)
    all_of_them = [True] * len(at.carry)
    tests, inputs = [*by.tested, *all_of_them], [*by.constants, *all_of_them]

    def one(goes_on: Any, *carry: Any) -> Sequence[Any]:
        operands = [*at.constants, *where_active(goes_on, carry)]
        with active(axis, goes_on):
            results = _all_mapped(axis, body, operands, inputs)
        kept = [chosen(goes_on, new, old) for new, old in zip(results, carry, strict=True)]
        (again,) = _all_mapped(axis, test, [*at.tested, *kept], tests)
        return [goes_on & again, *kept]

    carry = with_axes(axis, at.carry, by.carry, all_of_them)
    (goes_on,) = _all_mapped(axis, test, [*at.tested, *carry], tests)
    goes_on = active_among(axis, goes_on)
    types = _avals(axis, body.in_avals[len(at.constants) :], all_of_them)
    types = [jax.typeof(goes_on), *types]
    jaxpr, captured = trace_to_jaxpr(one, types, "vmap")
    condition, _ = trace_to_jaxpr(lambda goes_on, *_: [jnp.any(goes_on)], types, "vmap")
    batch = LoopOperands([], captured, [], [goes_on, *carry])
    results = batch.record(params, convert_outputs(jaxpr, types), types, condition)
    return active_again(axis, results[1:]), as_dims(all_of_them)


# --- branches -------------------------------------------------------------------------------------


def _switch(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    branches, avals = params["branch_jaxprs"], params["result_avals"]
    for branch in branches:
        refuse_other_sizes("cond or switch", branch.out_avals, avals)
    index, *values = in_front(operands, dims)
    by_element, *flags = [dim is not None for dim in dims]
    if by_element:
        return _each_its_own(axis, index, values, flags, branches), [0] * len(avals)

    def turn(wanted: list[bool]) -> tuple[list[bool], list[Any]]:
        batches = [_batched_region(axis, branch, flags, wanted) for branch in branches]
        return [any(each) for each in zip(*(flags for *_, flags in batches), strict=True)], batches

    wanted, batches = settled([False] * len(avals), turn)
    regions = [(jaxpr, captured) for jaxpr, captured, _ in batches]
    results = record_switch(index, regions, values, _avals(axis, avals, wanted))
    return results, as_dims(wanted)


def _each_its_own(
    axis: BatchAxis,
    index: Any,
    values: Sequence[Any],
    flags: Flags,
    branches: Sequence[ClosedJaxpr],
) -> list[Any]:
    """All branches, and of their results for each element those of its own.

    A register goes through one branch after the other.
    """
    _refuse_checks("cond or switch", *branches)
    found: list[Any] = []
    for number, branch in enumerate(branches):
        is_taken = index == number
        results = _taken(axis, branch, active_among(axis, is_taken), values, flags)
        new = next(filter(is_register, results), None)
        values = [new if is_register(value) else value for value in values]
        if found:
            results = [chosen(is_taken, *pair) for pair in zip(results, found, strict=True)]
        found = results
    return active_again(axis, found)


def _taken(
    axis: BatchAxis, branch: ClosedJaxpr, is_taken: Any, values: Sequence[Any], flags: Flags
) -> list[Any]:
    """The results of a branch that these elements take; where none does, only a register counts.

    A branch that has a register to change is left out where no element takes it; so is one with
    control flow, as a loop may end only where it is taken.
    """
    if not any(map(touches_register, branch.jaxpr.eqns)) and not _has_control_flow(branch):
        with active(axis, is_taken):
            return _all_mapped(axis, branch, values, flags)
    registers = list(filter(is_register, values))[:1]
    types = _avals(axis, branch.out_avals, [True] * len(branch.out_avals))

    def run(*registers: Any) -> Sequence[Any]:
        own = [registers[0] if is_register(value) else value for value in values]
        with active(axis, is_taken):
            return _all_mapped(axis, branch, where_active(is_taken, own), flags)

    def left_out(*registers: Any) -> Sequence[Any]:
        return [
            registers[0] if is_register_aval(aval) else jnp.zeros(aval.shape, aval.dtype)
            for aval in types
        ]

    regions = [
        trace_to_jaxpr(region, list(map(jax.typeof, registers)), "cond or switch")
        for region in (left_out, run)
    ]
    regions = [(convert_outputs(jaxpr, types), captured) for jaxpr, captured in regions]
    return record_switch(jnp.any(is_taken).astype(jnp.int64), regions, registers, types)


def _has_control_flow(branch: ClosedJaxpr) -> bool:
    return any(has_role(each, Role.CONTROL_FLOW) for each in equations_in(branch))


def _inlined(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr
) -> Batched:
    values = in_front(operands, dims)
    flags = [0 if dim is not None else None for dim in dims]
    results, found = batched(axis, lambda *ops: evaluated(jaxpr, ops), values, flags)
    return results, as_dims(found)


def _checkpoint(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    """As JAX's rule, but traced each time: which elements are active may have changed."""
    values, flags = in_front(operands, dims), [dim is not None for dim in dims]
    region = ClosedJaxpr(params["jaxpr"], ())
    jaxpr, captured, found = _batched_region(axis, region, flags, [False] * len(region.out_avals))
    kept = params["prevent_cse"]
    if isinstance(kept, tuple):  # a flag for each operand
        kept = (*[True] * len(captured), *kept)
    params = {**params, "jaxpr": jaxpr.jaxpr, "prevent_cse": kept}
    return checkpoint_p.bind(*captured, *values, **params), as_dims(found)


RULES: Mapping[tuple[str, str], Rule] = {
    ("for_loop", "vmap_of_axis"): _loop,
    ("while_loop", "vmap_of_axis"): _loop,
    ("switch", "vmap_of_axis"): _switch,
    ("inlined", "vmap_of_axis"): _inlined,
    ("checkpoint", "vmap_of_axis"): _checkpoint,
}
"""Rules that are given the axis."""
