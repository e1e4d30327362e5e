"""Batches of derivatives of control flow, and transposes: they stay equations (`BatchOf`).

Only where the number of iterations of a loop is of the batch, what is to be known of each iteration
cannot be an array for each element. There the derivative of the batch is taken (a loop whose bounds
are the same for all) instead of the batch of derivatives: `_of_batch` goes from one to the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from diastase.autodiff.control_flow.batching import (
    Batched,
    Flags,
    as_dims,
    for_all,
    in_front,
    with_axes,
)
from diastase.primitives.batching import of_each_element
from diastase.primitives.control_flow_derivatives import (
    BatchOf,
    Construct,
    CotangentOf,
    Function,
    JvpOf,
    TangentOf,
    control_derivative_p,
)
from diastase.primitives.define import Rule
from diastase.primitives.qnode_derivatives import inexact_positions
from diastase_mlir.jax_compat import BatchAxis


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
    if construct.name != "for_loop":
        return False
    count = construct.settings["body_nconsts"]
    return any(flags[count : count + 3])


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


RULES: Mapping[tuple[str, str], Rule] = {
    ("control_derivative", "transpose"): _transpose,
    ("control_derivative", "vmap_of_axis"): _derivative,
}
"""The rule for batches is given the axis."""
