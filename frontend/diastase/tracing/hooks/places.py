"""Positions in arrays of any size: triangles, flattened indices, choices."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax.core import Tracer, max_dim, min_dim

from diastase.tracing.dimensions import DimensionTable, is_size_like
from diastase.tracing.hooks.overlay import Original, Overlay
from diastase_mlir.jax_internals import HookPoint, is_symbolic, lower_bound


def _triu_size(_: DimensionTable, original: Original, n: Any, m: Any, k: Any) -> Any:
    """How many elements of an `n` by `m` array lie on or above diagonal `k`; None: count them."""
    if not any(is_symbolic(size) for size in (n, m, k)):
        return original(n, m, k)
    if lower_bound(k) >= 0:
        rows = max_dim(0, min_dim(n, m - k))
        return rows * (rows + 1) // 2 + rows * (m - k - rows)
    if lower_bound(-k) > 0:
        return n * m - _triu_size(_, original, m, n, 1 - k)
    return None


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
    dims = [table.size(size) if is_size_like(size) else size for size in dims]
    sizes_are_known = not any(is_symbolic(size) for size in dims)
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
        _demand_inside(table, index, size)
    return index


def _demand_inside(table: DimensionTable, index: Any, size: Any) -> None:
    """All of these are positions along an axis: checked when the program runs."""
    index = index.astype(int)
    table.demand(table.of(jnp.min(index, initial=0)), 0)
    table.demand(size, table.of(jnp.max(index, initial=-1)) + 1)


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
    _demand_inside(table, a, number)
    return original(a, choices, out, "clip")


OVERLAYS: Mapping[HookPoint, Overlay] = {
    "triu_size": _triu_size,
    "ravel_multi_index": _ravel_multi_index,
    "choose": _choose,
}
