"""Loops undone: `tracing.reversal` with the register for its state.

Where the types of carried values change on the way (arrays that grow), no rows can hold them, and
each iteration computes again, from the start, what was carried into it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from diastase.tracing.resizing import SizePattern, dimension_table, grouped
from diastase.tracing.reversal.backwards import backwards_through
from diastase.tracing.reversal.loops import ForLoop, record_loop, trip_count
from diastase_mlir.jax_internals import is_concrete, is_symbolic, symbol_of, trace_to_jaxpr

Values = Sequence[Any]
Evaluate = Callable[[ClosedJaxpr, Values], Values]


def size_pattern(results: Sequence[Any]) -> SizePattern:
    """The axes of carried values whose sizes change; `results`: the variables that define them."""
    symbols = {name for variable in results for name, _ in dimension_table().named_axes(variable)}
    sizes = {
        (position, axis): size
        for position, variable in enumerate(results)
        for axis, size in enumerate(getattr(variable.aval, "shape", ()))
        if is_symbolic(size) and symbol_of(size) in symbols
    }
    return grouped(sizes)


def undo_loop(
    loop: ForLoop,
    results: Sequence[Any],
    undo: Callable[[Values, Any], Any],
    evaluate: Evaluate,
    register: Any,
) -> Any:
    """The register before a loop; `undo`: of an iteration, by the inputs that its body had.

    `results`: the variables that the loop gave, without the register. `evaluate` is for bodies over
    sizes that are others by now.
    """
    trips = loop.trips() if loop.carry else None
    if is_concrete(trips) and trips == 0:  # nothing may be read of arrays without rows
        return register
    again = None
    if size_pattern(results).groups:
        again = _computed_again(loop, results, evaluate)

    def step(inputs: Values, state: Values) -> Values:
        return [undo(inputs, state[0])]

    return backwards_through(loop, trips, step, [jax.typeof(register)], again).run([register])[0]


def _computed_again(
    loop: ForLoop, results: Sequence[Any], evaluate: Evaluate
) -> Callable[[Any], Values]:
    """Run forwards up to each iteration."""
    lower, _, step = map(jnp.asarray, loop.bounds)
    number, pattern = trip_count(*loop.bounds), size_pattern(results)
    avals = [variable.aval for variable in results]

    def carried_into(trip: Any) -> Values:
        first = (number - trip).astype(step.dtype) * step if loop.in_reverse else 0
        bounds = lower + first, lower + first + trip.astype(step.dtype) * step, step
        entry, after = pattern.fresh(avals), pattern.fresh(avals)

        def forwards(index: Any, *carried: Any) -> Values:
            entry.name(carried)
            return evaluate(loop.body, [*loop.constants, index, *carried])

        body, captured = trace_to_jaxpr(forwards, [jax.typeof(lower), *entry.avals], "adjoint")
        values = record_loop(
            body, captured, bounds, loop.carry, in_reverse=loop.in_reverse, result_avals=after.avals
        )
        after.name(values)
        return values

    return carried_into
