"""Derivatives of JAX's operations inside of programs, beside plain JAX; sizes known and unknown.

Each operation has a row of the argument of its own, and all of them are one program: a row of the
gradient says which is wrong.
"""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest
from jax import lax

from diastase import qjit

ROW = jnp.array([0.7, 0.3, -0.4, 1.3, 0.9, -1.1, 0.25, 0.55])
OTHER = jnp.array([0.2, -0.6, 0.8, 1.1, -0.3, 0.45, 0.66, -1.2])
TWICE = jnp.array([3, 1, 1, 7])
ONCE = jnp.array([3, 1, 0, 7])


def positive(x):
    return jnp.abs(x) + 0.1


def between(x):
    return 0.9 * jnp.tanh(x)


def matrix(x):
    return jnp.sin(jnp.outer(jnp.arange(1.0, 4.0), x[:3])) + jnp.diag(jnp.array([3.0, 4.0, 5.0]))


def definite(x):
    return matrix(x) @ matrix(x).T + jnp.eye(3)


def hermitian(x):
    half = matrix(x) + 1j * jnp.cos(jnp.outer(x[3:6], x[:3]))
    return half + half.conj().T


def parts(values):
    return jnp.stack([jnp.real(values), jnp.imag(values)])


def of_eigh(x):
    values, vectors = jnp.linalg.eigh(hermitian(x))
    return parts((vectors * jnp.cos(values)) @ vectors.conj().T)


def of_svd(x):
    left, values, right = jnp.linalg.svd(x.reshape(4, 2) + OTHER.reshape(4, 2), full_matrices=False)
    return (left * jnp.log(values)) @ right


def of_custom_linear_solve(x):
    a = definite(x)
    solve = lambda _, b: jnp.linalg.solve(a, b)  # noqa: E731
    return lax.custom_linear_solve(lambda v: a @ v, x[3:6], solve, symmetric=True)


ELEMENTWISE = {
    "arctan2, hypot": lambda x: jnp.arctan2(x, OTHER) + jnp.hypot(x, OTHER),
    "logaddexp": lambda x: jnp.logaddexp(x, OTHER) + jnp.logaddexp(x, -jnp.inf),
    "powers": lambda x: x**3 + positive(x) ** x + x ** jnp.arange(8) + positive(x) ** -2,
    "ties": lambda x: jnp.maximum(x, 0.3) + jnp.abs(x - 0.3) + jnp.clip(x, -0.4, 0.9),
    "at 0": lambda x: jnp.sinc(x * 0) + (x * 0) ** 2 + jsp.special.xlogy(x * 0, positive(x)),
    "where": lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), x),
    "complex": lambda x: parts((x + 0.2j) ** (x - 0.3j) + jnp.tan(x + 0.3j) / (x - 2j)),
    "gamma functions": lambda x: (
        jsp.special.gammaln(positive(x)) + jsp.special.digamma(x - 2.05)
        + jsp.special.polygamma(2, positive(x)) + jsp.special.gammainc(1.5, positive(x))
    ),
    "error functions": lambda x: jsp.special.erfinv(between(x)) + jsp.special.log_ndtr(x * 10),
    "Bessel and zeta": lambda x: (
        jsp.special.i0e(x) + jsp.special.i1(x) + jsp.special.betainc(1.5, 2.5, positive(between(x)))
        + jsp.special.zeta(2.5, 1 + positive(x))
    ),
    "activations": lambda x: jax.nn.gelu(x, approximate=False) + jax.nn.selu(x) + jax.nn.softmax(x),
}  # fmt: skip

REDUCTIONS = {
    "products": lambda x: jnp.prod(x - 0.3) + jnp.cumprod(x - 0.3),
    "maxima": lambda x: jnp.max(jnp.stack([x[0], x[0], x[2]])) + lax.cummax(x),
    "logarithms": lambda x: lax.cumlogsumexp(x) + jax.nn.logsumexp(x, b=OTHER**2),
    "sorted": lambda x: jnp.sort(x) + lax.sort((x, x[::-1] * 2), num_keys=1)[1] + jnp.median(x),
    "best": lambda x: lax.top_k(x, 3)[0] * jnp.quantile(x, 0.3),
    "windows": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), "VALID"),
    "spread": lambda x: jnp.std(x.reshape(2, 4), axis=0, ddof=1) + jnp.ptp(x),
    "scans": lambda x: lax.associative_scan(jnp.multiply, x) * lax.map(jnp.sin, x, batch_size=3),
}

ELEMENTS = {
    "gathered": lambda x: x[TWICE] * x.at[jnp.array([1, 20, -1, 2])].get(mode="fill", fill_value=0),
    "added": lambda x: x.at[TWICE].add(x[:4] ** 2).at[jnp.array([1, 20])].add(x[:2], mode="drop"),
    "multiplied": lambda x: x.at[ONCE].multiply(x[:4], unique_indices=True),
    "extreme": lambda x: x.at[TWICE].max(x[:4]) + x.at[TWICE].min(x[4:]),
    "set": lambda x: x.at[ONCE].set(x[:4] ** 2).at[1:4].set(x[4:7]),
    "at a place": lambda x: lax.dynamic_slice(x, (jnp.int32(x[3] * 2),), (3,)),
    "put at a place": lambda x: lax.dynamic_update_slice(x, x[:2] ** 2, (jnp.int32(x[3] * 9),)),
    "along an axis": lambda x: jnp.take_along_axis(x.reshape(2, 4), jnp.array([[1], [3]]), axis=1),
    "padded": lambda x: lax.pad(x, x[0], ((1, -1, 2),)),
    "interpolated": lambda x: jnp.interp(OTHER, jnp.sort(x), x**2),
    "einsum": lambda x: jnp.einsum("ij,jk,ik->i", matrix(x), matrix(x), matrix(x)),
    "convolved": lambda x: lax.conv_general_dilated(
        jnp.outer(x, x).reshape(1, 2, 4, 8), x.reshape(1, 2, 2, 2), (2, 1), [(1, 2), (0, 1)],
        lhs_dilation=(1, 2), rhs_dilation=(2, 1),
    ),
    "fft": lambda x: parts(jnp.fft.fft(x + 1j * x[::-1], n=5)),
    "irfft": lambda x: jnp.fft.irfft(x + 1j * x[::-1], n=9),
}  # fmt: skip

ALGEBRA = {
    "cholesky": lambda x: jnp.linalg.cholesky(definite(x)),
    "qr": lambda x: jnp.linalg.qr(x.reshape(4, 2))[1],
    "svd": of_svd,
    "eigh": of_eigh,
    "solve": lambda x: jnp.linalg.solve(matrix(x), x[3:6]),
    "least squares": lambda x: jnp.linalg.lstsq(x.reshape(4, 2), x[:4] ** 2)[0],
    "pseudo-inverse": lambda x: jnp.linalg.pinv(x.reshape(4, 2)),
    "determinants": lambda x: jnp.linalg.slogdet(matrix(x))[1] + jnp.linalg.det(definite(x) * 0.1),
    "exponential": lambda x: jsp.linalg.expm(matrix(x) * 0.2),
    "triangular": lambda x: jsp.linalg.solve_triangular(matrix(x), x[3:6], trans=1),
    "norms": lambda x: jnp.linalg.norm(matrix(x), "nuc") + jnp.linalg.norm(matrix(x), 2),
    "conjugate gradients": lambda x: jsp.sparse.linalg.cg(definite(x), x[3:6], tol=1e-12)[0],
    "custom_linear_solve": of_custom_linear_solve,
}

RANDOM = {
    "normal": lambda x: x * jax.random.truncated_normal(jax.random.key(5), x - 1, x + 1),
}

OPERATIONS = ELEMENTWISE | REDUCTIONS | ELEMENTS | ALGEBRA | RANDOM


def total(rows):
    """One number, whose derivative by a row is that of its operation."""
    values = [f(row).ravel() for f, row in zip(OPERATIONS.values(), rows, strict=True)]
    return sum(jnp.sum(value * jnp.cos(0.7 * jnp.arange(value.size))) for value in values)


@pytest.mark.thorough
def test_gradients_of_many_operations():
    rows = jnp.stack([ROW] * len(OPERATIONS))
    ours = qjit(jax.grad(total))(rows)
    plain = jax.jit(jax.grad(total))(rows)
    for name, got, wanted in zip(OPERATIONS, ours, plain, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8, err_msg=name)


OF_ANY_SIZE = {
    "elements": lambda x, _: x[halves(x)] @ x.at[halves(x)].add(x**2),
    "reductions": lambda x, _: jnp.sum(jnp.cumsum(x) * lax.cumlogsumexp(x)) + jnp.linalg.norm(x),
    "products": lambda x, _: jnp.sum(jnp.cumprod(x)) + jnp.prod(x),
    "sorted": lambda x, _: jnp.sum(jnp.sort(x) * halves(x)),
    "fft": lambda x, _: jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2 * halves(x)),
    "convolved": lambda x, _: jnp.sum(jnp.convolve(x, x[::-1], mode="same") * x),
    "einsum": lambda x, square: jnp.einsum("i,ji,jk->", x, square, square @ square),
    "solved": lambda x, square: jnp.sum(jnp.linalg.solve(square, x)),
    "factors": lambda _, square: jnp.linalg.slogdet(square @ square.T)[1],
    "scan": lambda x, _: lax.scan(lambda c, y: (jnp.sin(c * y), None), 0.5, x)[0],
    "batch": lambda x, _: jnp.sum(jax.vmap(jax.grad(lambda y: jnp.sin(y) * y))(x)),
}


def halves(x):
    return jnp.arange(x.shape[0]) // 2


def total_of_any_size(rows, size):
    """As `total`, of arrays of a size known late, each of which depends on a row."""

    def value(function, row):
        x = jnp.sin(jnp.arange(size) * row[0] + row[1])
        return function(x, jnp.outer(x, x * row[2]) + 3.0 * jnp.eye(size))

    return sum(value(f, row) for f, row in zip(OF_ANY_SIZE.values(), rows, strict=True))


def test_gradients_of_arrays_of_unknown_size():
    rows = jnp.stack([jnp.array([0.7, 0.3, 0.4])] * len(OF_ANY_SIZE))
    gradient = jax.grad(total_of_any_size)
    ours = qjit(gradient)
    for size in (1, 4):
        plain = jax.jit(gradient, static_argnums=1)(rows, size)
        for name, got, wanted in zip(OF_ANY_SIZE, ours(rows, size), plain, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8, err_msg=name)
