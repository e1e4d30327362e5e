"""Derivatives and batches of JAX's own loops and branches, which are ours from then on.

    jax.lax.while_loop      in reverse always (JAX refuses); `fori_loop` with traced bounds is one
    scan, while_loop, cond  where sizes are computed inside: JAX records regions once more without
                            regard to where a size is defined, and keeps arrays for the way back
                            whose sizes differ from one iteration to the next

`Ours` is the same as an equation of ours. Its operands are those given, in another order, and
constants; their positions tell them apart: operands that are equal may differ in their tangents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.autodiff.control_flow.batching import as_dims, chosen
from diastase.autodiff.control_flow.linearize import RULES as REVERSE_RULES
from diastase.capture.control_flow.branches import share_captured
from diastase.capture.regions import Region
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase.primitives.define import Rule
from diastase_mlir.jax_compat import (
    BatchAxis,
    Zero,
    batched,
    convert_outputs,
    forward_derivative,
    scan_counts,
    trace_to_jaxpr,
)

Pairs = Sequence[tuple[int | None, Any]]
"""Operands, each with its position among those that were given; None for a constant."""


@dataclass(frozen=True)
class Ours:
    """An equation of ours: its primitive, its operands and where among the given they were."""

    primitive: Any
    pairs: Pairs
    params: Mapping[str, Any]
    added: int = 0
    """How many results are before those of JAX's equation."""

    @property
    def operands(self) -> list[Any]:
        """The operands alone."""
        return [operand for _, operand in self.pairs]

    def bind(self) -> list[Any]:
        """Record it."""
        return list(self.primitive.bind(*self.operands, **self.params))[self.added :]

    def given(self, values: Sequence[Any], otherwise: Callable[[Any], Any]) -> list[Any]:
        """For each operand what `values` has for the given one, or something for a constant."""
        return [
            otherwise(operand) if position is None else values[position]
            for position, operand in self.pairs
        ]


def _constants(values: Sequence[Any]) -> Pairs:
    return [(None, value) for value in values]


AsOurs = Callable[[Sequence[Any], Mapping[str, Any]], Ours]


def _rules(name: str, as_ours: AsOurs) -> Mapping[tuple[str, str], Rule]:
    """The rules of a construct: those of ours."""

    def record(params: Mapping[str, Any]) -> Callable[..., list[Any]]:
        return lambda *values: as_ours(values, params).bind()

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return forward_derivative(record(params), primals, tangents)

    def batch(
        axis: BatchAxis, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> Any:
        results, flags = batched(axis, record(params), operands, dims)
        return results, as_dims(flags)

    def linearise(nonzeros: Sequence[bool], *operands: Any, **params: Any) -> Any:
        ours = as_ours(operands, params)
        rule = REVERSE_RULES[ours.primitive.name, "linearise"]
        moved = ours.given(nonzeros, lambda _: False)
        results, found, kept, linear = rule(moved, *ours.operands, **ours.params)

        def of_given(residuals: Sequence[Any], *tangents: Any) -> Sequence[Any]:
            return linear(residuals, *ours.given(tangents, _zero))[ours.added :]

        return results[ours.added :], found[ours.added :], kept, of_given

    return {(name, "jvp"): jvp, (name, "vmap_of_axis"): batch, (name, "linearise"): linearise}


def _zero(operand: Any) -> Any:
    return Zero(jax.typeof(operand).to_tangent_aval())


# --- the constructs -------------------------------------------------------------------------------


def _region(jaxpr: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """A jaxpr, with its constants as leading inputs: they are arrays that are known."""
    return trace_to_jaxpr(lambda *values: evaluated(jaxpr, values), jaxpr.in_avals, "lax")


def _while_loop(operands: Sequence[Any], params: Mapping[str, Any]) -> Ours:
    tested = params["cond_nconsts"]
    start = tested + params["body_nconsts"]
    if params["cond_jaxpr"].out_avals[0].shape:
        return _while_loop_of_a_batch(operands, params)
    test, more = _region(params["cond_jaxpr"])
    body, others = _region(params["body_jaxpr"])
    given = list(enumerate(operands))
    return Ours(
        while_loop_p,
        [*_constants(more), *given[:tested], *_constants(others), *given[tested:]],
        {
            "cond_jaxpr": test,
            "body_jaxpr": body,
            "cond_nconsts": len(more) + tested,
            "body_nconsts": len(others) + start - tested,
            "preserve_dimensions": True,
            "result_avals": tuple(params["body_jaxpr"].out_avals),
        },
    )


def _while_loop_of_a_batch(operands: Sequence[Any], params: Mapping[str, Any]) -> Ours:
    """A condition for each element: the flags of those that are not through are carried, too."""
    tested, start = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    (flags,), carried = test.out_avals, list(body.out_avals)
    goes_on = evaluated(test, [*operands[:tested], *operands[start:]])[0]

    def one(*values: Any) -> Sequence[Any]:
        constants, (active, *carry) = values[:start], values[start:]
        new = evaluated(body, [*constants[tested:], *carry])
        kept = [chosen(active, one, other) for one, other in zip(new, carry, strict=True)]
        return [active & evaluated(test, [*constants[:tested], *kept])[0], *kept]

    constants = [jax.typeof(operand) for operand in operands[:start]]
    jaxpr, more = trace_to_jaxpr(one, [*constants, flags, *carried], "lax")
    condition, _ = trace_to_jaxpr(lambda active, *_: [jnp.any(active)], [flags, *carried], "lax")
    given = list(enumerate(operands))
    return Ours(
        while_loop_p,
        [*_constants(more), *given[:start], (None, goes_on), *given[start:]],
        {
            "cond_jaxpr": condition,
            "body_jaxpr": convert_outputs(jaxpr, [flags, *carried]),
            "cond_nconsts": 0,
            "body_nconsts": len(more) + start,
            "preserve_dimensions": True,
            "result_avals": (flags, *carried),
        },
        added=1,
    )


def _scan(operands: Sequence[Any], params: Mapping[str, Any]) -> Ours:
    """Over the numbers of rows; what the body gives for each is put into arrays."""
    jaxpr, length = params["jaxpr"], params["length"]
    count, carries = scan_counts(params)
    start, results = count + carries, jaxpr.out_avals[carries:]
    stacks = [jnp.zeros((length, *aval.shape), aval.dtype) for aval in results]
    last = jnp.asarray(length, jnp.int64) - 1

    def one(*values: Any) -> Sequence[Any]:
        constants, stacked = values[:count], values[count : count + len(operands) - start]
        last, trip, *rest = values[count + len(stacked) :]
        carry, kept = rest[:carries], rest[carries:]
        place = last - trip if params["reverse"] else trip
        rows = [lax.dynamic_index_in_dim(array, place, 0, keepdims=False) for array in stacked]
        found = evaluated(jaxpr, [*constants, *carry, *rows])
        kept = [
            lax.dynamic_update_index_in_dim(array, row, place, 0)
            for array, row in zip(kept, found[carries:], strict=True)
        ]
        return [*found[:carries], *kept]

    carried = [*jaxpr.in_avals[count:start], *map(jax.typeof, stacks)]
    constants = [*operands[:count], *operands[start:], last]
    number = jax.typeof(jnp.int64(0))
    body, more = trace_to_jaxpr(one, [*map(jax.typeof, constants), number, *carried], "lax")
    given = list(enumerate(operands))
    fixed = _constants([last, jnp.int64(0), last + 1, jnp.int64(1)])
    first = [*_constants(more), *given[:count], *given[start:]]
    return Ours(
        for_loop_p,
        [*first, *fixed, *given[count:start], *_constants(stacks)],
        {
            "body_jaxpr": convert_outputs(body, carried),
            "body_nconsts": len(more) + len(constants),
            "apply_reverse_transform": False,
            "preserve_dimensions": True,
            "result_avals": tuple(carried),
        },
    )


def _cond(operands: Sequence[Any], params: Mapping[str, Any]) -> Ours:
    values = operands[1:]
    regions = [Region(jaxpr, tuple(more)) for jaxpr, more in map(_region, params["branches"])]
    shared, regions = share_captured(regions, values)
    index, *given = enumerate(operands)
    captured = _constants(shared[: len(shared) - len(values)])
    return Ours(
        switch_p,
        [index, *captured, *given],
        {
            "branch_jaxprs": tuple(region.jaxpr for region in regions),
            "result_avals": tuple(params["branches"][0].out_avals),
        },
    )


RULES: Mapping[tuple[str, str], Rule] = {
    **_rules("while", _while_loop),
    **_rules("scan", _scan),
    **_rules("cond", _cond),
}
