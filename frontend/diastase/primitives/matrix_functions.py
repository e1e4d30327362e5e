"""Powers and logarithms of normal matrices, with derivatives of any order where eigenvalues meet.

    matrix_function    A, z, l, V, E_1, .., E_k  ->  V [ f[l_i, l_j, .., l_m] E_1_ij .. E_k_.m ] V*

f(x) = x**z log(x)**p; l are the logarithms of A's eigenvalues, V its eigenvectors, the E directions
(written in that basis), of which the sum is over all inner indices. Without one it is f(A); with
one, the derivative of f(A) in that direction (Daleckii and Krein). The derivative of a term by A is
the sum of the terms with one direction more, put at each place in turn; its transpose by an E is a
term, too. So the primitive is closed under derivatives, and none divides by a difference of equal
eigenvalues, as the derivatives of eigenvectors do.

The divided differences `f[x_i, .., x_m]`, one for each choice of k + 1 points, are found from the
logarithms of the points, sorted by imaginary or real part; of equal points it is a derivative of f.
Zero is a point, too (`LOG_OF_ZERO`), though f has no derivative there. Differences of zeros
alone are 0: they are those of a function that is f at all other points, which is as good where an
eigenvalue of a positive matrix is 0 and stays it.

Operands may have batch axes in front, all the same. The trap: A is there to be differentiated by
only; l and V, which are computed from it, count as constants.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad

from diastase.primitives.define import Role, define_primitive
from diastase_mlir.jax_compat.x64 import runs_in_64_bits

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


LOG_OF_ZERO = -690.0
"""No logarithm is less; what has this one is 0."""

_NEAR = 0.1
"""Logarithms, times the exponent, that are nearer have their differences from derivatives of f."""

_POINTS = 6
"""At which a derivative is averaged between such: exact to the rounding of a double."""


def divided_differences(power: int, exponent: Any, logarithms: Any, order: int) -> Any:
    """The divided differences of order k of `x**exponent log(x)**power`.

    The points of each choice are sorted, so that the first and the last are farthest apart; level
    by level, neighbours are subtracted where they are apart, else a derivative is averaged.
    """
    choices = np.indices((len(logarithms),) * (order + 1), np.int32)
    logs = logarithms[np.sort(choices, axis=0)]
    points, level = jnp.exp(logs), jnp.exp(exponent * logs) * logs**power
    for width in range(1, order + 1):
        first, last = points[:-width], points[width:]
        distance = jnp.abs(logs[width:] - logs[:-width])
        near = distance * jnp.maximum(1.0, jnp.abs(exponent)) < _NEAR
        apart = (level[1:] - level[:-1]) / jnp.where(near, 1.0, last - first)
        steps = jnp.stack([points[k : k + len(first)] for k in range(1, width + 1)]) / first - 1
        together = _averaged(power, exponent, logs[:-width], jnp.where(near, steps, 0.0))
        zeros = jnp.real(logs[width:]) <= LOG_OF_ZERO
        level = jnp.where(zeros, 0.0, jnp.where(near, together, apart))
    return level[0]


def _averaged(power: int, exponent: Any, log: Any, steps: Any) -> Any:
    """`f[c, c (1 + u_1), .., c (1 + u_k)]`: the k-th derivative, averaged between the points.

    It is x**(z - k) times a polynomial of the logarithm.
    """
    order = len(steps)
    nodes, weights = _between(order)
    logs = log + jnp.log(1 + jnp.tensordot(nodes, steps, 1))
    coefficients: list[Any] = [0.0] * power + [1.0]
    for step in range(order):
        raised = [(exponent - step) * coefficient for coefficient in coefficients]
        lowered = [*(k * coefficients[k] for k in range(1, power + 1)), 0.0]
        coefficients = [a + b for a, b in zip(raised, lowered, strict=True)]
    polynomial = sum(coefficient * logs**k for k, coefficient in enumerate(coefficients))
    return jnp.tensordot(weights, jnp.exp((exponent - order) * logs) * polynomial, 1)


def _between(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Points t of the simplex t_1 + .. + t_k <= 1, shape (n, k), and weights: Gauss and Legendre's.

    Of a point of the unit cube, each coordinate takes its part of what the ones before have left.
    """
    line, weights = np.polynomial.legendre.leggauss(_POINTS)
    cube = np.stack(np.meshgrid(*[(line + 1) / 2] * order, indexing="ij"), -1).reshape(-1, order)
    total = np.stack(np.meshgrid(*[weights / 2] * order, indexing="ij"), -1).reshape(-1, order)
    left = np.cumprod(np.hstack([np.ones((len(cube), 1)), 1 - cube[:, :-1]]), axis=1)
    return cube * left, total.prod(axis=1) * left.prod(axis=1)
