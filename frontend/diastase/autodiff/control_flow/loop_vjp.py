"""The reverse derivative of a loop: its iterations backwards, each a vector-Jacobian product.

The state that `jaxprs.loop_reversal` takes backwards are cotangents, and sums for the constants;
the body is computed again in each iteration. So memory is the carried values times the number of
iterations, whatever happens inside of the body; of these, only those that the derivative depends on
are kept, and if it depends on none (the loop is linear), there is no first loop.

Checkpointing: where the residuals would be much memory, the loop is taken in segments,

    for k in range(n): body        for s in range(segments):
                              ->       for k in range(s * length, min((s + 1) * length, n)): body

and in reverse the loop over segments keeps what is carried into each of them, and each segment,
when its turn comes, what is carried into each of its iterations, for one more run forwards (but for
the last segment). A segment is as long as `_KEPT` bytes of residuals allow, which stay in the
cache, so that it is faster, too, than to keep all residuals of a loop that is long enough.

The trap: JAX transposes the reading of a part of an array (`w[i]`) to an array of zeros with the
part in it, and to add that in each iteration would make a loop over an array quadratic. `_added`
finds such an array in the trace that has just recorded it, and adds the part only, in place.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

from diastase.jaxprs.control_flow import ForLoop
from diastase.jaxprs.dependence import active_carry
from diastase.jaxprs.evaluate import evaluated, pullback
from diastase.jaxprs.loop_reversal import backwards_through, sums
from diastase.primitives.control_flow import for_loop_p
from diastase_mlir.jax_compat import (
    convert_outputs,
    is_concrete,
    is_extended,
    is_recorded,
    is_recorded_variable,
    is_symbolic,
    trace_to_jaxpr,
    tracer_equation,
    unwrap_tracer,
)

_KEPT = 64 << 20
"""Bytes of the rows of one segment."""
_SHORTEST = 32
"""Iterations of a segment, however large a row is."""
_LARGE_ROW = 4096
"""Bytes of a row from which on loops of unknown length are worth the larger program."""


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
        pull = pullback(partial(evaluated, loop.body), inputs, moved, weighted)
        changes = pull([*weights, *fixed.values()])
        totals = [_added(old, new) for old, new in zip(sums, changes, strict=False)]
        return [*totals, *changes[len(constants) :]]

    types = [jax.typeof(_zeros(operands[position])) for position in constants]
    types += [jax.typeof(_zeros(loop.carry[position])) for position in carried]
    back = backwards_through(loop, trips, step, types)
    row = _bytes_of_row(loop, back.needed)
    if not loop.is_segmented and _may_be_large(row, trips):
        segments, settings = _in_segments(loop, _segment_length(row), trips)
        added = len(segments) - len(operands)
        places = [position if position < count else position + added for position in wanted]
        return loop_cotangent(segments, cotangents, settings, places, found)
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


# --- checkpointing --------------------------------------------------------------------------------


def _bytes_of_row(loop: ForLoop, kept: Iterable[int]) -> Any:
    """What these of the carried values take for an iteration: a number, or one of sizes."""
    avals = [jax.typeof(loop.carry[position]) for position in kept]
    return sum(aval.size * _item_size(aval) for aval in avals)


def _item_size(aval: Any) -> int:
    return 16 if is_extended(aval.dtype) else aval.dtype.itemsize


def _may_be_large(row: Any, trips: Any) -> bool:
    """Whether so many iterations may be more than a segment."""
    if is_symbolic(row):
        return not isinstance(trips, int) or trips > _SHORTEST
    return trips > _segment_length(row) if isinstance(trips, int) else row >= _LARGE_ROW


def _segment_length(row: Any) -> Any:
    """The iterations of a segment."""
    if is_symbolic(row):
        return jnp.maximum(_KEPT // jnp.maximum(jnp.asarray(row, jnp.int64), 1), _SHORTEST)
    return max(_KEPT // max(row, 1), _SHORTEST)


def _in_segments(loop: ForLoop, length: Any, trips: Any) -> tuple[list[Any], Mapping[str, Any]]:
    """Operands and parameters of a loop over segments of so many iterations, at least one segment.

    Constants that it has more than the loop itself are behind those of the loop.
    """
    trips = jnp.asarray(trips, jnp.int64)
    length = jnp.asarray(length, jnp.int64)
    number = jnp.maximum((trips + length - 1) // length, 1)
    lower, _, step = loop.bounds
    added = [lower, step, trips, length]
    count = len(loop.constants)

    def segment(*values: Any) -> Sequence[Any]:
        constants, (lower, step, trips, length, place, *carry) = values[:count], values[count:]
        first = place * length
        body, captured = _body_of_segment(loop, (trips, first))
        assert not captured, "a segment takes all that it reads as operands"
        more = [*constants, lower, step, trips, first]
        bounds = jnp.int64(0), jnp.minimum(length, trips - first), jnp.int64(1)
        settings = _settings(loop, body, len(more), "segment")
        return for_loop_p.bind(*more, *bounds, *carry, **settings)

    inside = loop.body.in_avals[loop.first :]
    operands = [*loop.constants, *added]
    types = [*map(jax.typeof, operands), jax.typeof(number), *inside]
    jaxpr, captured = trace_to_jaxpr(segment, types, "derivative")
    assert not captured, "a segment takes all that it reads as operands"
    settings = _settings(loop, convert_outputs(jaxpr, inside), len(operands), "segments")
    return [*operands, jnp.int64(0), number, jnp.int64(1), *loop.carry], settings


def _body_of_segment(loop: ForLoop, numbers: Sequence[Any]) -> tuple[ClosedJaxpr, Sequence[Any]]:
    """`[*constants, lower, step, trips, first, k, *carry]`: the body of iteration `first + k`."""
    count, index = len(loop.constants), loop.body.in_avals[len(loop.constants)]

    def one(*values: Any) -> Sequence[Any]:
        constants, (lower, step, trips, first, trip, *carry) = values[:count], values[count:]
        done = trips - 1 - first - trip if loop.in_reverse else first + trip
        place = lower + lax.convert_element_type(done, index.dtype) * step
        return evaluated(loop.body, [*constants, place, *carry])

    number = jax.typeof(jnp.int64(0))
    bounds = [jax.typeof(loop.bounds[0]), jax.typeof(loop.bounds[2])]
    inside = loop.body.in_avals[loop.first :]
    types = [*map(jax.typeof, loop.constants), *bounds, *map(jax.typeof, numbers), number, *inside]
    jaxpr, captured = trace_to_jaxpr(one, types, "derivative")
    return convert_outputs(jaxpr, inside), captured


def _settings(loop: ForLoop, body: ClosedJaxpr, constants: int, part: str) -> dict[str, Any]:
    return {
        "body_jaxpr": body,
        "body_nconsts": constants,
        "apply_reverse_transform": False,
        "preserve_dimensions": True,
        "result_avals": tuple(loop.body.in_avals[loop.first :]),
        "part": part,
    }


# --- cotangents added in place --------------------------------------------------------------------


def _added(total: Any, change: Any) -> Any:
    """`total + change`."""
    equation = _equation(change)
    if equation is None:
        return total + change
    name, operands = equation.primitive.name, equation.in_tracers
    if name == "add_any":
        return _added(_added(total, operands[0]), operands[1])
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
