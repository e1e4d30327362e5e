"""Shapes, indices, sorting and sets: `jax.numpy`."""

import jax.numpy as jnp

from classical_200.rows import (
    ascending,
    family,
    indices,
    integers,
    normal,
    repeated,
    row,
    uniform,
)


def roll_stencil(u):
    """A step of the heat equation on a torus."""
    around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
    return u + 0.1 * (around - 4 * u)


def heat(u):
    """A step of the heat equation between fixed ends."""
    return u.at[1:-1].set(u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))


def game_of_life(board):
    near = sum(
        jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )
    return ((near == 3) | ((board == 1) & (near == 2))).astype(board.dtype)


SHAPES = family(
    "jax.numpy: shapes",
    row("large f32 forward alone", "transpose + 1", lambda x: x.T + 1, normal(1000, 1000)),
    row(
        "large f64 forward alone",
        "moveaxis of a cube",
        lambda x: jnp.moveaxis(x, 0, 2) * 2,
        normal(100, 100, 100),
    ),
    row(
        "large f64 forward loop",
        "roll stencil 512² × 100",
        repeated(roll_stencil, 100),
        normal(512, 512),
        times=100,
        whole=True,
    ),
    row(
        "cache f64 forward loop",
        "heat equation 100,000 × 100",
        repeated(heat, 100),
        normal(100_000),
        times=100,
        whole=True,
    ),
    row(
        "cache i32 forward loop",
        "game of life 128² × 100",
        repeated(game_of_life, 100),
        integers(128, 128, high=2),
        times=100,
        whole=True,
    ),
    row(
        "small f32 gradient loop",
        "stack, flip",
        lambda x: jnp.stack([x, jnp.flip(x), x * x]),
        normal(50),
    ),
    row(
        "cache f64 gradient alone",
        "concatenate, pad",
        lambda x: jnp.pad(jnp.concatenate([x, x[::-1]]), ((1, 1), (2, 2))),
        normal(200, 200),
    ),
    row(
        "cache f32 forward alone",
        "repeat, tile",
        lambda x: jnp.repeat(x, 3, 0) * jnp.tile(x, (3, 1)),
        normal(150, 150),
    ),
    row(
        "small f64 forward alone",
        "meshgrid",
        lambda x, y: sum(jnp.meshgrid(x, y)),
        normal(30),
        normal(30),
    ),
    row(
        "large f32 gradient alone",
        "rot90, tril",
        lambda x: jnp.tril(jnp.rot90(x)),
        normal(1000, 1000),
    ),
    row(
        "cache f64 gradient alone",
        "pad reflect",
        lambda x: jnp.pad(x, 8, mode="reflect"),
        normal(200, 200),
    ),
)
INDEXING = family(
    "jax.numpy: indexing",
    row(
        "large f64 forward alone",
        "gather x[i]",
        lambda x, i: x[i],
        normal(10**6),
        indices(10**6, high=10**6),
    ),
    row(
        "large f32 gradient alone",
        "embedding of words",
        lambda w, i: w[i],
        normal(5000, 64),
        indices(16_384, high=5000),
    ),
    row(
        "large f64 forward alone",
        "scatter-add",
        lambda x, i: jnp.zeros(1000, x.dtype).at[i].add(x),
        normal(10**6),
        indices(10**6, high=1000),
    ),
    row(
        "cache f32 forward loop",
        "x.at[i].set",
        lambda x, i: x.at[i].set(x[::-1][i] * 0.5),
        normal(50_000),
        indices(5000, high=50_000),
    ),
    row(
        "small f64 gradient loop",
        "take_along_axis",
        lambda x, i: jnp.take_along_axis(x, i, 1),
        normal(16, 16),
        indices(16, 4, high=16),
    ),
    row(
        "cache f64 forward alone",
        "x.at[i, j].max",
        lambda x, i, j: x.at[i, j].max(0.5),
        normal(300, 300),
        indices(9000, high=300),
        indices(9000, high=300),
    ),
    row(
        "large f32 forward alone",
        "select, choose",
        lambda x: jnp.select([x < -1, x < 0, x < 1], [x, x * x, jnp.sin(x)], 0.0),
        normal(10**6),
    ),
    row(
        "cache f32 gradient alone",
        "strided slices",
        lambda x: x[::2, 1::3] * x[1::2, ::3][:, : x[::2, 1::3].shape[1]],
        normal(300, 300),
    ),
    row(
        "cache f64 forward alone",
        "nonzero with size",
        lambda x: jnp.nonzero(x > 1, size=20_000)[0],
        normal(100_000),
    ),
    row(
        "small f64 forward alone",
        "diag, fill_diagonal",
        lambda x: jnp.diag(jnp.diag(x)) + jnp.fill_diagonal(x, 0.0, inplace=False),
        normal(16, 16),
    ),
)
SORTING = family(
    "jax.numpy: sorting",
    row(
        "large i64 forward alone",
        "sort int64 1e6",
        jnp.sort,
        integers(10**6, low=-(2**40), high=2**40),
    ),
    row(
        "cache i64 forward alone",
        "sort int64 1e5",
        jnp.sort,
        integers(10**5, low=-(2**40), high=2**40),
    ),
    row(
        "cache i64 forward alone",
        "sort int64 1e4",
        jnp.sort,
        integers(10**4, low=-(2**40), high=2**40),
    ),
    row("large f64 forward alone", "sort float64 1e6", jnp.sort, normal(10**6)),
    row("cache f32 gradient alone", "sort", jnp.sort, normal(50_000)),
    row("large f32 forward alone", "sort rows", lambda x: jnp.sort(x, axis=1), normal(1000, 1000)),
    row("small f64 forward loop", "sort 32", jnp.sort, normal(32)),
    row("large f64 forward alone", "argsort", jnp.argsort, normal(10**6)),
    row("cache f32 forward alone", "argsort axis 0", lambda x: jnp.argsort(x, 0), normal(300, 300)),
    row(
        "cache i64 forward alone",
        "lexsort",
        lambda a, b: jnp.lexsort((a, b)),
        integers(30_000, high=100),
        integers(30_000, high=100),
    ),
    row(
        "large f64 forward alone",
        "partition",
        lambda x: jnp.partition(x, 1000)[:1000],
        normal(10**6),
    ),
    row("small f32 gradient alone", "median of rows", lambda x: jnp.median(x, 1), normal(20, 21)),
)
SEARCHING = family(
    "jax.numpy: searching and sets",
    row(
        "cache f64 forward alone",
        "searchsorted",
        jnp.searchsorted,
        ascending(1000),
        normal(100_000),
    ),
    row("large f32 forward alone", "digitize", jnp.digitize, normal(10**6), ascending(100)),
    row(
        "large i64 forward alone",
        "unique with size",
        lambda x: jnp.unique(x, size=1000, fill_value=-1),
        integers(10**6, high=1000),
    ),
    row(
        "cache f64 forward alone",
        "unique_inverse",
        lambda x: jnp.unique(x, return_inverse=True, size=x.size)[1],
        normal(20_000),
    ),
    row(
        "cache i32 forward alone",
        "isin",
        jnp.isin,
        integers(50_000, high=10**6),
        integers(500, high=10**6),
    ),
    row(
        "small i64 forward alone",
        "union1d, intersect1d",
        lambda a, b: (jnp.union1d(a, b, size=200), jnp.intersect1d(a, b, size=100)),
        integers(100, high=150),
        integers(100, high=150),
    ),
    row(
        "large f64 forward alone",
        "interp 1e6",
        jnp.interp,
        normal(10**6),
        ascending(1000),
        normal(1000),
    ),
    row(
        "cache f64 gradient alone",
        "interp, by its points",
        lambda y, t, x: jnp.interp(t, x, y),
        normal(100),
        uniform(20_000),
        ascending(100),
    ),
    row(
        "small f32 forward loop",
        "argmax, count_nonzero",
        lambda x: (x.argmax(), jnp.count_nonzero(x > 0)),
        normal(200),
    ),
    row(
        "large f32 forward alone",
        "array_equal, allclose",
        lambda x, y: (jnp.array_equal(x, y), jnp.allclose(x, x + 1e-9)),
        normal(10**6),
        normal(10**6),
    ),
)
ROWS = SHAPES + INDEXING + SORTING + SEARCHING
