"""Reductions and scans along an axis of any size, of which some want at least one element.

Where JAX unrolls a recursion over the size (`associative_scan`, `prod`'s derivative), there is a
scan or a cumulative product. `scan(length=n)` takes a traced length.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.jax_overlays.effect_probe import refuse_operators
from diastase.capture.jax_overlays.overlay import Original, Overlays, is_dynamic
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase.dynamic_shapes.errors import UnknownSizesDifferError
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
    if not is_dynamic(x.shape):
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
    if not isinstance(axis, int) or not is_dynamic(arr.shape):
        return original(ufunc, arr, axis, dtype)
    one = jnp.ones((), arr.dtype)
    dtype = dtype or jax.eval_shape(ufunc, one, one).dtype

    def combined(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any]:
        return [ufunc(*left, *right).astype(dtype)]

    (result,) = _scanned(combined, [arr.astype(dtype)], axis)
    return result


def _scanned(
    combined: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
    arrays: Sequence[Any],
    axis: int,
    reverse: bool = False,
) -> Sequence[Any]:
    """The elements along an axis combined with all before them, one after the other."""

    def step(carry: tuple[Any, Any], here: Sequence[Any]) -> tuple[tuple[Any, Any], Any]:
        is_first, so_far = carry
        # The first is combined with itself and the result dropped: zeros might have no derivative.
        left = [jnp.where(is_first, b, a) for a, b in zip(so_far, here, strict=True)]
        results = [
            jnp.where(is_first, b, a) for a, b in zip(combined(left, here), here, strict=True)
        ]
        return (jnp.zeros_like(is_first), results), results

    rows = [jnp.moveaxis(array, axis, 0) for array in arrays]
    start = jnp.array(True), [jnp.zeros(row.shape[1:], row.dtype) for row in rows]
    results: Sequence[Any] = jax.lax.scan(step, start, rows, reverse=reverse)[1]
    return [jnp.moveaxis(result, 0, axis) for result in results]


def _cov(
    table: DimensionTable,
    original: Original,
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    *args: Any,
    **options: Any,
) -> Any:
    """Without any observation a covariance is NaN, where the formula would give 0.

    Of how many variables is a question, since JAX gives a scalar for one.
    """
    m = jnp.asarray(m)
    if m.ndim not in (1, 2):
        return original(m, y, rowvar, *args, **options)
    variables, observations = jnp.atleast_2d(m).shape[:: 1 if rowvar or m.ndim == 1 else -1]
    if table.is_equal(variables, 0):
        return jnp.zeros((0, 0))
    result = original(m, y, rowvar, *args, **options)
    if not is_symbolic(observations):
        return result
    return jnp.where(jnp.asarray(observations) == 0, jnp.nan, result)


def _scan_length(
    table: DimensionTable,
    original: Original,
    values: Sequence[Any],
    avals: Sequence[Any],
    length: Any = None,
) -> Any:
    """`scan(length=n)`: a size like that of the arrays that it goes over, if there are any."""
    if not is_size_like(length) and not is_symbolic(length):
        return original(values, avals, length)
    size = table.size(length)
    if values:
        found = original(values, avals, None)
        if not found == size:
            what = f"scan over arrays of leading size {found}, with length={size}"
            raise UnknownSizesDifferError(what=what)
    return size


def _associative_scan(
    table: DimensionTable,
    original: Original,
    fn: Callable[[Any, Any], Any],
    elems: Any,
    reverse: bool = False,
    axis: int = 0,
) -> Any:
    """One element after the other; JAX's recursion has a depth that depends on the size."""
    refuse_operators(table, fn, elems, elems)
    leaves, tree = jax.tree.flatten(elems)
    if not any(is_symbolic(leaf.shape[axis]) for leaf in leaves):
        return original(fn, elems, reverse, axis)

    def combined(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any]:
        """`fn` works along the axis, so its operands have it, of size 1."""
        pairs = (tree.unflatten([jnp.expand_dims(a, axis) for a in side]) for side in (left, right))
        return [jnp.squeeze(a, axis) for a in jax.tree.leaves(fn(*pairs))]

    return tree.unflatten(_scanned(combined, leaves, axis % leaves[0].ndim, reverse))


OVERLAYS: Overlays = {
    "reduction": _reduction,
    "derivative_of_product": _derivative_of_product,
    "accumulate": _accumulate,
    "cov": _cov,
    "scan_length": _scan_length,
    "associative_scan": _associative_scan,
}
