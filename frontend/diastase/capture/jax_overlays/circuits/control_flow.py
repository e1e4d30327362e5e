"""Loops of `jax.lax`: a traced number of iterations."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from diastase.capture.jax_overlays.circuits.effect_probe import refuse_operators
from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase.dynamic_shapes.errors import UnknownSizesDifferError
from diastase_mlir.jax_compat import is_symbolic


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

    def step(carry: tuple[Any, Any], here: Sequence[Any]) -> tuple[tuple[Any, Any], Any]:
        is_first, so_far = carry
        # The first is combined with itself and the result dropped: zeros might have no derivative.
        left = [jnp.where(is_first, b, a) for a, b in zip(so_far, here, strict=True)]
        results = [
            jnp.where(is_first, b, a) for a, b in zip(combined(left, here), here, strict=True)
        ]
        return (jnp.zeros_like(is_first), results), results

    axis = axis % leaves[0].ndim
    rows = [jnp.moveaxis(leaf, axis, 0) for leaf in leaves]
    start = jnp.array(True), [jnp.zeros(row.shape[1:], row.dtype) for row in rows]
    results: Sequence[Any] = jax.lax.scan(step, start, rows, reverse=reverse)[1]
    return tree.unflatten([jnp.moveaxis(result, 0, axis) for result in results])


OVERLAYS: Overlays = {
    "scan_length": _scan_length,
    "associative_scan": _associative_scan,
}
