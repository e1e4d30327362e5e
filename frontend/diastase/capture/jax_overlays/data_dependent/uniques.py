"""`unique` and its relatives for any size of array, with a size of result that only the run knows.

The algorithm is JAX's (sort, compare neighbours), so order and the meaning of NaN and of negative
zero are. A result of a given `size` is written, not read, so an empty array has one, too.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from diastase.capture.jax_overlays.data_dependent.compaction import (
    compact,
    is_dynamic,
    number_of,
    positions_of,
)
from diastase.capture.jax_overlays.overlay import Original, Overlays
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
    columns = rows.reshape(size, number_of(rest))
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


OVERLAYS: Overlays = {"unique": _unique}
