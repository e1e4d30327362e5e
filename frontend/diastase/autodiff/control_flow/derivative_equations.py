"""What `control_derivative` equations stand for, and their batches and transposes.

In: an equation whose parameter `what` says which derivative of which construct it is
(`primitives.control_flow_derivatives`). `implementation` records the derivative, when tracing is
over; until then batches (`BatchOf`) and transposes (`TangentOf` <-> `CotangentOf`) are equations.

The trap: where the number of iterations of a loop differs between elements of a batch, the
residuals of an iteration cannot be an array for each element. There the derivative of the batch is
taken (a loop whose bounds are the same for all) instead of the batch of derivatives: `_of_batch`
goes from one to the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr
from jax.interpreters import ad

from diastase.autodiff.control_flow.batching import (
    Batched,
    Flags,
    as_dims,
    for_all,
    in_front,
    with_axes,
)
from diastase.autodiff.control_flow.loop_vjp import loop_cotangent
from diastase.autodiff.tangents.tangent_circuit import tangents_at
from diastase.jaxprs.control_flow import LoopOperands, record_switch
from diastase.jaxprs.evaluate import evaluated, pullback
from diastase.primitives.batching import of_each_element
from diastase.primitives.control_flow import for_loop_p, switch_p
from diastase.primitives.control_flow_derivatives import (
    BatchOf,
    Construct,
    CotangentOf,
    Function,
    JvpOf,
    Positions,
    TangentOf,
    control_derivative_p,
)
from diastase.primitives.define import Rule
from diastase.primitives.qnode_derivatives import inexact_positions, is_inexact
from diastase_mlir.jax_compat import (
    BatchAxis,
    Zero,
    batched,
    forward_derivative,
    trace_to_jaxpr,
)


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
            results, changes = forwards(what.function, values, what.wanted, entries)
            return [*results, *(changes[position] for position in inexact_positions(results))]
        case TangentOf():
            values, entries = _taken_apart(operands, len(what.wanted))
            _, changes = forwards(what.function, values, what.wanted, entries)
            return [changes[position] for position in what.found]
        case CotangentOf():
            values, weights = _taken_apart(operands, len(what.found))
            function = what.function
            if isinstance(function, Construct) and function.name in _BACKWARDS:
                rule = _BACKWARDS[function.name]
                return rule(values, weights, function.settings, what.wanted, what.found)
            evaluate = partial(implementation, function)
            return list(pullback(evaluate, values, what.wanted, what.found)(list(weights)))


def _taken_apart(operands: Sequence[Any], more: int) -> tuple[list[Any], list[Any]]:
    count = len(operands) - more
    return list(operands[:count]), list(operands[count:])


def _of_each(what: BatchOf, operands: Sequence[Any]) -> list[Any]:
    function = lambda *inputs: implementation(what.function, inputs)  # noqa: E731
    results, found = batched(what.axis, function, operands, what.dims)
    repeated = with_axes(what.axis, results, found, [True] * len(results))
    return [jnp.moveaxis(result, 0, what.place) for result in repeated]


def forwards(
    function: Function, values: Sequence[Any], wanted: Positions, entries: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results, and tangents of all of them, given those of the operands in `wanted`."""
    tangents = tangents_at(list(map(jax.typeof, values)), dict(zip(wanted, entries, strict=True)))
    results, changes = forward_derivative(
        lambda *inputs: implementation(function, inputs), values, tangents
    )
    return results, [ad.instantiate_zeros(change) for change in changes]


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
    return record_switch(index, regions, entries, regions[0][0].out_avals)


def _branch_backwards(
    branch: Any, entries: Sequence[Any], places: Sequence[int], found: Sequence[int]
) -> tuple[ClosedJaxpr, Sequence[Any]]:
    count = len(branch.in_avals)

    def backwards(*arguments: Any) -> Sequence[Any]:
        inputs, weights = arguments[:count], arguments[count:]
        pull = pullback(partial(evaluated, branch), inputs, places, found)
        changes = pull(list(weights))
        return [
            jax.lax.convert_element_type(change, change.dtype)  # not weakly typed in any branch
            for change in changes
        ]

    return trace_to_jaxpr(backwards, list(map(jax.typeof, entries)), "derivative")


_CONSTRUCTS: Mapping[str, Any] = {"for_loop": for_loop_p, "switch": switch_p}
_BACKWARDS: Mapping[str, Callable[..., list[Any]]] = {
    "for_loop": loop_cotangent,
    "switch": _switch_cotangent,
}
"""Reverse derivatives of constructs; those of others are what JAX makes of them."""


# --- batches --------------------------------------------------------------------------------------


def _derivative(
    axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], *, what: Function
) -> Batched:
    values, flags = in_front(operands, dims), [dim is not None for dim in dims]
    if not any(flags):
        found = of_each_element(axis, values, _construct(what).settings)
        if found is None:
            results = control_derivative_p.bind(*values, what=what)
            return results, [None] * len(results)
        values, flags = found[0], [dim is not None for dim in found[1]]
    if isinstance(what, JvpOf) and not any(flags[: len(flags) - len(what.wanted)]):
        return _directions(axis, values, flags, what)
    if _has_bounds_of_its_own(what, flags):
        what, wanted = _of_batch(axis, what, flags)
        values = with_axes(axis, values, flags, wanted)
    else:
        what = BatchOf(what, axis, tuple(as_dims(flags)), 0)
    results = control_derivative_p.bind(*values, what=what)
    return results, [0] * len(results)


def _directions(axis: BatchAxis, values: Sequence[Any], flags: Flags, what: JvpOf) -> Batched:
    """Only the tangents are a batch: the results are the same for all of it."""
    results = control_derivative_p.bind(
        *values[: len(values) - len(what.wanted)], what=what.function
    )
    found = inexact_positions(list(map(jax.typeof, results)))
    tangent = TangentOf(what.function, what.wanted, found)
    of_all = BatchOf(tangent, axis, tuple(as_dims(flags)), 0)
    changes = control_derivative_p.bind(*values, what=of_all)
    return [*results, *changes], [*[None] * len(results), *[0] * len(changes)]


def _has_bounds_of_its_own(what: Function, flags: Flags) -> bool:
    """Whether it is about a loop that goes round as often as an element of the batch says."""
    construct = _construct(what)
    return construct.name == "for_loop" and any(LoopOperands.read(flags, construct.settings).bounds)


def _construct(what: Function) -> Construct:
    while not isinstance(what, Construct):
        what = what.function
    return what


def _of_batch(axis: BatchAxis, what: Function, flags: Flags) -> tuple[Function, list[bool]]:
    """The same derivative of the batch of loops, and which operands must have a batch axis for it.

    The batch is one loop, whose bounds are the same for all.
    """
    match what:
        case Construct():
            return BatchOf(what, axis, tuple(as_dims(flags)), 0), list(flags)
        case BatchOf():
            function, wanted = _of_batch(axis, what.function, flags)
            dims = [
                None if dim is None else dim + moved
                for dim, moved in zip(what.dims, wanted, strict=True)
            ]
            return replace(what, function=function, dims=tuple(dims), place=what.place + 1), wanted
        case TangentOf() | CotangentOf() | JvpOf():
            count = len(flags) - len(what.found if isinstance(what, CotangentOf) else what.wanted)
            inputs = [flag or number in what.wanted for number, flag in enumerate(flags[:count])]
            function, inputs = _of_batch(axis, what.function, inputs)
            return replace(what, function=function), [*inputs, *[True] * (len(flags) - count)]


# --- transposes -----------------------------------------------------------------------------------


def _transpose(cotangents: Sequence[Any], *operands: Any, what: Function) -> list[Any]:
    """`TangentOf` and `CotangentOf` are the transposes of each other, also those of a batch."""
    known = list(map(ad.instantiate_zeros, cotangents))
    if isinstance(what, BatchOf):
        return _transpose_of_batch(known, operands, what)
    assert isinstance(what, TangentOf | CotangentOf), "linear in its last operands"
    forwards = isinstance(what, TangentOf)
    count = len(operands) - len(what.wanted if forwards else what.found)
    other = (CotangentOf if forwards else TangentOf)(what.function, what.wanted, what.found)
    return [*[None] * count, *control_derivative_p.bind(*operands[:count], *known, what=other)]


def _transpose_of_batch(
    cotangents: Sequence[Any], operands: Sequence[Any], what: BatchOf
) -> list[Any]:
    """Over operands that all have the axis of the batch, in front: then they are added up."""
    flags = [dim is not None for dim in what.dims]
    function, wanted = _of_batch(what.axis, what.function, flags)
    values = [
        value if ad.is_undefined_primal(value) else _as_wanted(what.axis, value, dim, flag)
        for value, dim, flag in zip(operands, what.dims, wanted, strict=True)
    ]
    known = [jnp.moveaxis(value, what.place, 0) for value in cotangents]
    results = _transpose(known, *values, what=function)
    return [
        None
        if result is None
        else jnp.sum(result, 0)
        if dim is None
        else jnp.moveaxis(result, 0, dim)
        for result, dim in zip(results, what.dims, strict=True)
    ]


def _as_wanted(axis: BatchAxis, value: Any, dim: int | None, is_wanted: bool) -> Any:
    if dim is None:
        return for_all(axis, value, not is_wanted)
    return jnp.moveaxis(value, dim, 0)


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
    ("control_derivative", "transpose"): _transpose,
    ("for_loop", "transpose"): _transposed("for_loop"),
    ("switch", "transpose"): _transposed("switch"),
    ("control_derivative", "vmap_of_axis"): _derivative,
}
"""The rule for batches is given the axis."""
