"""Polynomials whose number of coefficients only the call knows, and powers of any number."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.core import max_dim, min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import is_symbolic


def _polyadd(table: DimensionTable, original: Original, a1: Any, a2: Any) -> Any:
    """The shorter one is added to the end of the longer one."""
    a1, a2 = jnp.asarray(a1), jnp.asarray(a2)
    if not (is_symbolic(a1.shape[0]) or is_symbolic(a2.shape[0])):
        return original(a1, a2)
    size = max_dim(a1.shape[0], a2.shape[0])
    # As in JAX, nothing but nothing can be added to a polynomial without coefficients.
    table.demand(min_dim(a1.shape[0], a2.shape[0]), min_dim(1, size))
    dtype = jnp.promote_types(a1.dtype, a2.dtype)
    return _lengthened(a1.astype(dtype), size) + _lengthened(a2.astype(dtype), size)


def _polymul(
    _: DimensionTable, original: Original, a1: Any, a2: Any, *, trim_leading_zeros: bool = False
) -> Any:
    """A polynomial without coefficients counts as 0."""
    a1, a2 = jnp.asarray(a1), jnp.asarray(a2)
    sizes = a1.shape[0], a2.shape[0]
    if trim_leading_zeros or not any(map(is_symbolic, sizes)):
        return original(a1, a2, trim_leading_zeros=trim_leading_zeros)
    a1, a2 = (_lengthened(a, max_dim(a.shape[0], 1)) for a in (a1, a2))
    return original(a1, a2)


def _lengthened(coefficients: Any, size: Any) -> Any:
    """With zeros in front."""
    missing = size - coefficients.shape[0]
    return jax.lax.pad(coefficients, jnp.zeros((), coefficients.dtype), [(missing, 0, 0)])


def _polyval(_: DimensionTable, original: Original, p: Any, x: Any, *, unroll: int = 16) -> Any:
    """Coefficient by coefficient; from jax 0.12 on, JAX lists them while tracing."""
    p, x = jnp.asarray(p), jnp.asarray(x)
    if not p.ndim or not is_symbolic(p.shape[0]):
        return original(p, x, unroll=unroll)
    shape = jnp.broadcast_shapes(p.shape[1:], x.shape)
    dtype = jnp.result_type(p, x)
    x = x.astype(dtype)
    start = jnp.zeros(shape, dtype)
    return jax.lax.scan(lambda y, c: (y * x + c, None), start, p.astype(dtype), unroll=unroll)[0]


def _vander(
    table: DimensionTable, original: Original, x: Any, N: Any = None, increasing: bool = False
) -> Any:
    """Any number of powers."""
    x = jnp.asarray(x)
    count = x.shape[0] if N is None and x.ndim == 1 else N
    if x.ndim != 1 or not (is_symbolic(count) or is_size_like(count)):
        return original(x, N, increasing)
    count = table.size(count)
    powers = jax.lax.iota(x.dtype, count)
    if not increasing:
        powers = jnp.asarray(count - 1).astype(x.dtype) - powers
    return jnp.power(x[:, None], powers[None])


OVERLAYS: Overlays = {
    "polyadd": _polyadd,
    "polymul": _polymul,
    "polyval": _polyval,
    "vander": _vander,
}
