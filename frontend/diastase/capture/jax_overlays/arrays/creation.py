"""Arrays made of traced numbers: ranges and the like."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _arange(
    table: DimensionTable,
    original: Original,
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *others: Any,
    **keywords: Any,
) -> Any:
    """`arange` with traced numbers; of one integer, that is a size and must not be negative."""
    given = [value for value in (start, stop, step) if value is not None]
    if not any(isinstance(value, Tracer) or is_symbolic(value) for value in given):
        return original(start, stop, step, dtype, *others, **keywords)
    dtype = dtype or jnp.result_type(*(_as_value(value) for value in given))
    if not all(jnp.issubdtype(jnp.result_type(_as_value(value)), jnp.integer) for value in given):
        return _arange_of_values(table, *_range(start, stop, step), dtype)
    if stop is None and step is None and is_size_like(start):
        return jax.lax.iota(dtype, table.size(start))
    start, stop, step = (table.of(v) if is_size_like(v) else v for v in (start, stop, step))
    return original(start, stop, step, dtype, *others, **keywords)


def _range(start: Any, stop: Any, step: Any) -> tuple[Any, Any, Any]:
    """The arguments of a range, none of them left out."""
    start, stop = (0, start) if stop is None else (start, stop)
    return start, stop, 1 if step is None else step


def _arange_of_values(table: DimensionTable, start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """`arange` with numbers some of which are not integers: its size is computed from them."""
    start, stop, step = (jnp.asarray(value).astype(float) for value in (start, stop, step))
    count = jnp.maximum(jnp.ceil((stop - start) / step), 0).astype(int)
    positions = jax.lax.iota(dtype, table.size(count))
    return start.astype(dtype) + step.astype(dtype) * positions


def _as_value(value: Any) -> Any:
    """Something with the type that a size has in arithmetic: that of a Python integer."""
    return 0 if is_symbolic(value) else value


def _linspace(
    table: DimensionTable,
    original: Original,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **keywords: Any,
) -> Any:
    """`linspace` without JAX's case distinction by `num`."""
    if not is_symbolic(num):
        return original(start, stop, num, endpoint, retstep, dtype, axis, **keywords)
    start, stop = jnp.asarray(start), jnp.asarray(stop)
    inexact = jnp.result_type(start, stop, jnp.float32 if dtype is None else dtype)
    inexact = jnp.result_type(start, stop, float) if dtype is None else jnp.result_type(dtype)
    computed = inexact if jnp.issubdtype(inexact, jnp.inexact) else jnp.result_type(inexact, float)
    start, stop = jnp.broadcast_arrays(start.astype(computed), stop.astype(computed))
    intervals = jnp.asarray(num - 1 if endpoint else num)
    real = jnp.finfo(computed).dtype
    position = jax.lax.iota(real, num)
    fraction = (position / jnp.maximum(intervals, 1).astype(real)).astype(computed)
    fraction = fraction.reshape(-1, *(1,) * start.ndim)
    values = start * (1 - fraction) + stop * fraction
    if endpoint:  # exactly, whatever was lost in rounding
        last = (jnp.arange(num) == intervals) & (intervals > 0)
        values = jnp.where(last.reshape(-1, *(1,) * start.ndim), stop, values)
    if jnp.issubdtype(inexact, jnp.integer):
        values = jnp.floor(values)
    values = jnp.moveaxis(values.astype(inexact), 0, axis)
    if not retstep:
        return values
    return values, jnp.where(intervals > 0, (stop - start) / intervals, jnp.nan)


OVERLAYS: Overlays = {
    "arange": _arange,
    "linspace": _linspace,
}
