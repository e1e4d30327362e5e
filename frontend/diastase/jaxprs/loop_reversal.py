"""A loop gone through backwards, in each iteration with what was carried into it.

A first loop goes forwards and keeps residuals, an array (`Rows`) of what is carried into each
iteration, but only of what the steps back read; if they read none, there is no first loop. Where no
arrays can hold what is carried (its sizes change), each iteration computes it again from the start.
Two kinds of carried values are never kept:

    counters    integers to which each iteration adds the same number: known from the iteration's
    sums        values to which each iteration adds something that does not depend on them, and
                that nothing else reads: their cotangent is the same in every iteration
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, typeof
from jax.extend.core import ClosedJaxpr, Literal

from diastase.jaxprs.control_flow import ForLoop, record_loop
from diastase.jaxprs.dependence import carry_read, without_unread
from diastase.jaxprs.evaluate import evaluated
from diastase_mlir.jax_compat import convert_outputs, is_extended, select_inputs, trace_to_jaxpr


@dataclass(frozen=True)
class Rows:
    """An array with a row for what is carried into each iteration; random keys as numbers."""

    example: Any
    trips: Any

    def empty(self) -> Any:
        """The array, before the loop."""
        value = self._number(self.example)
        return jnp.zeros((self.trips, *value.shape), value.dtype)

    def aval(self) -> Any:
        """The type of the array."""
        if not isinstance(self.trips, int):
            return jax.typeof(self.empty())
        aval = jax.typeof(self._number(self.example)).strip_weak_type()
        return aval.update(shape=(self.trips, *aval.shape))

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


def kept_rows(loop: ForLoop, rows: Sequence[Rows], wanted: set[int]) -> list[Any]:
    """The loop forwards: arrays of what was carried into each iteration, of those wanted.

    What the last segment of a loop gives is not asked for, so that one is not run.
    """
    if not wanted:
        return []
    lower, upper, step_size = loop.bounds
    bounds = (lower, upper - 1 if loop.is_over_segments else upper, step_size)
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
    results = record_loop(jaxpr, captured, bounds, start, in_reverse=loop.in_reverse)
    arrays = list(results[1 + len(needed) :])
    if not loop.is_over_segments:
        return arrays
    last = dict(zip(needed, results[1:], strict=False))
    return [
        rows[position].with_row(array, results[0], last[position])
        for position, array in zip(kept, arrays, strict=True)
    ]


Values = Sequence[Any]
Step = Callable[[Values, Values], Values]
"""The inputs that the body had in an iteration, and a state -> the state before."""


@dataclass(frozen=True)
class Backwards:
    """The loop backwards: `[*captured, *rows, index, *state, trip] -> [*state, trip]`.

    A register comes first in what is carried. Nobody asks for the number of an iteration (`trip`)
    where the loop carries nothing, and there is none.
    """

    loop: ForLoop
    trips: Any
    rows: Sequence[Rows]
    body: ClosedJaxpr
    captured: list[Any]
    needed: set[int]
    """Which of the carried values the steps read, so that their rows are kept."""

    def run(self, state: Values) -> list[Any]:
        """Go through it."""
        loop = self.loop
        last = [jnp.asarray(self.trips, jnp.int64) - 1] if loop.carry else []
        operands = [*self.captured, *kept_rows(loop, self.rows, self.needed)]
        start, backwards = [*state, *last], not loop.in_reverse
        results = record_loop(self.body, operands, loop.bounds, start, in_reverse=backwards)
        return list(results[: len(state)])


def backwards_through(
    loop: ForLoop,
    trips: Any,
    step: Step,
    kinds: Values,
    again: Callable[[Any], Values] | None = None,
) -> Backwards:
    """Trace the steps; `kinds` are the types of the state.

    `trips`: how often the loop goes round, once at least. `again`: what computes the carried values
    of an iteration, by its number, where they are not to be kept.
    """
    rows = [Rows(value, trips) for value in loop.carry] if again is None else []
    first, count = loop.first, len(rows)
    counted = counters(loop.body, first)

    def carried_into(trip: Any, arrays: Values) -> Values:
        if again is not None:
            return again(trip)
        return [
            _counted(loop.carry[position], counted[position], trip)
            if position in counted
            else kind.row(array, trip)
            for position, (kind, array) in enumerate(zip(rows, arrays, strict=True))
        ]

    def turn(*arguments: Any) -> Values:
        arrays, (index, *old) = arguments[:count], arguments[count:]
        if not loop.carry:
            return step([*loop.constants, index], old)
        *old, trip = old
        inputs = [*loop.constants, index, *carried_into(trip, arrays)]
        return [*step(inputs, old), trip - 1]

    after = [*kinds, *([typeof(jnp.int64(0))] if loop.carry else [])]
    types = [*(kind.aval() for kind in rows), typeof(loop.bounds[0]), *after]
    jaxpr, captured = trace_to_jaxpr(turn, types, "backwards")
    jaxpr = convert_outputs(jaxpr, after)
    avals = jaxpr.in_avals
    jaxpr, inputs = without_unread(jaxpr, range(len(jaxpr.out_avals)))
    start = len(captured)
    needed = {position - start for position in inputs if start <= position < start + count}
    # All that is no row is taken, read or not.
    order = [*range(start), *(start + k for k in sorted(needed)), *range(start + count, len(avals))]
    places = {position: place for place, position in enumerate(order)}
    jaxpr = select_inputs(
        jaxpr, [places[position] for position in inputs], [avals[k] for k in order]
    )
    return Backwards(loop, trips, rows, jaxpr, captured, needed)


def _counted(start: Any, each: int, trip: Any) -> Any:
    """What a counter is in an iteration; it wraps around as it does when it is added up."""
    dtype = typeof(start).dtype
    step = np.asarray(each % (1 << 64), np.uint64).astype(dtype)
    return jnp.asarray(start) + lax.convert_element_type(trip, dtype) * step


# --- carried values that are not kept -------------------------------------------------------------


_SUMS = ("add", "add_any")


def counters(body: ClosedJaxpr, first: int) -> dict[int, int]:
    """By position in the carry, which begins with input `first`: what is added each time."""
    made = _made_by(body)
    found: dict[int, int] = {}
    for position, result in enumerate(body.jaxpr.outvars):
        start, step, atom = body.jaxpr.invars[first + position], 0, result
        if not _is_integer(start.aval):
            continue
        while not isinstance(atom, Literal) and atom is not start:
            equation = made.get(atom)
            number = None if equation is None else _added_number(equation)
            if number is None:
                break
            step, atom = step + number[0], number[1]
        if atom is start:
            found[position] = step
    return found


def _added_number(equation: Any) -> tuple[int, Any] | None:
    """A number, and to what an equation adds it."""
    if equation.primitive.name != "add":
        return None
    one, other = equation.invars
    if isinstance(one, Literal):
        one, other = other, one
    return (int(other.val), one) if isinstance(other, Literal) else None


def _is_integer(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "i" and aval.shape == ()


def sums(body: ClosedJaxpr, first: int) -> set[int]:
    """Positions in the carry, which begins with input `first`."""
    made, jaxpr = _made_by(body), body.jaxpr
    atoms = [atom for equation in jaxpr.eqns for atom in equation.invars]
    uses = Counter(id(atom) for atom in [*atoms, *jaxpr.outvars] if not isinstance(atom, Literal))
    found: set[int] = set()
    for position, result in enumerate(jaxpr.outvars):
        start, pending = jaxpr.invars[first + position], [result]
        while pending:
            atom = pending.pop()
            if isinstance(atom, Literal) or uses[id(atom)] != 1 or atom.aval != start.aval:
                continue
            equation = made.get(atom)
            if atom is start:
                found.add(position)
            elif equation is not None and equation.primitive.name in _SUMS:
                pending += equation.invars
    return found


def _made_by(body: ClosedJaxpr) -> Mapping[Any, Any]:
    return {variable: equation for equation in body.jaxpr.eqns for variable in equation.outvars}
