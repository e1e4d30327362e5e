"""NumPy's functions that take or give indices, in arrays of any size: `take`, `put`, `diagonal`."""

import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer, max_dim, min_dim

from diastase.capture.jax_overlays.overlay import (
    Original,
    Overlays,
    along,
    demand_inside,
    is_dynamic,
    with_sizes,
)
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import lower_bound


def _triu_size(_: DimensionTable, original: Original, n: Any, m: Any, k: Any) -> Any:
    """How many elements of an `n` by `m` array lie on or above diagonal `k`; None: count them."""
    if not is_dynamic((n, m, k)):
        return original(n, m, k)
    if lower_bound(k) >= 0:
        rows = max_dim(0, min_dim(n, m - k))
        return rows * (rows + 1) // 2 + rows * (m - k - rows)
    if lower_bound(-k) > 0:
        return n * m - _triu_size(_, original, m, n, 1 - k)
    return None


def _diagonal(
    _: DimensionTable, original: Original, a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    """A diagonal, without JAX's question whether the array is square."""
    array = jnp.asarray(a)
    if array.ndim < 2 or not is_dynamic(array.shape):
        return original(a, offset, axis1, axis2)
    down, right = max(0, -operator.index(offset)), max(0, operator.index(offset))
    array = jnp.moveaxis(array, (axis1, axis2), (-2, -1))
    size = max_dim(0, min_dim(array.shape[-2] - down, array.shape[-1] - right))
    positions = jnp.arange(size)
    return array[..., positions + down, positions + right]


def _ravel_multi_index(
    table: DimensionTable,
    original: Original,
    multi_index: Sequence[Any],
    dims: Sequence[Any],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Any:
    """Indices of a flattened array; `mode="raise"` is checked at run time."""
    indices = [jnp.asarray(index) for index in multi_index]
    dims = with_sizes(table, dims)
    sizes_are_known = not is_dynamic(dims)
    traced = any(isinstance(index, Tracer) for index in indices)
    if len(indices) != len(dims) or (sizes_are_known and not (mode == "raise" and traced)):
        return original(multi_index, dims, mode, order, dtype=dtype)
    if not all(jnp.issubdtype(index.dtype, jnp.integer) for index in indices):
        raise TypeError("only int indices permitted")
    dtype = jnp.result_type(int, *indices) if dtype is None else jnp.dtype(dtype)
    if order not in ("C", "F") or mode not in ("raise", "clip", "wrap", "ignore"):
        raise ValueError(f"invalid order or mode: {order=}, {mode=}")
    result: Any = jnp.zeros((), dtype)
    stride: Any = 1
    for index, size in list(zip(indices, dims, strict=True))[:: -1 if order == "C" else 1]:
        placed = _placed(table, index, size, mode).astype(dtype)
        result = result + placed * jnp.asarray(stride, dtype)
        stride = stride * size
    return result


def _placed(table: DimensionTable, index: Any, size: Any, mode: str) -> Any:
    if mode == "clip":
        return jnp.clip(index, 0, size - 1)
    if mode == "wrap":
        return index % size
    if mode == "raise":
        demand_inside(table, index, size)
    return index


def _take(
    _: DimensionTable,
    original: Original,
    a: Any,
    indices: Any,
    axis: Any = None,
    out: None = None,
    mode: Any = None,
    *others: Any,
    **keywords: Any,
) -> Any:
    """Positions that are wrapped around a size that only the run knows."""
    if mode == "wrap" and is_dynamic(np.shape(a)):
        a, axis = along(a, axis)
        indices, mode = jnp.asarray(indices) % jnp.asarray(a.shape[axis]), "clip"
    return original(a, indices, axis, out, mode, *others, **keywords)


def _put(
    _: DimensionTable,
    original: Original,
    a: Any,
    ind: Any,
    v: Any,
    mode: str | None = None,
    *,
    inplace: bool = True,
) -> Any:
    """Elements at positions of the flattened array, without JAX's questions what is empty."""
    array, positions, values = (
        jnp.asarray(a),
        jnp.ravel(jnp.asarray(ind)),
        jnp.ravel(jnp.asarray(v)),
    )
    known = not is_dynamic((*array.shape, *positions.shape, *values.shape))
    if inplace or known or mode not in (None, "clip", "wrap") or 0 in values.shape:
        return original(a, ind, v, mode, inplace=inplace)
    flat = array.ravel()
    if mode == "clip":
        positions = jnp.clip(positions, 0, flat.shape[0] - 1)
    elif mode == "wrap":
        positions = positions % flat.shape[0]
    repeated = values[jnp.arange(positions.shape[0]) % jnp.maximum(jnp.asarray(values.shape[0]), 1)]
    places = jnp.unravel_index(positions, array.shape)  # which moves what is outside to the ends
    return array.at[places].set(repeated, mode="drop")


def _choose(
    table: DimensionTable,
    original: Original,
    a: Any,
    choices: Any,
    out: None = None,
    mode: str = "raise",
) -> Any:
    """`mode="raise"` is checked at run time."""
    if mode != "raise" or out is not None:
        return original(a, choices, out, mode)
    a = jnp.asarray(a)
    if not jnp.issubdtype(a.dtype, jnp.integer):
        raise ValueError("`a` array must be integer typed")
    number = choices.shape[0] if hasattr(choices, "shape") else len(choices)
    demand_inside(table, a, number)
    return original(a, choices, out, "clip")


OVERLAYS: Overlays = {
    "triu_size": _triu_size,
    "ravel_multi_index": _ravel_multi_index,
    "diagonal": _diagonal,
    "choose": _choose,
    "put": _put,
    "take": _take,
}
