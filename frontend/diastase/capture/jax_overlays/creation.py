"""Arrays made of sizes: ranges, window functions, frequencies, random keys and permutations.

JAX distinguishes cases by the size (one point, an even length, how often to shuffle). Here these
are formulas of the running program, or checks of it.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer, max_dim, min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays, with_sizes
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import deciding, is_symbolic


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


_ROUNDS_BEYOND = (1, 1625, 2642245, 2**32 - 1)
"""The sizes beyond which JAX shuffles once more: it sorts by keys of 32 bits as often as makes
it unlikely that two elements had equal keys every time, `ceil(3 log(size) / log(2**32 - 1))`."""


def _split(table: DimensionTable, original: Original, keys: Any, shape: Sequence[Any]) -> Any:
    """`jax.random.split(key, n)`, which takes its shape unseen."""
    return original(keys, shape=with_sizes(table, shape))


def _shuffle(_: DimensionTable, original: Original, key: Any, x: Any, axis: int) -> Any:
    """A permutation, by as many sorts as JAX would make for the size."""
    if not is_symbolic(x.size):
        return original(key, x, axis)
    size = jnp.asarray(x.size)
    rounds = sum((size > bound).astype(int) for bound in _ROUNDS_BEYOND)

    def sort(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        key, x = state
        key, subkey = jax.random.split(key)
        by = jax.random.bits(subkey, x.shape, "uint32")
        return key, jax.lax.sort_key_val(by, x, axis)[1]

    return jax.lax.fori_loop(0, rounds, sort, (key, x))[1]


def _choice(
    table: DimensionTable,
    original: Original,
    key: Any,
    a: Any,
    shape: Any = (),
    *args: Any,
    **keywords: Any,
) -> Any:
    """Draws from something that is not empty, unless nothing is drawn: checked at run time."""
    if isinstance(shape, Sequence):
        shape = with_sizes(table, shape)
    draws = math.prod(shape) if isinstance(shape, tuple) else 1

    def demand(inputs: Any, at_least: Any) -> bool:
        return table.demand(inputs, min_dim(at_least, draws))

    with deciding(demand):
        return original(key, a, shape, *args, **keywords)


def _window(table: DimensionTable, original: Original, M: Any, *args: Any, **keywords: Any) -> Any:
    """A window of one point is 1, where the formula for more divides by 0."""
    if not (is_size_like(M) or is_symbolic(M)):
        return original(M, *args, **keywords)
    size = table.size(M)
    general = original(max_dim(size, 2), *args, **keywords)
    return jnp.where(jnp.asarray(size) < 2, 1.0, general[:size])


def _rfftfreq(
    table: DimensionTable,
    original: Original,
    n: Any,
    d: Any = 1.0,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Frequencies up to half of a length, for which JAX asks whether it is even."""
    if not (is_size_like(n) or is_symbolic(n)):
        return original(n, d, dtype=dtype, device=device)
    size, dtype = table.size(n), dtype or float
    return jnp.arange(size // 2 + 1, dtype=dtype) / jnp.asarray(d * jnp.asarray(size), dtype)


OVERLAYS: Overlays = {
    "arange": _arange,
    "linspace": _linspace,
    "split": _split,
    "shuffle": _shuffle,
    "choice": _choice,
    "window": _window,
    "rfftfreq": _rfftfreq,
}
