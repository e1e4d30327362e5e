"""Binary search in an array of any size."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.core import max_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import is_symbolic


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
    """Binary search; JAX's unrolls it, for a number of steps that depends on the size."""
    if others or not is_symbolic(a.shape[0]):
        return original(a, v, side=side, method=method, dtype=dtype, **others)
    size = a.shape[0]
    # For arrays of any size that is likely, JAX has positions in 32 bits.
    dtype = jnp.int32
    table.demand(jnp.iinfo(dtype).max, size)

    def belongs_after(element: Any) -> Any:
        return _sorts_before(element, v) if side == "left" else ~_sorts_before(v, element)

    def halve(interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        middle = low + (high - low) // 2
        open_interval = low < high
        after = belongs_after(a[jnp.clip(middle, 0, size - 1)]) & open_interval
        return jnp.where(after, middle + 1, low), jnp.where(after | ~open_interval, high, middle)

    start = jnp.zeros(v.shape, dtype), jnp.full(v.shape, jnp.asarray(size, dtype))
    return jax.lax.while_loop(lambda interval: jnp.any(interval[0] < interval[1]), halve, start)[0]


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
    "searchsorted": _searchsorted,
    "digitize": _digitize,
}
