"""Random keys and numbers."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
from diastase_mlir.jax_compat import deciding, is_symbolic

_ROUNDS_BEYOND = (1, 1625, 2642245, 2**32 - 1)
"""The sizes beyond which JAX shuffles once more: it sorts by keys of 32 bits as often as makes
it unlikely that two elements had equal keys every time, `ceil(3 log(size) / log(2**32 - 1))`."""


def _split(table: DimensionTable, original: Original, keys: Any, shape: Sequence[Any]) -> Any:
    """`jax.random.split(key, n)`, which takes its shape unseen."""
    return original(keys, shape=_sizes(table, shape))


def _sizes(table: DimensionTable, shape: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(table.size(size) if is_size_like(size) else size for size in shape)


def _shuffle(_: DimensionTable, original: Original, key: Any, x: Any, axis: int) -> Any:
    """A permutation, by as many sorts as JAX would make for the size."""
    if not is_symbolic(x.size):
        return original(key, x, axis)
    size = jnp.asarray(x.size)
    rounds = sum((size > bound).astype(int) for bound in _ROUNDS_BEYOND)

    def sort(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        key, x = state
        key, subkey = jax.random.split(key)
        by = jax.random.bits(subkey, x.shape, "uint32")
        return key, jax.lax.sort_key_val(by, x, axis)[1]

    return jax.lax.fori_loop(0, rounds, sort, (key, x))[1]


def _choice(
    table: DimensionTable,
    original: Original,
    key: Any,
    a: Any,
    shape: Any = (),
    *args: Any,
    **keywords: Any,
) -> Any:
    """Draws from something that is not empty, unless nothing is drawn: checked at run time."""
    if isinstance(shape, Sequence):
        shape = _sizes(table, shape)
    draws = math.prod(shape) if isinstance(shape, tuple) else 1

    def demand(inputs: Any, at_least: Any) -> bool:
        return table.demand(inputs, min_dim(at_least, draws))

    with deciding(demand):
        return original(key, a, shape, *args, **keywords)


OVERLAYS: Overlays = {
    "split": _split,
    "shuffle": _shuffle,
    "choice": _choice,
}
