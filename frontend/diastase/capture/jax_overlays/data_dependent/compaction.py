"""Where a mask is True: positions, as many as the program finds when it runs.

The number of them, a sum that the program computes, is a size like any other. One mask has one
such size, however often it is used (`SameValues`). Everything that returns what it finds is made
of `positions_of`; where the caller gives a size, of `compact`.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jax.numpy as jnp
from jax import lax
from jax.extend.core import Var
from numpy.lib.array_utils import normalize_axis_index

from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase.dynamic_shapes.value_numbering import SameValues
from diastase_mlir.jax_compat import (
    current_trace,
    enclosing_traces,
    is_recorded,
    is_recorded_variable,
    is_symbolic,
    least_everywhere,
    lower_bound,
    tracer_trace,
    unwrap_tracer,
)


@dataclass
class _Found:
    """What has been found in one trace, by mask."""

    values: SameValues = field(default_factory=SameValues)
    positions: dict[Var, Any] = field(default_factory=dict)


_found: WeakKeyDictionary[DimensionTable, _Found] = WeakKeyDictionary()


def positions_of(table: DimensionTable, mask: Any) -> Any:
    """The positions of a one-dimensional mask that are True, in order."""
    if not is_symbolic(mask.shape[0]) and mask.shape[0] == 0:
        return jnp.arange(0)  # JAX must see that nothing can be found: it refuses to look
    mask = unwrap_tracer(mask)
    if not is_recorded(mask) or not is_recorded_variable(mask):
        return _find(table, mask)
    found = _found.setdefault(table, _Found())
    variable = found.values.representative(mask)
    before = found.positions.get(variable)
    if before is not None and tracer_trace(before) in enclosing_traces(current_trace()):
        return before
    positions = unwrap_tracer(_find(table, mask))
    if is_recorded(positions):
        found.positions[variable] = positions
    return positions


def _find(table: DimensionTable, mask: Any) -> Any:
    size = table.of(jnp.sum(mask, dtype=int))
    if is_symbolic(size):
        is_size = least_everywhere(mask.shape[0]) >= 0
        table.scope.learn_not_negative(size, everywhere=True)
        table.scope.learn_not_negative(mask.shape[0] - size, everywhere=is_size)
    return compact(jnp.arange(mask.shape[0]), mask, size, 0)


def compact(values: Any, mask: Any, size: Any, fill: Any) -> Any:
    """The first `size` values along the first axis whose mask is True, then `fill`."""
    ranks = jnp.cumsum(mask, dtype=int) - 1
    start = jnp.full((size, *values.shape[1:]), fill, values.dtype)
    return start.at[jnp.where(mask, ranks, size)].set(values, mode="drop")


def unravelled(positions: Any, shape: Sequence[Any]) -> tuple[Any, ...]:
    """Positions in a flattened array as one array for each axis."""
    indices: list[Any] = []
    for size in reversed(shape[1:]):
        divisor = lax.full_like(positions, jnp.maximum(jnp.asarray(size), 1))
        indices.append(lax.rem(positions, divisor))
        positions = lax.div(positions, divisor)
    return tuple(reversed([*indices, positions]))


def require_equal(table: DimensionTable, found: Any, expected: Any) -> None:
    """Two sizes must be equal: checked when the program runs, if it is not known."""
    if not _surely_equal(found, expected):
        table.demand(found, expected)
        table.demand(expected, found)


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


def number_of(shape: Sequence[Any]) -> Any:
    """How many elements an array of this shape has."""
    return math.prod(shape)
