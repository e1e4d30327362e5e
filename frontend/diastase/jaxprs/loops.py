"""Loops as data; how often they go round; loops recorded.

The trap: `trip_count` must be what the lowering of `for_loop` computes, for any bounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.capture.dynamic_carry import FreshSizes
from diastase.primitives.control_flow import for_loop_p, while_loop_p
from diastase_mlir.jax_compat import is_concrete, trace_to_jaxpr


@dataclass(frozen=True)
class ForLoop:
    """The operands and parameters of a `for_loop` without registers."""

    body: ClosedJaxpr
    constants: tuple[Any, ...]
    bounds: tuple[Any, Any, Any]
    carry: tuple[Any, ...]
    in_reverse: bool
    is_segmented: bool = False
    """Whether it is a segment of a loop, or the loop over segments."""
    is_over_segments: bool = False

    @classmethod
    def read(cls, operands: Sequence[Any], settings: Mapping[str, Any]) -> "ForLoop":
        """Take an equation apart."""
        count = settings["body_nconsts"]
        lower, upper, step = operands[count : count + 3]
        return cls(
            settings["body_jaxpr"],
            tuple(operands[:count]),
            (lower, upper, step),
            tuple(operands[count + 3 :]),
            settings["apply_reverse_transform"],
            settings.get("part") is not None,
            settings.get("part") == "segments",
        )

    @property
    def first(self) -> int:
        """The position of the first carried value among the inputs of the body."""
        return len(self.constants) + 1

    def trips(self) -> Any:
        """How often it goes round: a number if the bounds are numbers."""
        if all(map(is_concrete, self.bounds)):
            lower, upper, step = map(int, self.bounds)
            return len(range(lower, upper, step)) if step else 0
        return trip_count(*self.bounds)


def trip_count(lower: Any, upper: Any, step: Any) -> jax.Array:
    """`len(range(lower, upper, step))`; 0 for a step of 0."""
    lower, upper, step = (jnp.asarray(bound) for bound in (lower, upper, step))
    down = step < 0
    first, last = jnp.where(down, upper, lower), jnp.where(down, lower, upper)
    stride = jnp.where(step == 0, 1, jnp.where(down, -step, step)).astype(jnp.uint64)
    # As an unsigned number the distance fits 64 bits, whatever the signs of the bounds.
    distance = last.astype(jnp.uint64) - first.astype(jnp.uint64) - jnp.uint64(1)
    trips = lax.div(distance, stride).astype(jnp.int64) + 1
    return jnp.where((first < last) & (step != 0), trips, 0)


def number_of_turns(
    holds: Callable[[Sequence[Any]], Any],
    forwards: Callable[[Sequence[Any]], Sequence[Any]],
    carry: Sequence[Any],
    fresh_types: Callable[[], FreshSizes],
) -> tuple[Any, Sequence[Any]]:
    """How often a loop with a condition goes round, and what it carries at the end: in one run.

    `fresh_types`: of the carried values, in a new place.
    """
    number = jax.typeof(jnp.int64(0))

    def region(function: Callable[..., Sequence[Any]]) -> tuple[ClosedJaxpr, Sequence[Any]]:
        types = fresh_types()

        def named(*arguments: Any) -> Sequence[Any]:
            types.name(arguments[1:])
            return function(*arguments)

        return trace_to_jaxpr(named, [number, *types.avals], "while_loop")

    test, tested = region(lambda _, *carried: [holds(carried)])
    body, captured = region(lambda trip, *carried: [trip + 1, *forwards(carried)])
    types = fresh_types()
    turns, *final = while_loop_p.bind(
        *tested,
        *captured,
        jnp.int64(0),
        *carry,
        cond_jaxpr=test,
        body_jaxpr=body,
        cond_nconsts=len(tested),
        body_nconsts=len(captured),
        preserve_dimensions=not types.defining,
        result_avals=(number, *types.avals),
    )
    types.name(final)
    return turns, final


def record_loop(
    body: ClosedJaxpr,
    captured: Sequence[Any],
    bounds: tuple[Any, Any, Any],
    carry: Sequence[Any],
    *,
    in_reverse: bool,
    result_avals: Sequence[Any] | None = None,
) -> Sequence[Any]:
    """Record a loop; `result_avals` where the carried values do not keep their types."""
    return for_loop_p.bind(
        *captured,
        *bounds,
        *carry,
        body_jaxpr=body,
        body_nconsts=len(captured),
        apply_reverse_transform=in_reverse,
        preserve_dimensions=result_avals is None,
        result_avals=tuple(result_avals or body.out_avals),
    )
