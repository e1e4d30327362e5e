"""Finite differences of whole functions: `method="fd"` of `grad`, `jacobian`, `jvp` and `vjp`.

A forward difference, (f(x + h d) - f(x)) / h, for each element x in turn, or along a direction. The
elements of one array are one loop of the program, so that f is compiled twice whatever the size;
with concrete values outside of a program it is Python's loop, and f may be any function at all.

The trap: of a function in double precision about half of the digits are right, no more (h = 1e-7);
in single precision h is 3e-4, and three digits are.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from diastase.capture.context import is_tracing

Flat = Callable[[Sequence[Any]], Sequence[Any]]
STEP = 1e-7


def along(function: Flat, leaves: Sequence[Any], directions: Sequence[Any], h: Any) -> Any:
    """Results at `leaves`, and their differences along a direction."""
    step = _step(h, leaves)
    moved = [
        leaf if _is_float0(direction) else leaf + (step * direction).astype(leaf.dtype)
        for leaf, direction in zip(leaves, directions, strict=True)
    ]
    results = function(leaves)
    return results, _quotients(function(moved), results, step)


def by_each_element(
    function: Flat,
    leaves: Sequence[Any],
    h: Any,
    read: Callable[[Sequence[Any]], Any],
    *,
    holomorphic: bool,
) -> tuple[Sequence[Any], list[Any]]:
    """Results at `leaves`, and for each leaf what `read` makes of the differences by an element.

    What is read has an axis for a leaf's elements, in front; None for a leaf of integers. By a
    complex number z = x + iy it is d/dx - i d/dy, or if the function is holomorphic, d/dx.
    """
    step = _step(h, leaves)
    results = function(leaves)
    traced = is_tracing() or any(isinstance(leaf, Tracer) for leaf in (*leaves, *results))

    def by_element(number: int, unit: complex) -> Callable[[Any], Any]:
        leaf = leaves[number]
        distance = jnp.asarray(step * unit, leaf.dtype)

        def change(element: Any) -> Any:
            flat = leaf.reshape(-1)
            flat = jnp.where(jnp.arange(leaf.size) == element, flat + distance, flat)
            moved = [*leaves[:number], flat.reshape(leaf.shape), *leaves[number + 1 :]]
            return read(_quotients(function(moved), results, step))

        return change

    def by_leaf(number: int, leaf: Any) -> Any:
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            return None
        found = _for_each(by_element(number, 1), leaf.size, traced=traced)
        if holomorphic or not jnp.issubdtype(leaf.dtype, jnp.complexfloating):
            return found
        other = _for_each(by_element(number, 1j), leaf.size, traced=traced)
        return jax.tree.map(lambda real, imaginary: real - 1j * imaginary, found, other)

    return results, [by_leaf(number, leaf) for number, leaf in enumerate(leaves)]


def zeros_without_type(array: Any) -> Any:
    """The derivative by integers, as JAX writes it."""
    return np.zeros(np.shape(array), jax.dtypes.float0)


def _for_each(function: Callable[[Any], Any], count: Any, *, traced: bool) -> Any:
    """What a function makes of 0, 1, …, stacked."""
    if traced or not isinstance(count, int):
        return lax.map(function, jnp.arange(count))
    if not count:
        empty = jax.eval_shape(function, 0)
        return jax.tree.map(lambda one: jnp.zeros((0, *one.shape), one.dtype), empty)
    return jax.tree.map(lambda *each: jnp.stack(each), *[function(index) for index in range(count)])


def _quotients(new: Sequence[Any], old: Sequence[Any], step: float) -> list[Any]:
    return [
        (after - before) / jnp.asarray(step, before.dtype)
        if jnp.issubdtype(before.dtype, jnp.inexact)
        else zeros_without_type(before)
        for after, before in zip(new, old, strict=True)
    ]


def _step(h: Any, leaves: Sequence[Any]) -> float:
    """The step: where none is given, one that the least precise of the arguments can make."""
    if h is not None:
        return float(h)
    inexact = [leaf.dtype for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return max(
        [STEP, *(float(jnp.finfo(dtype).eps) ** 0.5 for dtype in inexact if dtype not in _DOUBLE)]
    )


_DOUBLE = (np.dtype(np.float64), np.dtype(np.complex128))


def _is_float0(array: Any) -> bool:
    return getattr(array, "dtype", None) == jax.dtypes.float0
