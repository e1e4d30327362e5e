"""Where JAX asks for a size and would refuse a traced integer: our answers, as a table.

Each overlay replaces one function inside JAX (`HookPoint` in `jax_internals`). It is called with
the trace's dimension table, JAX's own function and the arguments, and only in a thread that is
inside our tracing; everywhere else JAX's own function runs, unchanged.

The trap: JAX compares sizes with `==`, which is False (not an error) where it cannot be decided.
Functions that treat size 1 specially must therefore be overlaid, or refuse: `squeeze`, `linspace`.
"""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer, max_dim, min_dim

from diastase.errors import UndecidableDimensionError
from diastase.tracing.context import current_context
from diastase.tracing.dimensions import DimensionTable, is_size_like
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import HookPoint, deciding, hook, is_symbolic, lower_bound

Original = Callable[..., Any]
Overlay = Callable[..., Any]

_NUMBERS_THAT_ARE_SIZES = frozenset(
    {
        "'n' argument of jnp.diag_indices()",
        "'num' argument of jnp.logspace",
        "'num' argument of jnp.geomspace",
        "argument 'N' to jnp.vander()",
    }
)
"""Arguments for which JAX asks for a concrete integer, though a symbolic size would do."""


def _dimension(table: DimensionTable, original: Original, dimension: Any) -> Any:
    """An entry of any shape, given by the user or by JAX."""
    if is_size_like(dimension) or is_symbolic(dimension):
        return table.size(dimension)
    return original(dimension)


def _shape_check(
    _: DimensionTable,
    original: Original,
    function: str,
    argument: str,
    sizes: Any,
    non_zero_shape: bool = False,
) -> Any:
    """Sizes must not be negative: of the symbolic ones, that is checked at run time."""
    if not non_zero_shape:
        sizes = [size for size in sizes if not is_symbolic(size)]
    return original(function, argument, sizes, non_zero_shape)


def _size_argument(
    table: DimensionTable, original: Original, value: Any, *args: Any, **keywords: Any
) -> Any:
    """`num`, `length`, `num_classes`, ... of many functions."""
    return table.size(value) if is_size_like(value) else original(value, *args, **keywords)


def _number_argument(
    table: DimensionTable, original: Original, force: Any, value: Any, context: str = ""
) -> Any:
    """An argument that JAX wants as a concrete Python number."""
    if context in _NUMBERS_THAT_ARE_SIZES and (is_size_like(value) or is_symbolic(value)):
        return table.size(value)
    return original(force, value, context)


def _indices(table: DimensionTable, original: Original, indices: Sequence[Any], shape: Any) -> Any:
    """The index expressions of `a[...]`: traced slice bounds become expressions over sizes."""
    return original(tuple(_over_sizes(table, index) for index in indices), shape)


def _over_sizes(table: DimensionTable, index: Any) -> Any:
    if not isinstance(index, slice):
        return index
    parts = (index.start, index.stop, index.step)
    return slice(*(table.of(part) if is_size_like(part) else part for part in parts))


def _slice(table: DimensionTable, original: Original, index: slice, size: Any) -> Any:
    """Python's slice bounds over a size, as `(start, step, size of the result)`.

    `a[k:]` and `a[:-k]` both have the size `max(0, n - k)`, so that they can be subtracted.
    """
    step = 1 if index.step is None else index.step
    symbolic = any(is_symbolic(part) for part in (index.start, index.stop, size))
    if not symbolic or is_symbolic(step) or step <= 0:
        return original(index, size)
    start, stop = _bound(table, index.start, 0, size), _bound(table, index.stop, size, size)
    length = max_dim(0, stop - start)
    # The start of an empty result must lie inside the array, too.
    return min_dim(start, size), step, (length + step - 1) // step


def _bound(table: DimensionTable, bound: Any, default: Any, size: Any) -> Any:
    """A slice bound counted from the front: from 0 to `size`, a constant start unlimited."""
    if bound is None:
        return default
    if not is_symbolic(bound):
        bound = operator.index(bound)
    if lower_bound(bound) >= 0:
        unlimited = default == 0 and not is_symbolic(bound)
        return bound if unlimited else min_dim(bound, size)
    if lower_bound(-bound) > 0:
        return max_dim(0, size + bound)
    # The sign is not known, so Python's rule is computed at run time.
    value, length = jnp.asarray(bound), jnp.asarray(size)
    counted = jnp.clip(jnp.where(value < 0, value + length, value), 0, length)
    return table.of(counted)


def _arange(
    table: DimensionTable,
    original: Original,
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    **keywords: Any,
) -> Any:
    """`arange` with traced numbers; of one integer, that is a size and must not be negative."""
    given = [value for value in (start, stop, step) if value is not None]
    if not any(isinstance(value, Tracer) or is_symbolic(value) for value in given):
        return original(start, stop=stop, step=step, dtype=dtype, **keywords)
    dtype = dtype or jnp.result_type(*(_as_value(value) for value in given))
    if any(isinstance(value, Tracer) and not is_size_like(value) for value in given):
        return _arange_of_values(table, *_range(start, stop, step), dtype)
    convert = table.size if stop is None and step is None else table.of
    start, stop, step = (convert(v) if is_size_like(v) else v for v in (start, stop, step))
    return original(start, stop=stop, step=step, dtype=dtype, **keywords)


def _range(start: Any, stop: Any, step: Any) -> tuple[Any, Any, Any]:
    """The arguments of a range, none of them left out."""
    start, stop = (0, start) if stop is None else (start, stop)
    return start, stop, 1 if step is None else step


def _arange_of_values(table: DimensionTable, start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """`arange` with traced numbers that are not integers: its size is computed from them."""
    start, stop, step = (jnp.asarray(value) for value in (start, stop, step))
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


def _division(symbol: Callable[[Any, Any], Any]) -> Overlay:
    def overlay(
        table: DimensionTable,
        original: Original,
        left: Any,
        right: Any,
        *args: Any,
        **keywords: Any,
    ) -> Any:
        result = original(left, right, *args, **keywords)
        if is_size_like(result):
            table.note_division(result, symbol, left, right)
        return result

    return overlay


def _squeeze(_: DimensionTable, original: Original, a: Any, axis: Any = None) -> Any:
    """Without an axis the rank of the result would depend on which sizes are 1."""
    if axis is None and any(is_symbolic(size) for size in a.shape):
        raise UndecidableDimensionError(
            comparison=f"squeeze without an axis asks which of the sizes {a.shape} are 1",
            span=user_span(),
        )
    return original(a, axis)


def _reduction(table: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
    """`max` and others without a neutral element want at least one element: checked at run time."""
    with deciding(table.demand):
        return original(*args, **keywords)


def _repeat(
    table: DimensionTable, original: Original, repeats: Any, array: Any, **keywords: Any
) -> Any:
    """A traced number of repeats, the same for all elements, is a size."""
    repeats = table.size(repeats) if is_size_like(repeats) else repeats
    return original(repeats, array, **keywords)


def _tile(table: DimensionTable, original: Original, operand: Any, repeats: Any) -> Any:
    """Traced numbers of repeats are sizes."""
    return original(operand, [table.size(r) if is_size_like(r) else r for r in repeats])


def _searchsorted(
    table: DimensionTable,
    original: Original,
    a: Any,
    v: Any,
    *,
    side: str = "left",
    method: str | None = None,
    dtype: Any = None,
) -> Any:
    """Binary search; JAX's unrolls it, for a number of steps that depends on the size."""
    if not is_symbolic(a.shape[0]):
        return original(a, v, side=side, method=method, dtype=dtype)
    size = a.shape[0]
    # For arrays of any size that is likely, JAX has positions in 32 bits.
    dtype = jnp.int32
    table.demand(jnp.iinfo(dtype).max, size)
    belongs_after = jnp.less if side == "left" else jnp.less_equal

    def halve(interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        middle = low + (high - low) // 2
        open_interval = low < high
        after = belongs_after(a[jnp.clip(middle, 0, size - 1)], v) & open_interval
        return jnp.where(after, middle + 1, low), jnp.where(after | ~open_interval, high, middle)

    start = jnp.zeros(v.shape, dtype), jnp.full(v.shape, jnp.asarray(size, dtype))
    return jax.lax.while_loop(lambda interval: jnp.any(interval[0] < interval[1]), halve, start)[0]


def _length(_: DimensionTable, original: Original, sequence: Any) -> Any:
    """`len(array)` in JAX's own code; Python allows only numbers as a `len`."""
    shape: Sequence[Any] = getattr(sequence, "shape", ())
    return shape[0] if shape and is_symbolic(shape[0]) else original(sequence)


def _split(table: DimensionTable, original: Original, keys: Any, shape: Sequence[Any]) -> Any:
    """`jax.random.split(key, n)`, which takes its shape unseen."""
    return original(keys, shape=tuple(table.size(s) if is_size_like(s) else s for s in shape))


def _extreme(of_sizes: Callable[[Any, Any], Any]) -> Overlay:
    """`max` and `min` of Python in JAX's own code, which would choose while tracing."""

    def overlay(_: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
        if len(args) > 1 and any(is_symbolic(arg) for arg in args):
            return functools.reduce(of_sizes, args)
        return original(*args, **keywords)

    return overlay


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "dimension": _dimension,
    "size_argument": _size_argument,
    "number_argument": _number_argument,
    "shape_check": _shape_check,
    "tile": _tile,
    "indices": _indices,
    "slice": _slice,
    "arange": _arange,
    "linspace": _linspace,
    "floor_divide": _division(operator.floordiv),
    "remainder": _division(operator.mod),
    "squeeze": _squeeze,
    "reduction": _reduction,
    "repeat": _repeat,
    "searchsorted": _searchsorted,
    "split": _split,
    "length": _length,
    "largest": _extreme(max_dim),
    "smallest": _extreme(min_dim),
}
"""What replaces each function of JAX while we are tracing."""


def install_hooks() -> None:
    """Put the overlays in place, for good; `trace` does it once."""
    for point, overlay in OVERLAYS.items():
        hook(point, functools.partial(_guarded, overlay))


def _guarded(overlay: Overlay, original: Original) -> Original:
    """JAX's function outside of our tracing, the overlay inside."""

    @functools.wraps(original)
    def guarded(*args: Any, **keywords: Any) -> Any:
        context = current_context()
        if context is None:
            return original(*args, **keywords)
        return overlay(context.dimensions, original, *args, **keywords)

    return guarded
