"""Loops in reverse: what they carried in each iteration, and how many iterations there were.

Going backwards, iteration `k` needs the values that the loop carried into it. Where their types
do not change on the way, a first loop, over the classical part only, keeps all of them in arrays.
Where they do (arrays that grow, random keys), each iteration computes them again from the start.

The trap: `trip_count` must be what the lowering of `for_loop` computes, for any bounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from diastase.primitives.control_flow import for_loop_p, while_loop_p
from diastase.tracing.resizing import FreshSizes, SizePattern, dimension_table, grouped
from diastase_mlir.jax_internals import is_extended, is_symbolic, symbol_of, trace_to_jaxpr

Forwards = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""Index and carried values -> the values carried next."""
Backwards = Callable[[Any, Sequence[Any], Any], Any]
"""Index, the values carried into this iteration, register -> register."""


@dataclass(frozen=True)
class Loop:
    """A loop to be undone."""

    bounds: tuple[Any, Any, Any]
    carry: Sequence[Any]
    """Initial values, without the register."""
    results: Sequence[Any]
    """The variables that the loop gave, without the register; they define its sizes."""
    forwards: Forwards
    backwards: Backwards
    in_reverse: bool = False
    """Whether it goes from the last index to the first: the loop of an adjoint, to be undone."""

    @property
    def pattern(self) -> SizePattern:
        """The axes of the carried values whose sizes change."""
        symbols = {
            name for variable in self.results for name, _ in dimension_table().named_axes(variable)
        }
        sizes = {
            (position, axis): size
            for position, variable in enumerate(self.results)
            for axis, size in enumerate(getattr(variable.aval, "shape", ()))
            if is_symbolic(size) and symbol_of(size) in symbols
        }
        return grouped(sizes)

    @property
    def can_be_kept(self) -> bool:
        """Whether the carried values of all iterations fit into arrays."""
        avals = [variable.aval for variable in self.results]
        return not self.pattern.groups and not any(is_extended(aval.dtype) for aval in avals)

    def fresh_types(self) -> FreshSizes:
        """The types of the carried values in a new place."""
        return self.pattern.fresh([variable.aval for variable in self.results])


def loop_backwards(loop: Loop, register: Any) -> Any:
    """Undo a loop: the register after it."""
    if not loop.carry:
        return _run(
            loop.bounds,
            [register],
            lambda index, register: [loop.backwards(index, (), register)],
            in_reverse=not loop.in_reverse,
        )[0]
    carried_at = _kept(loop) if loop.can_be_kept else _recomputed(loop)

    def back(index: Any, register: Any, trip: Any) -> Sequence[Any]:
        return [loop.backwards(index, carried_at(trip), register), trip - 1]

    last = trip_count(*loop.bounds) - 1
    return _run(loop.bounds, [register, last], back, in_reverse=not loop.in_reverse)[0]


def while_loop_as_counted(
    holds: Callable[[Sequence[Any]], Any],
    carry: Sequence[Any],
    results: Sequence[Any],
    forwards: Forwards,
    backwards: Backwards,
) -> Loop:
    """A loop with a condition as one over its number of iterations, which are counted first."""
    counted = Loop((0, 0, 1), carry, results, forwards, backwards)

    def region(function: Callable[..., Sequence[Any]]) -> tuple[Any, Sequence[Any]]:
        types = counted.fresh_types()

        def named(*arguments: Any) -> Sequence[Any]:
            types.name(arguments[1:])
            return function(*arguments)

        number = jax.typeof(jnp.int64(0))
        return trace_to_jaxpr(named, [number, *types.avals], "adjoint")

    test, tested = region(lambda _, *carried: [holds(carried)])
    body, captured = region(lambda trip, *carried: [trip + 1, *forwards(trip, carried)])
    types = counted.fresh_types()
    number, *final = while_loop_p.bind(
        *tested,
        *captured,
        jnp.int64(0),
        *carry,
        cond_jaxpr=test,
        body_jaxpr=body,
        cond_nconsts=len(tested),
        body_nconsts=len(captured),
        preserve_dimensions=False,
        result_avals=(jax.typeof(jnp.int64(0)), *types.avals),
    )
    types.name(final)
    return Loop((jnp.int64(0), number, jnp.int64(1)), carry, results, forwards, backwards)


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


# --- the values carried into an iteration ---------------------------------------------------------


def _kept(loop: Loop) -> Callable[[Any], Sequence[Any]]:
    """Run forwards once, and keep all that was carried."""
    number = trip_count(*loop.bounds)
    avals = [variable.aval for variable in loop.results]
    rows = [jnp.zeros((number, *aval.shape), aval.dtype) for aval in avals]

    def step(index: Any, trip: Any, *values: Any) -> Sequence[Any]:
        carried, kept = values[: len(avals)], values[len(avals) :]
        kept = [
            lax.dynamic_update_index_in_dim(array, value, trip, 0)
            for array, value in zip(kept, carried, strict=True)
        ]
        return [trip + 1, *loop.forwards(index, carried), *kept]

    carry = [value.astype(aval.dtype) for value, aval in zip(loop.carry, avals, strict=True)]
    start = [jnp.int64(0), *carry, *rows]
    results = _run(loop.bounds, start, step, in_reverse=loop.in_reverse)
    kept = results[1 + len(avals) :]
    return lambda trip: [lax.dynamic_index_in_dim(array, trip, 0, keepdims=False) for array in kept]


def _recomputed(loop: Loop) -> Callable[[Any], Sequence[Any]]:
    """Run forwards up to each iteration."""
    lower, _, step = map(jnp.asarray, loop.bounds)
    number = trip_count(*loop.bounds)

    def carried_at(trip: Any) -> Sequence[Any]:
        first = (number - trip).astype(step.dtype) * step if loop.in_reverse else 0
        bounds = lower + first, lower + first + trip.astype(step.dtype) * step, step
        entry, results = loop.fresh_types(), loop.fresh_types()

        def forwards(index: Any, *carried: Any) -> Sequence[Any]:
            entry.name(carried)
            return loop.forwards(index, carried)

        types = entry.avals, results.avals
        values = _run(bounds, loop.carry, forwards, types, in_reverse=loop.in_reverse)
        results.name(values)
        return values

    return carried_at


def _run(
    bounds: tuple[Any, Any, Any],
    carry: Sequence[Any],
    body: Callable[..., Sequence[Any]],
    types: tuple[Sequence[Any], Sequence[Any]] | None = None,
    *,
    in_reverse: bool = False,
) -> Sequence[Any]:
    """Record a loop; `types` of the carried values in its body and of its results, if they vary."""
    avals = [jax.typeof(value) for value in carry]
    inside, outside = types or (avals, avals)
    lower = jnp.asarray(bounds[0])
    jaxpr, captured = trace_to_jaxpr(body, [jax.typeof(lower), *inside], "adjoint")
    return for_loop_p.bind(
        *captured,
        lower,
        *map(jnp.asarray, bounds[1:]),
        *carry,
        body_jaxpr=jaxpr,
        body_nconsts=len(captured),
        apply_reverse_transform=in_reverse,
        preserve_dimensions=types is None,
        result_avals=tuple(outside),
    )
