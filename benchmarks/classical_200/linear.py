"""Linear algebra: `jax.numpy.linalg`, `jax.lax.linalg`, `jax.scipy.linalg` and its sparse part."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax.scipy.sparse.linalg import bicgstab, cg, gmres

from classical_200.rows import definite, family, normal, regular, row, spread


def laplacian(u):
    return 2.1 * u - jnp.roll(u, 1) - jnp.roll(u, -1)


def tridiagonal(b, d):
    e = jnp.ones_like(d) * 0.3
    return jax.lax.linalg.tridiagonal_solve(e.at[0].set(0), d, e.at[-1].set(0), b[:, None])[:, 0]


NUMPY = family(
    "jax.numpy.linalg",
    row("small f64 forward loop", "solve 4×4", jnp.linalg.solve, regular(4), normal(4)),
    row(
        "cache f32 forward alone", "solve 100×100", jnp.linalg.solve, regular(100), normal(100, 10)
    ),
    row("large f64 forward alone", "solve 500×500", jnp.linalg.solve, regular(500), normal(500)),
    row("small f32 gradient alone", "inv 8×8", jnp.linalg.inv, regular(8)),
    row("small f64 gradient loop", "det 3×3", jnp.linalg.det, regular(3)),
    row("cache f64 gradient alone", "slogdet", lambda a: jnp.linalg.slogdet(a)[1], regular(100)),
    row("cache f64 forward alone", "cholesky of a batch", jnp.linalg.cholesky, definite(8, 500)),
    row("large f64 gradient alone", "cholesky 300×300", jnp.linalg.cholesky, definite(300)),
    row("cache f64 forward alone", "eigh 100×100", jnp.linalg.eigvalsh, definite(100)),
    row(
        "large f32 forward alone",
        "qr 500×200",
        lambda a: jnp.abs(jnp.linalg.qr(a)[1]),
        normal(500, 200),
    ),
    row(
        "cache f64 forward alone",
        "svd of a batch",
        lambda a: jnp.linalg.svd(a, compute_uv=False),
        normal(200, 8, 8),
    ),
    row(
        "large f64 forward alone",
        "svd 200×200",
        lambda a: jnp.linalg.svd(a, compute_uv=False),
        normal(200, 200),
    ),
    row("cache f64 gradient alone", "pinv", jnp.linalg.pinv, normal(60, 30)),
    row(
        "cache f64 forward alone",
        "lstsq",
        lambda a, b: jnp.linalg.lstsq(a, b)[0],
        normal(200, 30),
        normal(200),
    ),
    row(
        "cache f32 forward alone",
        "matrix_power",
        lambda a: jnp.linalg.matrix_power(a, 10),
        normal(100, 100, scale=0.1),
    ),
    row(
        "large f32 forward alone",
        "norm of rows",
        lambda a: jnp.linalg.norm(a, axis=1),
        normal(1000, 1000),
    ),
    row(
        "cache f64 forward alone",
        "eig values",
        lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))),
        normal(64, 64),
    ),
)
SCIPY = family(
    "jax.scipy.linalg, jax.lax.linalg",
    row("large f64 forward alone", "lu 512×512", lambda a: jsl.lu(a)[2], regular(512)),
    row("cache f64 forward alone", "expm 30×30", jsl.expm, normal(30, 30, scale=0.2)),
    row("small f32 forward loop", "expm 3×3", jsl.expm, normal(3, 3, scale=0.3)),
    row("cache f64 gradient alone", "expm 20×20", jsl.expm, normal(20, 20, scale=0.2)),
    row(
        "cache f32 forward alone",
        "cho_solve",
        lambda a, b: jsl.cho_solve(jsl.cho_factor(a), b),
        definite(100),
        normal(100, 20),
    ),
    row(
        "small f64 gradient loop",
        "solve_triangular",
        lambda b, a: jsl.solve_triangular(a, b, lower=True),
        normal(6),
        regular(6),
    ),
    row(
        "large f64 gradient alone",
        "solve_triangular",
        lambda b, a: jsl.solve_triangular(a, b, lower=True),
        normal(500, 100),
        definite(500),
    ),
    row("cache f64 forward alone", "sqrtm", lambda a: jsl.sqrtm(a).real, definite(20)),
    row(
        "cache f64 forward alone",
        "toeplitz, block_diag",
        lambda x: jsl.block_diag(jsl.toeplitz(x), jsl.toeplitz(x[::-1])),
        normal(100),
    ),
    row(
        "large f32 forward alone",
        "tridiagonal_solve",
        tridiagonal,
        normal(10**6),
        spread(1, 2, 10**6),
    ),
    row(
        "small f64 forward alone",
        "solve_sylvester",
        lambda a, b, c: jsl.solve_sylvester(a, b, c),
        regular(6),
        regular(6),
        normal(6, 6),
    ),
    row(
        "cache f64 forward alone",
        "hessenberg, schur",
        lambda a: jnp.abs(jnp.diag(jsl.schur(a)[0])).sum(),
        definite(40),
    ),
)
ITERATIVE = family(
    "jax.scipy.sparse.linalg",
    row("cache f64 forward alone", "cg", lambda b: cg(laplacian, b, tol=1e-8)[0], normal(50_000)),
    row(
        "small f32 gradient alone",
        "cg",
        lambda b: cg(laplacian, b, tol=1e-6, maxiter=50)[0],
        normal(100),
        tolerance=1e-3,
    ),
    row(
        "large f32 forward alone",
        "cg, 20 steps",
        lambda b: cg(laplacian, b, tol=0.0, maxiter=20)[0],
        normal(10**6),
        tolerance=1e-3,
    ),
    row(
        "cache f64 forward alone",
        "gmres",
        lambda b: gmres(laplacian, b, tol=1e-6, maxiter=3)[0],
        normal(2000),
        tolerance=1e-5,
    ),
    row(
        "small f64 forward loop",
        "bicgstab",
        lambda b: bicgstab(laplacian, b, tol=1e-10, maxiter=30)[0],
        normal(50),
        times=100,
    ),
)
ROWS = NUMPY + SCIPY + ITERATIVE
