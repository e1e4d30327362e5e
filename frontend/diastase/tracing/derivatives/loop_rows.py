"""What a loop carries, kept in arrays with a row for each iteration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.primitives.control_flow import for_loop_p
from diastase.tracing.adjoint.history import trip_count
from diastase.tracing.derivatives.dependence import carry_read
from diastase.tracing.derivatives.evaluation import evaluated
from diastase_mlir.jax_internals import (
    convert_outputs,
    is_concrete,
    is_extended,
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
    is_segmented: bool = False
    """Whether it is a segment of a loop, or the loop over segments."""
    is_over_segments: bool = False

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
            settings.get("part") is not None,
            settings.get("part") == "segments",
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
    results = bound(jaxpr, captured, bounds, start, in_reverse=loop.in_reverse)
    arrays = list(results[1 + len(needed) :])
    if not loop.is_over_segments:
        return arrays
    last = dict(zip(needed, results[1:], strict=False))
    return [
        rows[position].with_row(array, results[0], last[position])
        for position, array in zip(kept, arrays, strict=True)
    ]


def bound(
    body: ClosedJaxpr,
    captured: Sequence[Any],
    bounds: tuple[Any, Any, Any],
    carry: Sequence[Any],
    *,
    in_reverse: bool,
) -> Sequence[Any]:
    """Record a loop whose carried values keep their types."""
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
