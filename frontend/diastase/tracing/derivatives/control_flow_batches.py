"""Batches of loops and branches, as JAX batches its own.

    for_loop      with bounds of a batch each element has its own; the loop goes on until the last
                  element is through, and the others keep what they have
    while_loop    with a condition that differs between elements the same
    switch        with an index that differs between elements: all branches, of which each element
                  takes its own

Otherwise regions are batched, and what does not depend on the batch is carried once. Batched axes
are moved to the front.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.errors import NotTransformableError
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.define import Rule
from diastase.tracing.adjoint.history import trip_count
from diastase.tracing.branches import share_captured
from diastase.tracing.derivatives.dependence import dependent_carry, dependent_results
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.derivatives.reverse_rules import IMPLEMENTATIONS
from diastase.tracing.regions import Region
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import BatchAxis, convert_outputs, trace_to_jaxpr

Flags = Sequence[bool]
Batched = tuple[Sequence[Any], Sequence[int | None]]


def _moved(operands: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    return [
        value if dim is None else jnp.moveaxis(value, dim, 0)
        for value, dim in zip(operands, dims, strict=True)
    ]


def _for_all(axis: BatchAxis, value: Any, is_batched: bool) -> Any:
    """A value with a batch axis, repeated if it has none."""
    return value if is_batched else lax.broadcast(value, (axis.size,))


def _mapped(axis: BatchAxis, function: Callable[..., Any], inputs: Flags, results: Flags) -> Any:
    """`jax.vmap` of a flat function, whose named axis is that of the program."""
    in_axes = tuple(0 if flag else None for flag in inputs)
    out_axes = [0 if flag else None for flag in results]
    more = {} if axis.name is None else {"axis_name": axis.name}
    return jax.vmap(function, in_axes=in_axes, out_axes=out_axes, axis_size=axis.size, **more)


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


def _dims(flags: Flags) -> list[int | None]:
    return [0 if flag else None for flag in flags]


# --- loops ----------------------------------------------------------------------------------------


def _for_loop(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    body, count = params["body_jaxpr"], params["body_nconsts"]
    values, flags = _moved(operands, dims), [dim is not None for dim in dims]
    start = count + 3
    _refuse_other_sizes("for_loop", list(body.in_avals[count + 1 :]), params["result_avals"])
    if any(flags[count:start]):
        return _for_loop_of_own_bounds(axis, values, flags, params)
    inputs = [position for position in range(count) if flags[position]]
    first = [position for position, flag in enumerate(flags[start:]) if flag]
    found = dependent_carry(body, inputs, first)
    carried = [position in found for position in range(len(body.out_avals))]
    jaxpr, captured = _batched_region(axis, body, [*flags[:count], False, *carried], carried)
    results = for_loop_p.bind(
        *captured,
        *values[:start],
        *_carry(axis, values[start:], flags[start:], carried),
        **{
            **params,
            "body_jaxpr": jaxpr,
            "body_nconsts": len(captured) + count,
            "result_avals": tuple(_avals(axis, params["result_avals"], carried)),
        },
    )
    return results, _dims(carried)


def _batched_region(
    axis: BatchAxis, region: ClosedJaxpr, inputs: Flags, results: Flags
) -> tuple[ClosedJaxpr, list[Any]]:
    function = _mapped(axis, lambda *given: evaluated(region, given), inputs, results)
    types = _avals(axis, region.in_avals, inputs)
    jaxpr, captured = trace_to_jaxpr(function, types, "vmap")
    return convert_outputs(jaxpr, _avals(axis, region.out_avals, results)), captured


def _carry(axis: BatchAxis, values: Sequence[Any], flags: Flags, carried: Flags) -> list[Any]:
    return [
        _for_all(axis, value, flag) if wanted else value
        for value, flag, wanted in zip(values, flags, carried, strict=True)
    ]


def _for_loop_of_own_bounds(
    axis: BatchAxis, values: Sequence[Any], flags: Flags, params: Mapping[str, Any]
) -> Batched:
    """Over iteration numbers; an element that is through keeps its values."""
    body, count = params["body_jaxpr"], params["body_nconsts"]
    start, avals = count + 3, body.in_avals[count + 1 :]
    constants = [_for_all(axis, value, flag) for value, flag in zip(values, flags, strict=True)]
    lower, upper, step = constants[count:start]
    trips = jax.vmap(trip_count)(lower, upper, step)
    types = _avals(axis, avals, [True] * len(avals))
    everything = [*flags[:count], True, *([True] * len(avals))]
    run = _mapped(axis, lambda *given: evaluated(body, given), everything, [True] * len(avals))

    def one(trip: Any, *carry: Any) -> Sequence[Any]:
        done = trips - 1 - trip if params["apply_reverse_transform"] else trip
        index = lower + jnp.asarray(done, lower.dtype) * step
        results = run(*values[:count], index, *carry)
        return [_chosen(trip < trips, new, old) for new, old in zip(results, carry, strict=True)]

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


def _chosen(flags: Any, new: Any, old: Any) -> Any:
    """By the leading axis: the new value where a flag is set, else the old."""
    shape = (flags.shape[0], *[1] * (new.ndim - 1))
    return jnp.where(lax.reshape(flags, shape), new, old)


def _while_loop(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start = tested + count
    values, flags = _moved(operands, dims), [dim is not None for dim in dims]
    _refuse_other_sizes("while_loop", list(body.in_avals[count:]), params["result_avals"])
    constants = [position for position in range(count) if flags[tested + position]]
    first = [position for position, flag in enumerate(flags[start:]) if flag]
    found = dependent_carry(body, constants, first)
    carried = [position in found for position in range(len(body.out_avals))]
    reads = [position for position, flag in enumerate([*flags[:tested], *carried]) if flag]
    if dependent_results(test, reads):
        return _while_loop_of_own_condition(axis, values, flags, params)
    inputs = [*flags[tested:start], *carried]
    jaxpr, captured = _batched_region(axis, body, inputs, carried)
    condition, more = _batched_region(axis, test, [*flags[:tested], *carried], [False])
    results = while_loop_p.bind(
        *more,
        *values[:tested],
        *captured,
        *values[tested:start],
        *_carry(axis, values[start:], flags[start:], carried),
        **{
            **params,
            "cond_jaxpr": condition,
            "body_jaxpr": jaxpr,
            "cond_nconsts": len(more) + tested,
            "body_nconsts": len(captured) + count,
            "result_avals": tuple(_avals(axis, params["result_avals"], carried)),
        },
    )
    return results, _dims(carried)


def _while_loop_of_own_condition(
    axis: BatchAxis, values: Sequence[Any], flags: Flags, params: Mapping[str, Any]
) -> Batched:
    """Until all are through: the flags of those that are not are carried, too."""
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    start, avals = tested + count, body.in_avals[count:]
    all_of_them = [True] * len(avals)
    holds = _mapped(
        axis, lambda *given: evaluated(test, given), [*flags[:tested], *all_of_them], [True]
    )
    run = _mapped(
        axis,
        lambda *given: evaluated(body, given),
        [*flags[tested:start], *all_of_them],
        all_of_them,
    )

    def one(goes_on: Any, *carry: Any) -> Sequence[Any]:
        results = run(*values[tested:start], *carry)
        chosen = [_chosen(goes_on, new, old) for new, old in zip(results, carry, strict=True)]
        (again,) = holds(*values[:tested], *chosen)
        return [goes_on & again, *chosen]

    carry = _carry(axis, values[start:], flags[start:], all_of_them)
    (goes_on,) = holds(*values[:tested], *carry)
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
        _moved(operands, dims),
        [dim is not None for dim in dims],
    )
    if by_element:
        return _each_its_own(axis, index, values, flags, branches), [0] * len(avals)
    inputs = [position for position, flag in enumerate(flags) if flag]
    found = set[int]().union(*(dependent_results(branch, inputs) for branch in branches))
    wanted = [position in found for position in range(len(avals))]
    regions = [
        Region(jaxpr, tuple(captured))
        for jaxpr, captured in (_batched_region(axis, branch, flags, wanted) for branch in branches)
    ]
    shared, regions = share_captured(regions, values)
    results = switch_p.bind(
        index,
        *shared,
        branch_jaxprs=tuple(region.jaxpr for region in regions),
        result_avals=tuple(_avals(axis, avals, wanted)),
    )
    return results, _dims(wanted)


def _each_its_own(
    axis: BatchAxis,
    index: Any,
    values: Sequence[Any],
    flags: Flags,
    branches: Sequence[ClosedJaxpr],
) -> list[Any]:
    """All branches, and of their results for each element those of its own."""
    chosen: list[Any] = []
    for number, branch in enumerate(branches):
        flat = _mapped(
            axis,
            lambda *given, branch=branch: evaluated(branch, given),
            flags,
            [True] * len(branch.out_avals),
        )
        results = flat(*values)
        is_taken = index == number
        chosen = (
            [_chosen(is_taken, new, old) for new, old in zip(results, chosen, strict=True)]
            if number
            else list(results)
        )
    return chosen


# --- derivatives ----------------------------------------------------------------------------------


def _tangent(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    return _by_implementation("control_tangent", axis, operands, dims, params)


def _cotangent(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> Batched:
    settings = dict(params["settings"])
    if params["construct"] == "for_loop":
        count = settings["body_nconsts"]
        if any(dim is not None for dim in dims[count : count + 3]):
            return _cotangent_of_own_bounds(axis, operands, dims, params)
    return _by_implementation("control_cotangent", axis, operands, dims, params)


def _by_implementation(
    name: str,
    axis: BatchAxis,
    operands: Sequence[Any],
    dims: Sequence[int | None],
    params: Mapping[str, Any],
) -> Batched:
    values, flags = _moved(operands, dims), [dim is not None for dim in dims]
    count = len(params["found" if name == "control_tangent" else "wanted"])
    implementation = IMPLEMENTATIONS[name]
    run = _mapped(axis, lambda *given: implementation(given, params), flags, [True] * count)
    return run(*values), [0] * count


def _cotangent_of_own_bounds(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], params: Mapping[str, Any]
) -> Batched:
    """The derivative of the batch of loops, which is one loop whose bounds are the same for all."""
    wanted, found = params["wanted"], params["found"]
    values, flags = _moved(operands, dims), [dim is not None for dim in dims]
    count = len(values) - len(found)
    weights = _carry(axis, values[count:], flags[count:], [True] * len(found))
    flags = [flag or position in wanted for position, flag in enumerate(flags[:count])]
    given = _carry(axis, values[:count], [dim is not None for dim in dims[:count]], flags)

    def loops(*moved: Any) -> Sequence[Any]:
        known = dict(enumerate(given)) | dict(zip(wanted, moved, strict=True))
        settings = dict(params["settings"])
        results, _ = _for_loop(axis, list(known.values()), _dims(flags), **settings)
        return [results[position] for position in found]

    _, pull = jax.vjp(loops, *(given[position] for position in wanted))
    return pull(weights), [0] * len(wanted)


RULES: Mapping[tuple[str, str], Rule] = {
    ("for_loop", "vmap_of_axis"): _for_loop,
    ("while_loop", "vmap_of_axis"): _while_loop,
    ("switch", "vmap_of_axis"): _switch,
    ("control_tangent", "vmap_of_axis"): _tangent,
    ("control_cotangent", "vmap_of_axis"): _cotangent,
}
"""Rules that are given the axis (`fancy_primitive_batchers`)."""
