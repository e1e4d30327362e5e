"""Operations on sets: what `unique` alone does not make of them for arrays of any size."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.capture.jax_overlays.data_dependent.compaction import (
    compact,
    is_dynamic,
    positions_of,
)
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import is_symbolic


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


OVERLAYS: Overlays = {
    "in1d": _in1d,
    "setdiff1d": _setdiff1d,
    "setxor1d": _setxor1d,
    "intersect1d_size": _intersect1d_size,
}
