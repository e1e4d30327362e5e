"""Reductions, of which some want at least one element."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import deciding, is_symbolic


def _reduction(table: DimensionTable, original: Original, *args: Any, **keywords: Any) -> Any:
    """`max` and others without a neutral element want at least one element: checked at run time."""
    with deciding(table.demand):
        return original(*args, **keywords)


def _derivative_of_product(
    _: DimensionTable,
    original: Original,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    axes: Sequence[int],
) -> Any:
    """Of `prod`: each factor's tangent times the product of all others, zeros among them."""
    (x,), (tangent,) = primals, tangents
    if not any(map(is_symbolic, x.shape)):
        return original(primals, tangents, axes=axes)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [x.shape[axis] for axis in kept]
    x, tangent = (
        a.transpose(*kept, *axes).reshape(*shape, math.prod(a.shape[axis] for axis in axes))
        for a in (x, tangent)
    )
    others = _product_before(x) * _product_before(x[..., ::-1])[..., ::-1]
    return jnp.prod(x, -1), jnp.sum(tangent * others, -1)


def _product_before(x: Any) -> Any:
    """The product of all that stands before each element, along the last axis."""
    one = jnp.ones((*x.shape[:-1], 1), x.dtype)
    return jnp.cumprod(jnp.concatenate([one, x], -1), -1)[..., :-1]


def _accumulate(
    _: DimensionTable, original: Original, ufunc: Any, arr: Any, axis: Any = 0, dtype: Any = None
) -> Any:
    """`ufunc.accumulate` as a scan over the elements, of which there may be none."""
    arr = jnp.asarray(arr)
    if not isinstance(axis, int) or not any(map(is_symbolic, arr.shape)):
        return original(ufunc, arr, axis, dtype)
    one = jnp.ones((), arr.dtype)
    dtype = dtype or jax.eval_shape(ufunc, one, one).dtype
    arr = jnp.moveaxis(arr, axis, 0)

    def step(carry: tuple[Any, Any], element: Any) -> tuple[tuple[Any, Any], Any]:
        is_first, so_far = carry
        element = element.astype(dtype)
        result = jnp.where(is_first, element, ufunc(so_far, element).astype(dtype))
        return (jnp.zeros_like(is_first), result), result

    start = jnp.array(True), jnp.zeros(arr.shape[1:], dtype)
    return jnp.moveaxis(jax.lax.scan(step, start, arr)[1], 0, axis)


OVERLAYS: Overlays = {
    "reduction": _reduction,
    "derivative_of_product": _derivative_of_product,
    "accumulate": _accumulate,
}
