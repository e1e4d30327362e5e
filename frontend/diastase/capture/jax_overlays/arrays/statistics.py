"""Covariances of any number of observations."""

from typing import Any

import jax.numpy as jnp

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import is_symbolic


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


OVERLAYS: Overlays = {"cov": _cov}
