"""The reverse derivative of a loop: forwards once more, then backwards through its iterations.

The first loop keeps what was carried into each iteration, in arrays with a row for each. The second
goes the other way and has the vector-Jacobian product of the body in each of its iterations, for
which the body is computed again. So memory is the carried values times the number of iterations,
whatever happens inside of the body; of these, only those that the derivative depends on are kept,
and if it depends on none (the loop is linear), there is no first loop. What counts iterations is
not kept but computed, and the cotangent of a sum is the same in all of them (`loop_carry`). Where
that would be much memory, it is one segment of the loop after the other (`loop_segments`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.tracing.derivatives.dependence import active_carry, without_unread
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.derivatives.loop_carry import counters, sums
from diastase.tracing.derivatives.loop_rows import ForLoop, Rows, bound, kept_rows
from diastase.tracing.derivatives.loop_segments import in_segments, memory_of
from diastase.tracing.derivatives.sums import added
from diastase_mlir.jax_internals import (
    convert_outputs,
    is_concrete,
    select_inputs,
    trace_to_jaxpr,
)


def loop_cotangent(
    operands: Sequence[Any],
    cotangents: Sequence[Any],
    settings: Mapping[str, Any],
    wanted: Sequence[int],
    found: Sequence[int],
) -> list[Any]:
    """The gradient by the operands in `wanted`, of the results in `found` with these cotangents."""
    loop = ForLoop.read(operands, settings)
    count, start = len(loop.constants), len(loop.constants) + 3
    constants = [position for position in wanted if position < count]
    given = [position - start for position in wanted if position >= start]
    carried = sorted(active_carry(loop.body, constants, given))
    weights = dict(zip(found, cotangents, strict=True))
    trips = loop.trips()
    if is_concrete(trips) and not trips:  # nothing may be read of arrays without rows
        return [weights.get(position - start, _zeros(operands[position])) for position in wanted]
    rows = [Rows(value, trips) for value in loop.carry]
    by_carried = {
        position: weights.get(position, _zeros(loop.carry[position])) for position in carried
    }
    totals = sums(loop.body, loop.first) & set(carried)
    fixed = {position: by_carried[position] for position in totals}
    carried = [position for position in carried if position not in fixed]
    jaxpr, captured, needed = _backward_body(loop, rows, constants, carried, fixed)
    if not loop.is_segmented and memory_of(loop, needed).may_be_large(trips):
        segments = in_segments(loop, memory_of(loop, needed).iterations(), trips)
        return loop_cotangent(
            segments.operands, cotangents, segments.settings, segments.places(wanted), found
        )
    results = bound(
        jaxpr,
        [*captured, *kept_rows(loop, rows, needed)],
        loop.bounds,
        [
            jnp.asarray(trips, jnp.int64) - 1,
            *(_zeros(loop.constants[position]) for position in constants),
            *(by_carried[position] for position in carried),
        ],
        in_reverse=not loop.in_reverse,
    )[1:]
    places = [*constants, *(start + position for position in carried)]
    by_operand = dict(zip(places, results, strict=True))
    by_operand |= {start + position: weight for position, weight in fixed.items()}
    return [by_operand[position] for position in wanted]


def _zeros(value: Any) -> Any:
    aval = jax.typeof(value)
    return jnp.zeros(aval.shape, aval.dtype)


def _backward_body(
    loop: ForLoop,
    rows: Sequence[Rows],
    constants: Sequence[int],
    carried: Sequence[int],
    fixed: Mapping[int, Any],
) -> tuple[ClosedJaxpr, list[Any], set[int]]:
    """The body of the loop backwards, what it captures, and which of the carry it reads.

    `[*captured, *rows, index, trip, *sums, *cotangents] -> [trip, *sums, *cotangents]`
    `fixed`: cotangents, by position, that are the same in each iteration.
    """
    first, count = loop.first, len(loop.carry)
    places = [*constants, *(first + position for position in carried)]
    counted = counters(loop.body, first)
    weighted = [*carried, *fixed]

    def step(*arguments: Any) -> Sequence[Any]:
        arrays, (index, trip, *rest) = arguments[:count], arguments[count:]
        sums, weights = rest[: len(constants)], rest[len(constants) :]
        carry = [
            _counted(loop.carry[position], counted[position], trip)
            if position in counted
            else kind.row(array, trip)
            for position, (kind, array) in enumerate(zip(rows, arrays, strict=True))
        ]
        inputs = [*loop.constants, index, *carry]

        def function(*moved: Any) -> Sequence[Any]:
            values = dict(enumerate(inputs)) | dict(zip(places, moved, strict=True))
            results = evaluated(loop.body, list(values.values()))
            return [results[position] for position in weighted]

        _, pull = jax.vjp(function, *(inputs[place] for place in places))
        changes = pull([*weights, *fixed.values()])
        totals = [added(old, new) for old, new in zip(sums, changes, strict=False)]
        return [trip - 1, *totals, *changes[len(constants) :]]

    arrays = [kind.aval() for kind in rows]
    entries = [
        *(jax.typeof(_zeros(loop.constants[position])) for position in constants),
        *(jax.typeof(_zeros(loop.carry[position])) for position in carried),
    ]
    trip = jax.typeof(jnp.int64(0))
    types = [*arrays, jax.typeof(loop.bounds[0]), trip, *entries]
    jaxpr, captured = trace_to_jaxpr(step, types, "derivative")
    jaxpr = convert_outputs(jaxpr, [trip, *entries])
    avals = jaxpr.in_avals
    jaxpr, inputs = without_unread(jaxpr, range(len(jaxpr.out_avals)))
    start = len(captured)
    needed = {position - start for position in inputs if start <= position < start + count}
    # All that is no row is taken, read or not.
    order = [*range(start), *(start + k for k in sorted(needed)), *range(start + count, len(avals))]
    places_of = {position: place for place, position in enumerate(order)}
    jaxpr = select_inputs(
        jaxpr, [places_of[position] for position in inputs], [avals[k] for k in order]
    )
    return jaxpr, captured, needed


def _counted(start: Any, step: int, trip: Any) -> Any:
    """What a counter is in an iteration; it wraps around as it does when it is added up."""
    dtype = jax.typeof(start).dtype
    each = np.asarray(step % (1 << 64), np.uint64).astype(dtype)
    more = lax.convert_element_type(trip, dtype) * each
    return jnp.asarray(start) + more
