"""The reverse derivative of a loop: forwards once more, then backwards through its iterations.

The first loop keeps what was carried into each iteration, in arrays with a row for each. The second
goes the other way and has the vector-Jacobian product of the body in each of its iterations, for
which the body is computed again. So memory is the carried values times the number of iterations,
whatever happens inside of the body; of these, only those that the derivative depends on are kept,
and if it depends on none (the loop is linear), there is no first loop. What counts iterations is
not kept but computed, and the cotangent of a sum is the same in all of them (`loop_carry`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.primitives.control_flow import for_loop_p
from diastase.tracing.adjoint.history import trip_count
from diastase.tracing.derivatives.dependence import active_carry, carry_read, without_unread
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.derivatives.loop_carry import counters, sums
from diastase.tracing.derivatives.sums import added
from diastase_mlir.jax_internals import (
    convert_outputs,
    is_concrete,
    is_extended,
    select_inputs,
    trace_to_jaxpr,
)


@dataclass(frozen=True)
class ForLoop:
    """The operands and parameters of a `for_loop` without registers."""

    body: ClosedJaxpr
    constants: tuple[Any, ...]
    bounds: tuple[Any, Any, Any]
    carry: tuple[Any, ...]
    in_reverse: bool

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
    rows = [_Rows(value, trips) for value in loop.carry]
    by_carried = {
        position: weights.get(position, _zeros(loop.carry[position])) for position in carried
    }
    totals = sums(loop.body, loop.first) & set(carried)
    fixed = {position: by_carried[position] for position in totals}
    carried = [position for position in carried if position not in fixed]
    jaxpr, captured, needed = _backward_body(loop, rows, constants, carried, fixed)
    results = _bind(
        jaxpr,
        [*captured, *_kept(loop, rows, needed)],
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


@dataclass(frozen=True)
class _Rows:
    """An array with a row for what is carried into each iteration; random keys as numbers."""

    example: Any
    trips: Any

    def empty(self) -> Any:
        """The array, before the loop."""
        value = self._number(self.example)
        return jnp.zeros((self.trips, *value.shape), value.dtype)

    def with_row(self, array: Any, trip: Any, value: Any) -> Any:
        """The array with one more value."""
        return lax.dynamic_update_index_in_dim(
            array, self._number(value), trip, 0, allow_negative_indices=False
        )

    def row(self, array: Any, trip: Any) -> Any:
        """What was carried into an iteration."""
        number = lax.dynamic_index_in_dim(
            array, trip, 0, keepdims=False, allow_negative_indices=False
        )
        if not is_extended(jax.typeof(self.example).dtype):
            return number
        return jax.random.wrap_key_data(number, impl=jax.random.key_impl(self.example))

    def _number(self, value: Any) -> Any:
        extended = is_extended(jax.typeof(value).dtype)
        return jax.random.key_data(value) if extended else jnp.asarray(value)


def _backward_body(
    loop: ForLoop,
    rows: Sequence[_Rows],
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

    arrays = [jax.typeof(kind.empty()) for kind in rows]
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
    more = lax.convert_element_type(trip, dtype) * np.asarray(step).astype(dtype)
    return jnp.asarray(start) + more


def _kept(loop: ForLoop, rows: Sequence[_Rows], wanted: set[int]) -> list[Any]:
    """The loop forwards: arrays of what was carried into each iteration, of those wanted."""
    if not wanted:
        return []
    pruned, inputs, needed = carry_read(loop.body, wanted)
    kept = sorted(wanted)

    def step(index: Any, trip: Any, *values: Any) -> Sequence[Any]:
        carry, arrays = values[: len(needed)], values[len(needed) :]
        by_position = dict(zip(needed, carry, strict=True))
        operands = [*loop.constants, index]
        known = dict(enumerate(operands)) | {loop.first + k: v for k, v in by_position.items()}
        results = evaluated(pruned, [known[position] for position in inputs])
        arrays = [
            rows[position].with_row(array, trip, by_position[position])
            for position, array in zip(kept, arrays, strict=True)
        ]
        return [trip + 1, *results, *arrays]

    start = [
        jnp.int64(0),
        *(loop.carry[position] for position in needed),
        *(rows[position].empty() for position in kept),
    ]
    inside = [loop.body.in_avals[loop.first + position] for position in needed]
    types = [
        jax.typeof(start[0]),
        *inside,
        *(jax.typeof(array) for array in start[1 + len(needed) :]),
    ]
    jaxpr, captured = trace_to_jaxpr(step, [jax.typeof(loop.bounds[0]), *types], "derivative")
    jaxpr = convert_outputs(jaxpr, types)
    results = _bind(jaxpr, captured, loop.bounds, start, in_reverse=loop.in_reverse)
    return list(results[1 + len(needed) :])


def _bind(
    body: ClosedJaxpr,
    captured: Sequence[Any],
    bounds: tuple[Any, Any, Any],
    carry: Sequence[Any],
    *,
    in_reverse: bool,
) -> Sequence[Any]:
    return for_loop_p.bind(
        *captured,
        *bounds,
        *carry,
        body_jaxpr=body,
        body_nconsts=len(captured),
        apply_reverse_transform=in_reverse,
        preserve_dimensions=True,
        result_avals=tuple(body.out_avals),
    )
