"""What overlays are made of: their types, and questions that many of them ask about sizes."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic, lower_bound

Original = Callable[..., Any]
"""The function of JAX that an overlay replaces."""

Overlay = Callable[..., Any]
"""Called as `overlay(dimension_table, original, *args, **keywords)`."""

Overlays = Mapping[str, Overlay]
"""By keys of `OVERLAID`, the table of what is replaced (`jax_compat.patches`)."""


def with_sizes(table: DimensionTable, values: Sequence[Any]) -> tuple[Any, ...]:
    """These values, traced integers among them as sizes."""
    return tuple(table.size(value) if is_size_like(value) else value for value in values)


def require_equal(table: DimensionTable, found: Any, expected: Any) -> None:
    """Two sizes must be equal: checked when the program runs, if it is not known."""
    if not _surely_equal(found, expected):
        table.demand(found, expected)
        table.demand(expected, found)


def demand_inside(table: DimensionTable, index: Any, size: Any) -> None:
    """All of these are positions along an axis: checked when the program runs."""
    index = index.astype(int)
    table.demand(table.of(jnp.min(index, initial=0)), 0)
    table.demand(size, table.of(jnp.max(index, initial=-1)) + 1)


def along(array: Any, axis: Any) -> tuple[Any, int]:
    """An array and one of its axes, counted from the front; flattened where no axis is given.

    NumPy's rule, and its error for an axis that the array does not have.
    """
    array = jnp.asarray(array)
    if axis is None:
        return array.ravel(), 0
    return array, normalize_axis_index(operator.index(axis), array.ndim)


def fit_axis(table: DimensionTable, array: Any, axis: int, size: Any) -> Any:
    """An array whose axis has `size` elements, or one that is repeated: NumPy's rule.

    For sizes that only the run tells: checked then.
    """
    own = array.shape[axis]
    if _surely_equal(own, size) or _surely_equal(own, 1):
        return array
    if not is_symbolic(own) or lower_bound(own) > 1:
        require_equal(table, own, size)
        return lax.slice_in_dim(array, 0, size, axis=axis)
    length = jnp.asarray(own)
    require_equal(table, own, table.of(jnp.where(length == 1, length, jnp.asarray(size))))
    positions = jnp.minimum(jnp.arange(size), length - 1)
    return array[(slice(None),) * (axis % array.ndim) + (positions,)]


def _surely_equal(size: Any, other: Any) -> bool:
    difference = size - other
    return not is_symbolic(difference) and difference == 0


def is_dynamic(shape: Sequence[Any]) -> bool:
    """Whether a size of a shape is known only when the program runs."""
    return any(is_symbolic(size) for size in shape)
