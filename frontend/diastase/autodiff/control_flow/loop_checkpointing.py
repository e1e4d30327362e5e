"""Long loops in segments, so that the way back needs little memory.

    for k in range(n): body        for s in range(segments):
                              ->       for k in range(s * length, min((s + 1) * length, n)): body

In reverse, the loop over segments keeps what is carried into each of them, and each segment, when
its turn comes, what is carried into each of its iterations. So that is a number of segments and one
segment's rows, for one more run forwards (but for the last segment). Rows of few megabytes
stay in the cache, so it is faster, too, than to keep all rows of a loop that is long enough.

A segment is as long as `_KEPT` bytes of rows allow. Loops whose number of iterations is not known
are taken so if a row is large enough to matter; a loop that is short then has one segment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr

from diastase.jaxprs.evaluate import evaluated
from diastase.jaxprs.loops import ForLoop
from diastase.primitives.control_flow import for_loop_p
from diastase_mlir.jax_compat import convert_outputs, is_extended, is_symbolic, trace_to_jaxpr

_KEPT = 64 << 20
"""Bytes of the rows of one segment."""
_SHORTEST = 32
"""Iterations of a segment, however large a row is."""
_LARGE_ROW = 4096
"""Bytes of a row from which on loops of unknown length are worth the larger program."""


@dataclass(frozen=True)
class RowMemory:
    """The bytes that are kept for each iteration: a number, or an expression over sizes."""

    row: Any

    def may_be_large(self, trips: Any) -> bool:
        """Whether so many iterations may be more than a segment."""
        if is_symbolic(self.row):
            return not isinstance(trips, int) or trips > _SHORTEST
        if isinstance(trips, int):
            return trips > self.iterations()
        return self.row >= _LARGE_ROW

    def iterations(self) -> Any:
        """The length of a segment."""
        if is_symbolic(self.row):
            return jnp.maximum(_KEPT // jnp.maximum(jnp.asarray(self.row, jnp.int64), 1), _SHORTEST)
        return max(_KEPT // max(self.row, 1), _SHORTEST)


def memory_of(loop: ForLoop, kept: Iterable[int]) -> RowMemory:
    """What it takes to keep these of the carried values for an iteration."""
    avals = [jax.typeof(loop.carry[position]) for position in kept]
    return RowMemory(sum(aval.size * _item_size(aval) for aval in avals))


def _item_size(aval: Any) -> int:
    return 16 if is_extended(aval.dtype) else aval.dtype.itemsize


@dataclass(frozen=True)
class Segments:
    """The equation of the loop over segments."""

    operands: list[Any]
    settings: Mapping[str, Any]
    constants: int
    """How many constants the loop has itself; the others are behind them."""
    added: int

    def places(self, wanted: Sequence[int]) -> list[int]:
        """Where operands of the loop are among these."""
        return [
            position if position < self.constants else position + self.added for position in wanted
        ]


def in_segments(loop: ForLoop, length: Any, trips: Any) -> Segments:
    """A loop as a loop over segments of so many iterations, at least one segment."""
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
    bounds = jnp.int64(0), number, jnp.int64(1)
    return Segments(
        [*operands, *bounds, *loop.carry],
        _settings(loop, convert_outputs(jaxpr, inside), len(operands), "segments"),
        count,
        len(added),
    )


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
