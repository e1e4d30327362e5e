"""Control flow as data: operands of loops, how often loops go round, equations recorded.

The trap: `trip_count` must be what the lowering of `for_loop` computes, for any bounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.control_flow.branches import share_captured
from diastase.capture.dynamic_carry import FreshSizes
from diastase.capture.regions import Region
from diastase.primitives.control_flow import for_loop_p, switch_p, while_loop_p
from diastase_mlir.jax_compat import is_concrete, trace_to_jaxpr


@dataclass(frozen=True)
class LoopOperands:
    """The operands of a `for_loop` or `while_loop`, or what there is one of for each of them."""

    tested: Sequence[Any]
    """Constants of the condition; a `for_loop` has none."""
    constants: Sequence[Any]
    """Of the body."""
    bounds: Sequence[Any]
    """Lower, upper, step; a `while_loop` has none."""
    carry: Sequence[Any]

    @classmethod
    def read(cls, operands: Sequence[Any], params: Mapping[str, Any]) -> "LoopOperands":
        """Take an equation apart."""
        tested = params.get("cond_nconsts", 0)
        start = tested + params["body_nconsts"]
        first = start + (0 if "cond_jaxpr" in params else 3)
        parts = slice(tested), slice(tested, start), slice(start, first), slice(first, None)
        return cls(*(operands[part] for part in parts))

    def record(
        self,
        params: Mapping[str, Any],
        body: ClosedJaxpr,
        result_avals: Sequence[Any],
        condition: ClosedJaxpr | None = None,
    ) -> list[Any]:
        """Record a loop with these parameters, but for its body, condition and types."""
        changed: dict[str, Any] = {"body_jaxpr": body, "body_nconsts": len(self.constants)}
        if condition is not None:
            changed |= {"cond_jaxpr": condition, "cond_nconsts": len(self.tested)}
        primitive = for_loop_p if condition is None else while_loop_p
        operands = [*self.tested, *self.constants, *self.bounds, *self.carry]
        return primitive.bind(
            *operands, **{**params, **changed, "result_avals": tuple(result_avals)}
        )


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
        at, part = LoopOperands.read(operands, settings), settings.get("part")
        lower, upper, step = at.bounds
        return cls(
            settings["body_jaxpr"],
            tuple(at.constants),
            (lower, upper, step),
            tuple(at.carry),
            settings["apply_reverse_transform"],
            part is not None,
            part == "segments",
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


def known_trips(equation: Any) -> int | None:
    """How often a `for_loop` goes round, if its bounds are numbers."""
    indices = _known_indices(equation)
    return None if indices is None else len(indices)


def known_range(equation: Any) -> tuple[int, int] | None:
    """The least and the largest index of a `for_loop`; None where they are not known."""
    indices = _known_indices(equation)
    return (min(indices[0], indices[-1]), max(indices[0], indices[-1])) if indices else None


def _known_indices(equation: Any) -> range | None:
    bounds = LoopOperands.read(equation.invars, equation.params).bounds
    if not all(isinstance(bound, Literal) for bound in bounds):
        return None
    lower, upper, step = (int(bound.val) for bound in bounds)
    return range(lower, upper, step) if step else range(0)


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
    loop = LoopOperands(tested, captured, [], [jnp.int64(0), *carry])
    params = {"preserve_dimensions": not types.defining}
    turns, *final = loop.record(params, body, [number, *types.avals], test)
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
    params = {"apply_reverse_transform": in_reverse, "preserve_dimensions": result_avals is None}
    loop = LoopOperands([], captured, bounds, carry)
    return loop.record(params, body, result_avals or body.out_avals)


def record_switch(
    index: Any,
    branches: Sequence[tuple[ClosedJaxpr, Sequence[Any]]],
    operands: Sequence[Any],
    result_avals: Sequence[Any],
) -> list[Any]:
    """Record a choice between jaxprs, each with what it captures, of the same operands."""
    regions = [Region(jaxpr, tuple(captured)) for jaxpr, captured in branches]
    shared, regions = share_captured(regions, operands)
    jaxprs = tuple(region.jaxpr for region in regions)
    return switch_p.bind(index, *shared, branch_jaxprs=jaxprs, result_avals=tuple(result_avals))
