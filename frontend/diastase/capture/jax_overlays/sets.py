"""`unique`, operations on sets, and binary search in arrays of any size.

The algorithm of `unique` is JAX's (sort, compare neighbours), so order and the meaning of NaN and
of negative zero are. A result of a given `size` is written, not read, so an empty array has one,
too. Binary search is a loop; JAX's is unrolled, for a number of steps that depends on the size.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import max_dim

from diastase.capture.jax_overlays.masks import compact, positions_of
from diastase.capture.jax_overlays.overlay import Original, Overlays, is_dynamic
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _unique(
    table: DimensionTable,
    original: Original,
    ar: Any,
    axis: int,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    equal_nan: bool = True,
    size: Any = None,
    fill_value: Any = None,
    return_true_size: bool = False,
) -> Any:
    """What `jnp.unique` calls: the values, then what else is asked for."""
    if not (size is None or is_symbolic(size) or is_size_like(size) or is_dynamic(ar.shape)):
        return original(
            ar, axis, return_index, return_inverse, return_counts, equal_nan=equal_nan,
            size=size, fill_value=fill_value, return_true_size=return_true_size,
        )  # fmt: skip
    rows = jnp.moveaxis(ar, axis, 0)
    if jnp.issubdtype(rows.dtype, jnp.complexfloating):
        # As JAX: NaN in either part is one value, which sorts last.
        rows = jnp.where(jnp.isnan(rows), jnp.asarray(jnp.nan, rows.dtype), rows)
    order = _order(rows)
    rows = rows[order]
    first = _differs_from_last(rows, equal_nan)
    if size is None:
        chosen = positions_of(table, first)
        values, count = rows[chosen], chosen.shape[0]
    else:
        count = table.size(size)
        chosen = compact(jnp.arange(first.shape[0]), first, count, 0)
        # Without a filler there must be a value to repeat: checked where it is read.
        values = rows[chosen] if fill_value is None else compact(rows, first, count, fill_value)
    results = [jnp.moveaxis(values, 0, axis)]
    number = jnp.cumsum(first, dtype=int) - 1
    if return_index:
        # Filled up with the place of the first value; of an empty array there is none.
        results.append(
            order[chosen] if size is None else compact(order, first, count, jnp.sum(order[:1]))
        )
    if return_inverse:
        results.append(jnp.zeros(order.shape, int).at[order].set(number))
    if return_counts:
        results.append(jnp.zeros(count, int).at[number].add(1, mode="drop"))
    if return_true_size:
        results.append(jnp.sum(first))
    return results[0] if len(results) == 1 else tuple(results)


def _order(rows: Any) -> Any:
    """The stable order of the rows, by their first element, then by their second, ..."""
    size, *rest = rows.shape
    columns = rows.reshape(size, math.prod(rest))
    if not is_symbolic(columns.shape[1]):
        keys = [columns[:, index] for index in range(columns.shape[1])]
        return jnp.lexsort(keys[::-1]) if keys else jnp.arange(size)
    last = columns.shape[1] - 1

    def by_one_more(step: Any, order: Any) -> Any:
        column = lax.dynamic_index_in_dim(columns, last - step, axis=1, keepdims=False)
        return order[jnp.argsort(column[order], stable=True)]

    return jax.lax.fori_loop(0, columns.shape[1], by_one_more, jnp.arange(size))


def _differs_from_last(rows: Any, equal_nan: bool) -> Any:
    """For each row of a sorted array whether it is not the one before it."""
    after, before = rows[1:], rows[:-1]
    differs = after != before
    if equal_nan and jnp.issubdtype(rows.dtype, jnp.inexact):
        differs &= ~(jnp.isnan(after) & jnp.isnan(before))
    new = jnp.any(differs, axis=tuple(range(1, rows.ndim)))
    return jnp.ones(rows.shape[0], bool).at[1:].set(new)


def _in1d(
    _: DimensionTable,
    original: Original,
    ar1: Any,
    ar2: Any,
    invert: bool,
    method: str = "auto",
    assume_unique: bool = False,
) -> Any:
    """Which elements of the one are in the other; JAX's faster methods read from it, if empty."""
    if not is_dynamic((*np.shape(ar1), *np.shape(ar2))) or method in ("auto", "compare_all"):
        return original(ar1, ar2, invert, method=method, assume_unique=assume_unique)
    one, other = _promoted(ar1, ar2)
    if method not in ("binary_search", "sort"):
        raise ValueError(f"{method=} is not implemented")
    other = jnp.sort(other)
    size = other.shape[0]
    where = jnp.searchsorted(other, one)
    padded = jnp.concatenate([other, jnp.zeros(1, other.dtype)])
    found = (padded[where] == one) & (where < size)
    return ~found if invert else found


def _promoted(ar1: Any, ar2: Any) -> tuple[Any, Any]:
    dtype = jnp.result_type(ar1, ar2)
    return jnp.asarray(ar1, dtype).ravel(), jnp.asarray(ar2, dtype).ravel()


def _setdiff1d(
    table: DimensionTable,
    original: Original,
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    if size is not None and not is_dynamic((*np.shape(ar1), *np.shape(ar2))):
        return original(ar1, ar2, assume_unique, size=size, fill_value=fill_value)
    one, other = jnp.ravel(jnp.asarray(ar1)), jnp.ravel(jnp.asarray(ar2))
    if not assume_unique:
        one = jnp.unique(one)
    left = jnp.isin(one, other, invert=True)
    if size is None:
        return one[positions_of(table, left)]
    return compact(one, left, table.size(size), 0 if fill_value is None else fill_value)


def _setxor1d(
    table: DimensionTable,
    original: Original,
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    if size is not None and not is_dynamic((*np.shape(ar1), *np.shape(ar2))):
        return original(ar1, ar2, assume_unique, size=size, fill_value=fill_value)
    one, other = _promoted(ar1, ar2)
    if not assume_unique:
        one, other = jnp.unique(one), jnp.unique(other)
    both = jnp.sort(jnp.concatenate([one, other]))
    differs = both[1:] != both[:-1]
    alone = jnp.ones(both.shape, bool).at[1:].set(differs)
    alone &= jnp.ones(both.shape, bool).at[:-1].set(differs)
    if size is None:
        return both[positions_of(table, alone)]
    return _sized(table, both, alone, size, fill_value)


def _sized(table: DimensionTable, values: Any, chosen: Any, size: Any, fill_value: Any) -> Any:
    """Of a given size; without a filler, padded with the least value, as JAX does."""
    if fill_value is None:
        positions = jnp.arange(values.shape[0])
        first = jnp.min(jnp.where(chosen, positions, values.shape[0]), initial=values.shape[0])
        padded = jnp.concatenate([values, jnp.zeros(1, values.dtype)])
        fill_value = jnp.where(jnp.any(chosen), padded[first], jnp.zeros((), values.dtype))
    return compact(values, chosen, table.size(size), fill_value)


def _intersect1d_size(
    table: DimensionTable,
    original: Original,
    arr1: Any,
    arr2: Any,
    fill_value: Any,
    assume_unique: bool,
    size: Any,
    return_indices: bool,
) -> Any:
    """`intersect1d(size=)`, whose indices are padded with the size of the array."""
    if not (is_dynamic((*arr1.shape, *arr2.shape)) or is_symbolic(size)):
        return original(
            arr1, arr2, fill_value=fill_value, assume_unique=assume_unique,
            size=size, return_indices=return_indices,
        )  # fmt: skip
    sizes = arr1.shape[0], arr2.shape[0]
    index1, index2 = jnp.arange(sizes[0]), jnp.arange(sizes[1])
    if not assume_unique:
        arr1, index1 = jnp.unique(arr1, return_index=True)
        arr2, index2 = jnp.unique(arr2, return_index=True)
    both = jnp.concatenate([arr1, arr2])
    order = jnp.argsort(both, stable=True)
    values = both[order]
    common = values[1:] == values[:-1]
    size = table.size(size)
    results = _sized(table, values[:-1], common, size, fill_value)
    if not return_indices:
        return results
    places1 = jnp.concatenate([index1, index2])[order[:-1]]
    places2 = jnp.concatenate([index1, index2])[order[1:]]
    return (
        results,
        compact(places1, common, size, sizes[0]),
        compact(places2, common, size, sizes[1]),
    )


def _searchsorted(
    table: DimensionTable,
    original: Original,
    a: Any,
    v: Any,
    *,
    side: str = "left",
    method: str | None = None,
    dtype: Any = None,
    **others: Any,
) -> Any:
    """Binary search; JAX's is a loop of arrays, as many as its steps, which the size must tell."""
    size = a.shape[0]
    is_fit = not is_symbolic(size) and 0 < size <= jnp.iinfo(jnp.int32).max
    if is_fit and not others and method in _BY_HALVING:
        return _halving_search(a, v, side).astype(dtype or jnp.int32)
    if others or not is_symbolic(size):
        return original(a, v, side=side, method=method, dtype=dtype, **others)
    # For arrays of any size that is likely, JAX has positions in 32 bits.
    dtype = jnp.int32
    table.demand(jnp.iinfo(dtype).max, size)

    def belongs_after(element: Any) -> Any:
        return _belongs_after(element, v, side)

    def halve(interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        middle = low + (high - low) // 2
        open_interval = low < high
        after = belongs_after(a[jnp.clip(middle, 0, size - 1)]) & open_interval
        return jnp.where(after, middle + 1, low), jnp.where(after | ~open_interval, high, middle)

    start = jnp.zeros(v.shape, dtype), jnp.full(v.shape, jnp.asarray(size, dtype))
    return jax.lax.while_loop(lambda interval: jnp.any(interval[0] < interval[1]), halve, start)[0]


_BY_HALVING = (None, "default", "scan", "scan_unrolled")
"""Names of JAX's for a binary search."""


def _halving_search(a: Any, v: Any, side: str) -> Any:
    """Binary search in an array of known size: each element takes its steps in registers.

    The steps are the same for all elements; they are fused, so no array is made in between.
    """
    start, left = jnp.zeros(v.shape, jnp.int32), a.shape[0]

    def after(place: Any) -> Any:
        element = a.at[place].get(mode="promise_in_bounds", wrap_negative_indices=False)
        return _belongs_after(element, v, side)

    while left > 1:
        half = left // 2
        start = jnp.where(after(start + (half - 1)), start + half, start)
        left -= half
    return start + after(start).astype(jnp.int32)


def _belongs_after(element: Any, v: Any, side: str) -> Any:
    """Whether the place of `v` is after an element."""
    return _sorts_before(element, v) if side == "left" else ~_sorts_before(v, element)


def _sorts_before(left: Any, right: Any) -> Any:
    """Whether `left` comes before `right` in the order of `jnp.sort`: NaNs are equal and last."""
    if jnp.iscomplexobj(left):
        less, greater = (
            _sorts_before(jnp.real(one), jnp.real(other))
            for one, other in ((left, right), (right, left))
        )
        return less | (~greater & _sorts_before(jnp.imag(left), jnp.imag(right)))
    return (left < right) | (jnp.isnan(right) & ~jnp.isnan(left))


def _digitize(
    _: DimensionTable,
    original: Original,
    x: Any,
    bins: Any,
    right: bool = False,
    *,
    method: str | None = None,
) -> Any:
    """Bins may fall, or be none at all, where JAX looks at the first and the last one."""
    x, bins = jnp.asarray(x), jnp.asarray(bins)
    if bins.ndim != 1 or not is_symbolic(bins.shape[0]):
        return original(x, bins, right, method=method)
    size = bins.shape[0]
    not_empty = jnp.concatenate([bins, jnp.zeros(1, bins.dtype)])
    options: dict[str, Any] = {"side": "left" if right else "right"}
    options |= {} if method is None else {"method": method}
    return jnp.where(
        not_empty[jnp.asarray(max_dim(size - 1, 0))] >= not_empty[0],
        jnp.searchsorted(bins, x, **options),
        size - jnp.searchsorted(bins[::-1], x, **options),
    )


OVERLAYS: Overlays = {
    "unique": _unique,
    "in1d": _in1d,
    "setdiff1d": _setdiff1d,
    "setxor1d": _setxor1d,
    "intersect1d_size": _intersect1d_size,
    "searchsorted": _searchsorted,
    "digitize": _digitize,
}
