"""`jax.numpy.linalg`, polynomials and convolutions, where JAX has cases by size.

Small matrices, the longer one of two operands, an operand without elements: what JAX chooses while
it traces, the program computes for all sizes, or selects with `jnp.where` when it runs.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import max_dim, min_dim

from diastase.capture.jax_overlays.overlay import Original, Overlays, is_dynamic
from diastase.dynamic_shapes.dimensions import DimensionTable, is_size_like
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
    if given or len(shape) < 2 or not is_dynamic(shape[-2:]):
        return original(M, rtol, hermitian=hermitian, tol=tol)
    inexact = jnp.asarray(M).astype(jnp.result_type(M, 1.0) if _is_exact(M) else M.dtype)
    values = jnp.linalg.svd(inexact, compute_uv=False, hermitian=hermitian)
    size = jnp.asarray(max_dim(*shape[-2:])).astype(values.dtype)
    limit = values.max(-1) * size * jnp.finfo(values.dtype).eps
    return jnp.sum(values > limit[..., None], axis=-1)


def _is_exact(array: Any) -> bool:
    return not jnp.issubdtype(array.dtype, jnp.inexact)


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
    if trim_leading_zeros or not is_dynamic(sizes):
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
    if x.ndim != 1 or y.ndim != 1 or not is_dynamic((*x.shape, *y.shape)):
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


def _convolution_padding(
    _: DimensionTable,
    original: Original,
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    *others: Any,
    **options: Any,
) -> Any:
    """Padding of a width that only the call knows is put around the array beforehand."""
    dilated = lhs_dilation is not None and any(factor != 1 for factor in lhs_dilation)
    rest = (lhs_dilation, rhs_dilation, dimension_numbers)
    if isinstance(padding, str) or dilated or not any(is_symbolic(w) for p in padding for w in p):
        return original(lhs, rhs, window_strides, padding, *rest, *others, **options)
    axes = jax.lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers).lhs_spec[2:]
    widths = [(0, 0, 0)] * lhs.ndim
    for axis, (before, after) in zip(axes, padding, strict=True):
        widths[axis] = (before, after, 0)
    lhs = jax.lax.pad(lhs, jax.numpy.zeros((), lhs.dtype), widths)
    return original(lhs, rhs, window_strides, [(0, 0)] * len(axes), *rest, *others, **options)


OVERLAYS: Overlays = {
    "determinant": _determinant,
    "log_determinant": _log_determinant,
    "matrix_rank": _matrix_rank,
    "polyadd": _polyadd,
    "polymul": _polymul,
    "polyval": _polyval,
    "vander": _vander,
    "convolution": _convolution,
    "convolution_padding": _convolution_padding,
}
