"""Batches: equations that stand for many of their kind, and what runs them, at the same time.

    qnode[mapped=((True,), (False,))]  x:f64[100] y:f64[]  ->  f64[100]

An equation of a QNode or of its derivatives may have a parameter `mapped`: for each operand a flag
for each axis of a batch, of which there are several where `jax.vmap` is nested. An operand has
those axes that are flagged, in this order, before its own; results have all of them. An equation
without `mapped` is of a single element. Equations with it are closed under derivatives as those
without are (`primitives.qnode_derivatives`), so derivatives of a batch are batches of derivatives.

When tracing is over, each is replaced by a `parallel_map` (`autodiff.lower_derivatives`), whose
elements may be computed in any order; and QNodes that do not depend on each other by one
`concurrent_qnodes` (`tracing.concurrency`), if that is asked for. If several of them fail, the
error is the first one's.

    parallel_map         [*operands]    results of `jaxpr` for each element, axes of the batch
                                        first; `in_lanes` says how, where several go together
    concurrent_qnodes    [*operands of the first of `branch_jaxprs`, *of the second, …]
                         results, likewise; each jaxpr is one equation `qnode`
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, Primitive

from diastase.primitives.define import Role, any_draws, define_primitive
from diastase_mlir.jax_compat import BatchAxis, add_input, is_of_directions

Flags = tuple[bool, ...]
"""For each axis of a batch, whether an operand has it."""
Mapped = tuple[Flags, ...]
"""For each operand."""

_seen: list[bool] = []


def is_batched() -> bool:
    """Whether any equation was batched so far, in this process."""
    return bool(_seen)


def note_batch() -> None:
    """Say that there are equations which are to be replaced."""
    if not _seen:
        _seen.append(True)


def flags_of(params: Mapping[str, Any], count: int) -> Mapped:
    """The flags of an equation's operands; of no axes, if it is of a single element."""
    return params.get("mapped", ((),) * count)


def mapped_parameter(mapped: Mapped) -> dict[str, Mapped]:
    """The parameter as a dictionary, empty for a single element."""
    return {"mapped": mapped} if mapped and mapped[0] else {}


def batch_sizes(avals: Sequence[Any], mapped: Mapped) -> tuple[Any, ...]:
    """The sizes of all axes of a batch, as the operands have them."""
    number = len(mapped[0]) if mapped else 0
    return tuple(_size(axis, avals, mapped) for axis in range(number))


def _size(axis: int, avals: Sequence[Any], mapped: Mapped) -> Any:
    return next(
        aval.shape[sum(flags[:axis])]
        for aval, flags in zip(avals, mapped, strict=True)
        if flags[axis]
    )


def batched_avals(
    results: Sequence[Any], operands: Sequence[Any], params: Mapping[str, Any]
) -> list[Any]:
    """Types of the results of one element, with the axes of the batch that the operands have."""
    if "mapped" not in params:
        return list(results)
    sizes = batch_sizes(operands, params["mapped"])
    return [aval.update(shape=(*sizes, *aval.shape)) for aval in results]


def element_avals(operands: Sequence[Any], mapped: Mapped) -> list[Any]:
    """Types of an element's operands."""
    return [
        aval.update(shape=aval.shape[sum(flags) :])
        for aval, flags in zip(operands, mapped, strict=True)
    ]


def of_each_element(
    axis: BatchAxis, operands: Sequence[Any], params: Mapping[str, Any]
) -> tuple[list[Any], list[int | None]] | None:
    """Operands of an equation of which none is of the batch, if it is to be for each element.

    What draws is: by one operand, repeated (the smallest, and no bounds of a loop if there are
    others). All else is evaluated once for all elements.
    """
    if not operands or is_of_directions(axis) or not any_draws(params):
        return None
    avals = list(map(jax.typeof, operands))
    costs = [(not jnp.issubdtype(aval.dtype, jnp.inexact), aval.ndim) for aval in avals]
    first = costs.index(min(costs))
    repeated = lax.broadcast(operands[first], (axis.size,))
    values = [repeated if place == first else value for place, value in enumerate(operands)]
    return values, [0 if place == first else None for place in range(len(operands))]


def one_more_axis(
    primitive: Primitive,
    axis: BatchAxis,
    operands: Sequence[Any],
    axes: Sequence[int | None],
    **params: Any,
) -> tuple[Sequence[Any], Sequence[int | None]]:
    """`jax.vmap`: the batch gets an axis more, before those that it has.

    Runs that draw outcomes draw them anew for each element, also where no operand is of the batch.
    """
    if all(place is None for place in axes):
        if not operands and any_draws(params):
            number = jnp.int32(0)
            jaxpr = add_input(params["jaxpr"], 0, jax.typeof(number))
            operands, params = [number], {**params, "jaxpr": jaxpr}
        found = of_each_element(axis, operands, params)
        if found is None:
            results = primitive.bind(*operands, **params)
            return results, [None] * len(results)
        operands, axes = found
    note_batch()
    old = flags_of(params, len(operands))
    mapped = tuple((axis is not None, *flags) for axis, flags in zip(axes, old, strict=True))
    moved = [
        operand if axis is None else jnp.moveaxis(operand, axis, 0)
        for operand, axis in zip(operands, axes, strict=True)
    ]
    results = primitive.bind(*moved, **{**params, "mapped": mapped})
    return results, [0] * len(results)


def _several_runs_abstract_eval(
    *operands: Any, jaxpr: ClosedJaxpr, branches: Any = None, **batch: Any
) -> tuple[Sequence[Any], set[Any]]:
    return batched_avals(jaxpr.out_avals, operands, batch), set(jaxpr.effects)


several_runs_p = define_primitive(
    "several_runs",
    Role.CIRCUIT,
    Role.EXPANDED,
    construct="a QNode whose circuit is run several times",
    abstract_eval=_several_runs_abstract_eval,
    has_effects=True,
    rules={"vmap_of_axis": lambda *args, **params: one_more_axis(several_runs_p, *args, **params)},
    missing_rules={"transpose": "it is linear in nothing"},
    provided_rules=("jvp",),
)
"""All runs of a circuit, and what is made of them, as one equation: where `jax.vmap` looks on, or
where derivatives may be asked for; `branches` says what these are, if there are any."""


def over_missing_axes(value: Any, flags: Flags) -> Any:
    """The sum over the axes of a batch that an operand lacks: it is used in all of them."""
    missing = tuple(axis for axis, has in enumerate(flags) if not has)
    return jnp.sum(value, axis=missing) if missing else value


_AFTER_TRACING: dict[str, str] = dict.fromkeys(
    ("jvp", "transpose", "vmap"), "it replaces equations of a program that is traced"
)


@dataclass(frozen=True, eq=False)
class InLanes:
    """How a batch is computed, of whose elements so many go together (`autodiff.lanes`).

    `jaxpr` takes the operands of the whole batch and gives its results. Who reads programs reads
    what one element does: nobody but lowering looks in here.
    """

    lanes: int
    jaxpr: ClosedJaxpr

    def __repr__(self) -> str:
        return f"{self.lanes} elements at once"


def _parallel_map_abstract_eval(
    *operands: Any, jaxpr: ClosedJaxpr, mapped: Mapped, in_lanes: InLanes | None = None
) -> tuple[Sequence[Any], set[Any]]:
    avals = [aval.strip_weak_type() for aval in jaxpr.out_avals]
    return batched_avals(avals, operands, {"mapped": mapped}), set(jaxpr.effects)


parallel_map_p = define_primitive(
    "parallel_map",
    Role.BATCH,
    construct="vmap",
    abstract_eval=_parallel_map_abstract_eval,
    has_effects=True,
    missing_rules=_AFTER_TRACING,
)


def _concurrent_abstract_eval(
    *_: Any, branch_jaxprs: Sequence[ClosedJaxpr]
) -> tuple[Sequence[Any], set[Any]]:
    results = [aval for jaxpr in branch_jaxprs for aval in jaxpr.out_avals]
    return results, set[Any]().union(*(jaxpr.effects for jaxpr in branch_jaxprs))


concurrent_qnodes_p = define_primitive(
    "concurrent_qnodes",
    Role.CIRCUIT,
    construct="qjit(async_qnodes=True)",
    abstract_eval=_concurrent_abstract_eval,
    has_effects=True,
    missing_rules=_AFTER_TRACING,
)
