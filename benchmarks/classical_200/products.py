"""Products of arrays, polynomials and signals: `jax.numpy`."""

import jax.numpy as jnp

from classical_200.rows import family, normal, row, spread


def pairwise_distances(x):
    return jnp.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(-1) + 1e-9)


PRODUCTS = family(
    "jax.numpy: products",
    row(
        "large f64 forward alone",
        "sin of matmul 512²",
        lambda a, b: jnp.sin(a @ b),
        normal(512, 512),
        normal(512, 512),
    ),
    row("cache f32 gradient alone", "matmul 128²", jnp.matmul, normal(128, 128), normal(128, 128)),
    row("small f64 forward loop", "3×3 products", lambda a, b: a @ b, normal(3, 3), normal(3, 3)),
    row(
        "cache f64 forward alone",
        "batch of 4×4 products",
        jnp.matmul,
        normal(5000, 4, 4),
        normal(5000, 4, 4),
    ),
    row(
        "large f32 forward alone",
        "einsum bij,bjk->bik",
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        normal(64, 128, 128),
        normal(64, 128, 128),
    ),
    row(
        "cache f64 gradient alone",
        "einsum ijk,jl,kl->il",
        lambda a, b, c: jnp.einsum("ijk,jl,kl->il", a, b, c),
        normal(30, 30, 30),
        normal(30, 30),
        normal(30, 30),
    ),
    row(
        "cache f32 forward loop",
        "matrix times vector",
        lambda x, a: a @ x,
        normal(256),
        normal(256, 256, scale=0.05),
    ),
    row(
        "large f64 gradient alone",
        "tensordot",
        lambda a, b: jnp.tensordot(a, b, 2),
        normal(100, 100, 100),
        normal(100, 100),
    ),
    row(
        "large f64 forward alone",
        "outer, kron",
        lambda x, y: jnp.outer(x, y) + jnp.kron(x[:, None], y[None, :]),
        normal(1000),
        normal(1000),
    ),
    row("large f32 forward alone", "vdot", jnp.vdot, normal(10**6), normal(10**6)),
    row("small f64 forward loop", "cross", jnp.cross, normal(100, 3), normal(100, 3)),
    row("cache f64 gradient loop", "pairwise distances", pairwise_distances, normal(100, 3)),
    row("large f64 forward alone", "pairwise distances", pairwise_distances, normal(1000, 3)),
)
POLYNOMIALS = family(
    "jax.numpy: polynomials, signals, windows",
    row(
        "large f64 forward alone",
        "polyval",
        lambda x: jnp.polyval(jnp.arange(1.0, 9.0), x),
        normal(10**6),
    ),
    row(
        "small f64 forward alone",
        "polyfit",
        lambda y, x: jnp.polyfit(x, y, 3),
        normal(100),
        spread(-1, 1, 100),
    ),
    row(
        "small f32 gradient loop",
        "polymul, polyder",
        lambda p, q: jnp.polyder(jnp.polymul(p, q)),
        normal(8),
        normal(8),
    ),
    row(
        "cache f64 forward alone",
        "roots",
        lambda p: jnp.abs(jnp.roots(p, strip_zeros=False)).max(),
        normal(60),
    ),
    row(
        "cache f32 forward alone",
        "convolve",
        lambda x, k: jnp.convolve(x, k, mode="same"),
        normal(50_000),
        normal(31),
    ),
    row(
        "cache f64 gradient alone",
        "correlate",
        lambda x, k: jnp.correlate(x, k, mode="valid"),
        normal(50_000),
        normal(15),
    ),
    row("large f32 forward alone", "unwrap", jnp.unwrap, normal(10**6, scale=3)),
    row(
        "cache f64 forward loop",
        "hanning window",
        lambda x: x * jnp.hanning(10_000),
        normal(10_000),
    ),
    row("large f64 forward alone", "i0", jnp.i0, normal(10**6)),
    row("small f64 forward alone", "vander", lambda x: jnp.vander(x, 10), normal(50)),
    row(
        "large f32 gradient alone",
        "piecewise",
        lambda x: jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v]),
        normal(10**6),
    ),
    row(
        "cache f64 forward alone",
        "vectorize, apply_along_axis",
        lambda x: jnp.apply_along_axis(lambda r: r / jnp.linalg.norm(r), 1, x),
        normal(1000, 64),
    ),
)
ROWS = PRODUCTS + POLYNOMIALS
