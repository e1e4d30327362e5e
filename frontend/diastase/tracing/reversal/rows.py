"""What a loop carries, kept in arrays with a row for each iteration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from diastase.tracing.derivatives.dependence import carry_read
from diastase.tracing.derivatives.evaluation import evaluated
from diastase.tracing.reversal.loops import ForLoop, record_loop
from diastase_mlir.jax_internals import convert_outputs, is_extended, trace_to_jaxpr


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
