"""`jax.numpy.linalg` where it treats small, empty or wide matrices as cases of their own."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import max_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays
from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import (
    determinant_of_few_rows,
    is_symbolic,
    log_determinant_of_few_rows,
)


def _determinant(_: DimensionTable, original: Original, a: Any) -> Any:
    """JAX has formulas of their own for two and three rows, with other roundings."""
    return _by_size(original, determinant_of_few_rows, (2, 3), a)


def _log_determinant(_: DimensionTable, original: Original, a: Any) -> Any:
    """The same for one and two rows; sign and logarithm."""
    return _by_size(original, log_determinant_of_few_rows, (1, 2), a)


def _by_size(general: Original, special: Original, sizes: Sequence[int], a: Any) -> Any:
    """`special(a)` where the matrix has one of these sizes, `general(a)` elsewhere.

    All are computed, with their derivatives, which must be finite where they are not used: there,
    they get the identity.
    """
    rows = a.shape[-1]
    if not is_symbolic(rows):
        return general(a)
    has_size = {size: jnp.asarray(rows) == size for size in sizes}
    other = jnp.where(functools.reduce(jnp.logical_or, has_size.values()), _identity(a, rows), a)
    result = general(other)
    for size, applies in has_size.items():
        case = special(jnp.where(applies, _corner(a, size), _identity(a, size)))
        choose = functools.partial(jnp.where, applies)
        result = jax.tree.map(choose, case, result)
    return result


def _identity(a: Any, rows: Any) -> Any:
    return jnp.eye(rows, dtype=a.dtype)


def _corner(a: Any, rows: int) -> Any:
    """The first rows and columns of a matrix, with zeros where it has none."""
    padding = [(0, 0, 0)] * (a.ndim - 2) + [(0, rows, 0)] * 2
    padded = jax.lax.pad(a, jnp.zeros((), a.dtype), padding)
    return jax.lax.slice(padded, [0] * a.ndim, [*a.shape[:-2], rows, rows])


def _matrix_rank(
    _: DimensionTable,
    original: Original,
    M: Any,
    rtol: Any = None,
    *,
    hermitian: bool = False,
    tol: Any = None,
) -> Any:
    """With JAX's default for the tolerance, which depends on the larger one of the sizes."""
    shape = jnp.shape(M)
    given = rtol is not None or tol is not None
    if given or len(shape) < 2 or not any(map(is_symbolic, shape[-2:])):
        return original(M, rtol, hermitian=hermitian, tol=tol)
    inexact = jnp.asarray(M).astype(jnp.result_type(M, 1.0) if _is_exact(M) else M.dtype)
    values = jnp.linalg.svd(inexact, compute_uv=False, hermitian=hermitian)
    size = jnp.asarray(max_dim(*shape[-2:])).astype(values.dtype)
    limit = values.max(-1) * size * jnp.finfo(values.dtype).eps
    return jnp.sum(values > limit[..., None], axis=-1)


def _is_exact(array: Any) -> bool:
    return not jnp.issubdtype(array.dtype, jnp.inexact)


OVERLAYS: Overlays = {
    "determinant": _determinant,
    "log_determinant": _log_determinant,
    "matrix_rank": _matrix_rank,
}
