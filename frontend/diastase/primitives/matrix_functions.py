"""Powers and logarithms of normal matrices, with derivatives of any order where eigenvalues meet.

    matrix_function    A, z, l, V, E_1, .., E_k  ->  V [ f[l_i, l_j, .., l_m] E_1_ij .. E_k_.m ] V*

f(x) = x**z log(x)**p; l are the logarithms of A's eigenvalues, V its eigenvectors, the E directions
(written in that basis), of which the sum is over all inner indices. Without one it is f(A); with
one, the derivative of f(A) in that direction (Daleckii and Krein). The derivative of a term by A is
the sum of the terms with one direction more, put at each place in turn; its transpose by an E is a
term, too. So the primitive is closed under derivatives, and none divides by a difference of equal
eigenvalues, as the derivatives of eigenvectors do.

Operands may have batch axes in front, all the same. The trap: A is there to be differentiated by
only; l and V, which are computed from it, count as constants.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad

from diastase.primitives.define import Role, define_primitive
from diastase.primitives.divided_differences import LOG_OF_ZERO, divided_differences
from diastase.width import runs_in_64_bits

_ROUNDING = 1e-12
"""Angles so near to -pi are pi: powers of reflections do not depend on how they were computed."""


def power_of_unitary(matrix: Any, exponent: Any) -> Any:
    """`U**z`, of the logarithm whose angles are in (-pi, pi]."""
    matrix = jnp.asarray(matrix, complex)
    triangular, vectors = jax.scipy.linalg.schur(lax.stop_gradient(matrix), output="complex")
    angles = jnp.angle(jnp.diagonal(triangular))
    angles = jnp.where(angles < _ROUNDING - jnp.pi, jnp.pi, angles)
    order = jnp.argsort(angles)
    return _apply(0, matrix, exponent, 1j * angles[order], vectors[:, order])


def root_of_positive(matrix: Any, zero: float) -> Any:
    """The square root of a Hermitian matrix; eigenvalues below `zero` are 0, and stay it."""
    return _of_positive(0, matrix, 0.5, zero)


def logarithm_of_positive(matrix: Any) -> Any:
    """The logarithm of a Hermitian matrix, where an eigenvalue of 0 stays it (and has -690)."""
    return _of_positive(1, matrix, 0.0, 0.0)


@jax.custom_jvp
def eigenvectors(matrix: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a Hermitian matrix.

    Where eigenvalues meet, which vectors one finds is chance: they have no derivatives, and these
    are NaN. So they are where eigenvalues differ by rounding; JAX's own derivatives are any number.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    return values, vectors


@eigenvectors.defjvp
def _(primals: tuple[Any], tangents: tuple[Any]) -> Any:
    values, vectors = eigenvectors(*primals)
    inner = vectors.conj().T @ tangents[0] @ vectors
    inner = (inner + inner.conj().T) / 2
    gaps = values[None, :] - values[:, None]
    own = jnp.eye(len(values), dtype=bool)
    rounding = 4 * len(values) * jnp.finfo(values.dtype).eps
    meet = jnp.abs(gaps) <= rounding * jnp.max(jnp.abs(values))
    factors = jnp.where(meet, jnp.nan, 1 / jnp.where(meet, 1.0, gaps))
    moved = vectors @ (jnp.where(own, 0.0, factors) * inner)
    return (values, vectors), (jnp.diagonal(inner).real, moved)


def _of_positive(power: int, matrix: Any, exponent: float, zero: float) -> Any:
    matrix = jnp.asarray(matrix, complex)
    weights, vectors = jnp.linalg.eigh(lax.stop_gradient(matrix))
    logarithms = jnp.log(jnp.where(weights > zero, weights, 1.0))
    logarithms = jnp.where(weights > zero, logarithms, LOG_OF_ZERO)
    return _apply(power, matrix, exponent, logarithms, vectors)


def _apply(power: int, matrix: Any, exponent: Any, *others: Any) -> Any:
    return _bind(power, matrix, jnp.asarray(exponent, complex), *others)


@runs_in_64_bits
def _bind(power: int, *operands: Any) -> Any:
    term = partial(_term, power)
    for _ in range(operands[1].ndim):
        term = jax.vmap(term)
    closed = jax.make_jaxpr(term)(*operands)
    (result,) = matrix_function_p.bind(*operands, jaxpr=closed, power=power)
    return result


def _term(
    power: int, _: Any, exponent: Any, logarithms: Any, vectors: Any, *directions: Any
) -> Any:
    order = len(directions)
    result = divided_differences(power, exponent, logarithms, order)
    for place, direction in enumerate(directions):
        inner = vectors.conj().T @ direction @ vectors
        result = result * inner.reshape([1] * place + list(inner.shape) + [1] * (order - place - 1))
    if not directions:
        return (vectors * result) @ vectors.conj().T
    return vectors @ result.sum(axis=tuple(range(1, order))) @ vectors.conj().T


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, power: int, **_: Any) -> Any:
    matrix, exponent, *spectrum = primals[:4]
    directions = list(primals[4:])
    by_matrix, by_exponent, _, _, *changes = tangents
    terms: list[Any] = []
    if type(by_matrix) is not ad.Zero:
        for place in range(len(directions) + 1):
            more = [*directions[:place], by_matrix, *directions[place:]]
            terms.append(_bind(power, matrix, exponent, *spectrum, *more))
    if type(by_exponent) is not ad.Zero:
        with_logarithm = _bind(power + 1, matrix, exponent, *spectrum, *directions)
        terms.append(by_exponent[..., None, None] * with_logarithm)
    for place, change in enumerate(changes):
        if type(change) is not ad.Zero:
            moved = [*directions[:place], change, *directions[place + 1 :]]
            terms.append(_bind(power, matrix, exponent, *spectrum, *moved))
    return [_bind(power, *primals)], [sum(terms[1:], terms[0])]


def _transpose(cotangents: Sequence[Any], *operands: Any, power: int, **_: Any) -> list[Any]:
    """By direction j: tr(C^T P E_1 P .. E_k P) is tr(E_j P .. E_k P C^T P E_1 .. P)."""
    (cotangent,) = cotangents
    place = next(k for k, value in enumerate(operands) if ad.is_undefined_primal(value))
    found: list[Any] = [None] * len(operands)
    if type(cotangent) is ad.Zero:
        return found
    around = [*operands[place + 1 :], jnp.matrix_transpose(cotangent), *operands[4:place]]
    found[place] = jnp.matrix_transpose(_bind(power, *operands[:4], *around))
    return found


def _batched(operands: Sequence[Any], axes: Sequence[Any], *, power: int, **_: Any) -> Any:
    size = next(
        value.shape[axis] for value, axis in zip(operands, axes, strict=True) if axis is not None
    )
    moved = [
        jnp.broadcast_to(value, (size, *value.shape))
        if axis is None
        else jnp.moveaxis(value, axis, 0)
        for value, axis in zip(operands, axes, strict=True)
    ]
    return [_bind(power, *moved)], [0]


def _abstract_eval(*_: Any, jaxpr: Any, power: int) -> Any:
    return jaxpr.out_avals


matrix_function_p: Primitive = define_primitive(
    "matrix_function",
    Role.CLASSICAL,
    Role.INLINED,
    construct="a power of an operator",
    abstract_eval=_abstract_eval,
    rules={"jvp": _jvp, "transpose": _transpose, "vmap": _batched},
)
"""`jaxpr` computes the result, and is what is compiled; `power` is p."""
