"""Batches of directions: `jax.vmap` over the tangents of `jax.jvp`, as in `jax.jacfwd`.

The function is evaluated at one point, along many directions. So what it gives that depends on no
tangent is one value, also where it is drawn; `jax.jacfwd` and `jax.hessian` rely on it.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from diastase_mlir.jax_compat.private import batching, core


class _Directions(threading.local):
    axes: tuple[Any, ...] = ()


_directions = _Directions()


@contextmanager
def along_directions(primals: Sequence[Any], tangents: Sequence[Any]) -> Generator[None]:
    """While a function is differentiated: if only tangents are of the batch, it is of directions.

    Asked of the innermost transformation; any other batch stays what it is.
    """
    trace, outer = core.trace_ctx.trace, _directions.axes
    if isinstance(trace, batching.BatchTrace) and not any(_is_of(trace, v) for v in primals):
        if any(_is_of(trace, value) for value in tangents):
            _directions.axes = (*outer, trace.axis_data)
    try:
        yield
    finally:
        _directions.axes = outer


def is_of_directions(axis: Any) -> bool:
    """Whether the batch under way along this axis is one of directions."""
    return any(axis is other for other in _directions.axes)


def _is_of(trace: Any, value: Any) -> bool:
    return trace.to_batch_info(value)[1] is not None
