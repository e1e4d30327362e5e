"""The reverse derivative of a loop: its iterations backwards, each a vector-Jacobian product.

The state that `jaxprs.loop_reversal` takes backwards are cotangents, and sums for the constants;
the body is computed again in each iteration. So memory is the carried values times the number of
iterations, whatever happens inside of the body; of these, only those that the derivative depends on
are kept, and if it depends on none (the loop is linear), there is no first loop. The cotangent of a
sum is the same in all iterations (`jaxprs.loop_carry`). Where that would be much memory, it is one
segment of the loop after the other (`loop_checkpointing`).

Cotangents added to a sum in place: `w[i]` in a loop has one element of `w` to add to.

JAX transposes the reading of a part of an array to an array of zeros with the part in it. To add
that to a sum in each iteration would make a loop over an array quadratic. `added` finds such an
array in the trace that has just recorded it, and adds the part only; the zeros are not read then.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from diastase.autodiff.control_flow.loop_checkpointing import in_segments, memory_of
from diastase.jaxprs.dependence import active_carry
from diastase.jaxprs.evaluate import evaluated
from diastase.jaxprs.loop_carry import sums
from diastase.jaxprs.loop_reversal import backwards_through
from diastase.jaxprs.loops import ForLoop
from diastase_mlir.jax_compat import (
    is_concrete,
    is_recorded,
    is_recorded_variable,
    tracer_equation,
    unwrap_tracer,
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


def added(total: Any, change: Any) -> Any:
    """`total + change`."""
    equation = _equation(change)
    if equation is None:
        return total + change
    name, operands = equation.primitive.name, equation.in_tracers
    if name == "add_any":
        return added(added(total, operands[0]), operands[1])
    if name == "dynamic_update_slice" and _is_zero(operands[0]):
        _, part, *start = operands
        before = lax.dynamic_slice_p.bind(total, *start, slice_sizes=part.shape)
        return lax.dynamic_update_slice_p.bind(total, before + part, *start)
    if name == "scatter-add" and _is_zero(operands[0]):
        return lax.scatter_add_p.bind(total, *operands[1:], **equation.params)
    return total + change


def _equation(value: Any) -> Any:
    value = unwrap_tracer(value)
    if not (isinstance(value, Tracer) and is_recorded(value) and is_recorded_variable(value)):
        return None
    return tracer_equation(value)


def _is_zero(value: Any) -> bool:
    """Whether an array is a number, nought, in all places."""
    equation = _equation(value)
    if equation is None or equation.primitive.name != "broadcast_in_dim":
        return False
    (number, *_) = equation.in_tracers
    if is_recorded(number):
        if is_recorded_variable(number):
            return False
        number = number.val.val
    return bool(jax.typeof(number).shape == () and np.asarray(number) == 0)
