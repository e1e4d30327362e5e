"""The reverse derivative of a loop: its iterations backwards, each a vector-Jacobian product.

The state that `tracing.reversal` takes backwards are cotangents, and sums for the constants; the
body is computed again in each iteration. So memory is the carried values times the number of
iterations, whatever happens inside of the body; of these, only those that the derivative depends on
are kept, and if it depends on none (the loop is linear), there is no first loop. The cotangent of a
sum is the same in all iterations (`loop_carry`). Where that would be much memory, it is one segment
of the loop after the other (`loop_segments`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.tracing.derivatives.dependence import active_carry
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.derivatives.loop_carry import sums
from diastase.tracing.derivatives.loop_segments import in_segments, memory_of
from diastase.tracing.derivatives.sums import added
from diastase.tracing.reversal.backwards import backwards_through
from diastase.tracing.reversal.loops import ForLoop
from diastase_mlir.jax_internals import is_concrete


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
    by_carried = {
        position: weights.get(position, _zeros(loop.carry[position])) for position in carried
    }
    totals = sums(loop.body, loop.first) & set(carried)
    fixed = {position: by_carried[position] for position in totals}
    carried = [position for position in carried if position not in fixed]
    weighted = [*carried, *fixed]
    moved = [*constants, *(loop.first + position for position in carried)]

    def step(inputs: Sequence[Any], state: Sequence[Any]) -> Sequence[Any]:
        sums, weights = state[: len(constants)], state[len(constants) :]

        def function(*values: Any) -> Sequence[Any]:
            known = dict(enumerate(inputs)) | dict(zip(moved, values, strict=True))
            results = evaluated(loop.body, list(known.values()))
            return [results[position] for position in weighted]

        _, pull = jax.vjp(function, *(inputs[place] for place in moved))
        changes = pull([*weights, *fixed.values()])
        totals = [added(old, new) for old, new in zip(sums, changes, strict=False)]
        return [*totals, *changes[len(constants) :]]

    types = [jax.typeof(_zeros(operands[position])) for position in constants]
    types += [jax.typeof(_zeros(loop.carry[position])) for position in carried]
    back = backwards_through(loop, trips, step, types)
    memory = memory_of(loop, back.needed)
    if not loop.is_segmented and memory.may_be_large(trips):
        segments = in_segments(loop, memory.iterations(), trips)
        return loop_cotangent(
            segments.operands, cotangents, segments.settings, segments.places(wanted), found
        )
    results = back.run(
        [
            *(_zeros(loop.constants[position]) for position in constants),
            *(by_carried[position] for position in carried),
        ]
    )
    places = [*constants, *(start + position for position in carried)]
    by_operand = dict(zip(places, results, strict=True))
    by_operand |= {start + position: weight for position, weight in fixed.items()}
    return [by_operand[position] for position in wanted]


def _zeros(value: Any) -> Any:
    aval = jax.typeof(value)
    return jnp.zeros(aval.shape, aval.dtype)
