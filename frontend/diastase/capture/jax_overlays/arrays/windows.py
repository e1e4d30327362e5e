"""Window functions and convolutions of sizes that only the call knows."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.core import max_dim, min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


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


def _convolution(
    table: DimensionTable,
    original: Original,
    x: Any,
    y: Any,
    mode: str,
    op: str,
    precision: Any,
    preferred_element_type: Any = None,
) -> Any:
    """`convolve` and `correlate`: a part of the full result; JAX swaps operands by their sizes."""
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    if x.ndim != 1 or y.ndim != 1 or not any(map(is_symbolic, (*x.shape, *y.shape))):
        return original(x, y, mode, op, **options)
    (left,), (right,) = x.shape, y.shape
    for size in (left, right):
        if is_symbolic(size):
            table.demand(size, 1)
    dtype = jnp.result_type(x, y)
    if preferred_element_type is None and not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.result_type(float)
    x, y = x.astype(dtype), y.astype(dtype)
    y = y[::-1] if op == "convolve" else jnp.conj(y)
    beyond = max_dim(right - 1, 0)
    x = jax.lax.pad(x, jnp.zeros((), dtype), [(beyond, beyond, 0)])
    (full,) = jax.lax.conv_general_dilated(x[None, None], y[None, None], (1,), "VALID", **options)[
        0
    ]
    most, least = max_dim(left, right), min_dim(left, right)
    match mode:
        case "full":
            return full
        case "valid":
            return jax.lax.dynamic_slice(full, (jnp.asarray(least) - 1,), (most - least + 1,))
        case "same":
            start = jnp.asarray(least) - 1 - least // 2
            if op == "correlate":  # JAX swaps the operands and reverses the result
                start = jnp.where(jnp.asarray(left) < jnp.asarray(right), least // 2, start)
            return jax.lax.dynamic_slice(full, (start,), (most,))
        case _:
            return original(x, y, mode, op, **options)


OVERLAYS: Overlays = {
    "window": _window,
    "rfftfreq": _rfftfreq,
    "convolution": _convolution,
}
