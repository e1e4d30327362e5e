"""`jax.numpy.linalg` and `jax.scipy.linalg`."""

import jax
import jax.numpy as jnp
from jax.scipy import linalg

from programs.matrix.runner import Program

TOLERANCE = 1e-9


def regular(s):
    """A matrix that can be inverted well."""
    return s / 16 + 8 * jnp.eye(s.shape[0])


def positive(s):
    """A symmetric, positive definite matrix."""
    return (s + s.T) / 32 + 16 * jnp.eye(s.shape[0])


def close(function):
    return Program(function, tolerance=TOLERANCE)


PROGRAMS = {
    "solve": close(
        lambda s, x, a: (jnp.linalg.solve(regular(s), x), jnp.linalg.solve(regular(s), a))
    ),
    "inv": close(lambda s: jnp.linalg.inv(regular(s))),
    "det": close(lambda s: (jnp.linalg.det(regular(s) / 8), jnp.linalg.slogdet(regular(s)))),
    "cholesky": close(
        lambda s: (jnp.linalg.cholesky(positive(s)), jnp.linalg.cholesky(positive(s), upper=True))
    ),
    "eigvalsh": close(lambda s: jnp.linalg.eigvalsh(positive(s))),
    "eigh": close(lambda s: (lambda r: (r[1] * r[0]) @ r[1].T)(jnp.linalg.eigh(positive(s)))),
    "svd": close(lambda a: jnp.linalg.svd(a, compute_uv=False)),
    "svd, all of it": close(
        lambda a: (lambda r: (r[0] * r[1]) @ r[2])(jnp.linalg.svd(a, full_matrices=False))
    ),
    "qr": close(
        lambda a: (lambda r: (abs(r[0]), abs(r[1])))(
            jnp.linalg.qr(jnp.concatenate([a, jnp.eye(3)]))
        )
    ),
    "eigvals": close(lambda s: jnp.sort(jnp.linalg.eigvals(positive(s)).real)),
    "lstsq": close(
        lambda a, x: jnp.linalg.lstsq(
            jnp.concatenate([a, jnp.eye(3)]), jnp.concatenate([x, jnp.ones(3)])
        )[0]
    ),
    "pinv": close(lambda a: jnp.linalg.pinv(jnp.concatenate([a, jnp.eye(3)]))),
    "matrix_rank": close(lambda a: jnp.linalg.matrix_rank(jnp.concatenate([a, jnp.eye(3)]))),
    "cond": close(lambda a: jnp.linalg.cond(jnp.concatenate([a, jnp.eye(3)]))),
    "norms": close(
        lambda s, x: (
            jnp.linalg.norm(x, 3),
            jnp.linalg.norm(s, "fro"),
            jnp.linalg.vector_norm(x),
            jnp.linalg.matrix_norm(s),
        )
    ),
    "norms by extremes": close(
        lambda a: (jnp.linalg.norm(a, jnp.inf, axis=1), jnp.linalg.norm(a, 1, axis=1))
    ),
    "trace, diagonal": lambda s: (jnp.linalg.trace(s), jnp.linalg.diagonal(s)),
    "solve_triangular": close(
        lambda s, x: (
            linalg.solve_triangular(regular(s), x),
            linalg.solve_triangular(regular(s), x, lower=True, trans=1),
        )
    ),
    "lu": close(lambda s: (lambda r: r[0] @ r[1] @ r[2])(linalg.lu(regular(s)))),
    "lu_solve": close(lambda s, x: linalg.lu_solve(linalg.lu_factor(regular(s)), x)),
    "cho_solve": close(lambda s, x: linalg.cho_solve(linalg.cho_factor(positive(s)), x)),
    "expm": close(lambda s: linalg.expm(s / 64)),
    "block_diag": lambda s, a: linalg.block_diag(s, a, jnp.ones((1, 2))),
    # For a size of 0 JAX has a case of its own.
    "toeplitz": Program(lambda x: linalg.toeplitz(x), compilations=2),
    "hilbert": lambda n: linalg.hilbert(3) * n,
    "polar": close(lambda a: linalg.polar(jnp.concatenate([a, 4 * jnp.eye(3)]))),
    "matrices of small dtypes": Program(
        lambda h: jnp.linalg.solve(jnp.outer(h, h) + 9 * jnp.eye(h.shape[0], dtype=h.dtype), h),
        tolerance=1e-4,
    ),
    "complex": close(
        lambda z: jnp.linalg.solve(jnp.outer(z, z.conj()) + 9 * jnp.eye(z.shape[0]), z)
    ),
    "batches": close(lambda a: jnp.linalg.inv(a[:, :, None] * a[:, None, :] + 9 * jnp.eye(3))),
    "determinants of batches": close(
        lambda a: jnp.linalg.det(a[:, :, None] * a[:, None, :] + 3 * jnp.eye(3))
    ),
    "grad of solve": close(
        lambda s, x: jax.grad(lambda v: jnp.sum(jnp.linalg.solve(regular(s), v) ** 2))(x)
    ),
    "grad of logdet": close(lambda s: jax.grad(lambda m: jnp.linalg.slogdet(m)[1])(regular(s))),
}
