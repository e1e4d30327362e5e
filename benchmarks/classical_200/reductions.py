"""Sums and their like over axes, statistics, cumulative functions, histograms: `jax.numpy`."""

import jax.numpy as jnp

from classical_200.rows import booleans, family, indices, normal, row, uniform

ROWS = family(
    "jax.numpy: reductions",
    row("small f64 forward alone", "sum", jnp.sum, normal(1000)),
    row("large f64 forward alone", "sum axis 0", lambda x: x.sum(0), normal(1000, 1000)),
    row("large f32 forward alone", "sum axis 1", lambda x: x.sum(1), normal(1000, 1000)),
    row(
        "cache f32 forward loop",
        "sum of each axis",
        lambda x: (x.sum(0), x.sum(1), x.sum(2)),
        normal(32, 32, 32),
    ),
    row(
        "large f64 forward alone",
        "any(axis=0) 2000²",
        lambda x: x.any(axis=0),
        booleans(2000, 2000),
    ),
    row("large f64 forward alone", "argmax", lambda x: x.argmax(1), normal(1000, 1000)),
    row("cache f32 forward loop", "argmin axis 0", lambda x: x.argmin(0), normal(300, 300)),
    row(
        "cache f64 gradient alone",
        "prod axis 1",
        lambda x: x.prod(1),
        uniform(2000, 16, low=0.5, high=1.5),
    ),
    row("large f32 gradient alone", "max axis 0", lambda x: x.max(0), normal(1000, 1000)),
    row(
        "small f32 gradient loop", "norm of rows", lambda x: jnp.sqrt((x * x).sum(1)), normal(32, 8)
    ),
)
STATISTICS = family(
    "jax.numpy: statistics",
    row(
        "large f64 forward alone", "mean, var", lambda x: (x.mean(1), x.var(1)), normal(1000, 1000)
    ),
    row("cache f32 gradient alone", "std axis 0", lambda x: x.std(0), normal(500, 200)),
    row(
        "small f64 gradient loop", "standard score", lambda x: (x - x.mean()) / x.std(), normal(100)
    ),
    row("large f64 forward alone", "median", jnp.median, normal(10**6)),
    row(
        "cache f64 forward alone",
        "percentile",
        lambda x: jnp.percentile(x, 90, axis=0),
        normal(300, 300),
    ),
    row(
        "large f32 forward alone",
        "quantile of rows",
        lambda x: jnp.quantile(x, jnp.array([0.1, 0.5]), axis=1),
        normal(1000, 1000),
    ),
    row("cache f64 forward alone", "cov", jnp.cov, normal(50, 2000)),
    row("small f32 forward loop", "corrcoef", jnp.corrcoef, normal(8, 32)),
    row(
        "cache f32 forward alone", "histogram", lambda x: jnp.histogram(x, 100)[0], normal(100_000)
    ),
    row(
        "large f64 forward alone",
        "bincount with weights",
        lambda w, i: jnp.bincount(i, w, length=1000),
        normal(10**6),
        indices(10**6, high=1000),
    ),
    row(
        "cache f64 forward alone",
        "histogram2d",
        lambda x, y: jnp.histogram2d(x, y, 20)[0],
        normal(20_000),
        normal(20_000),
    ),
    row(
        "cache f64 gradient alone",
        "average with weights",
        lambda x, w: jnp.average(x, axis=1, weights=w),
        normal(400, 200),
        uniform(200),
    ),
    row(
        "large f32 forward alone",
        "nanmean, nanmax",
        lambda x: (jnp.nanmean(x, 0), jnp.nanmax(x, 0)),
        normal(1000, 1000),
    ),
)
CUMULATIVE = family(
    "jax.numpy: cumulative",
    row("large f64 forward alone", "cumsum", jnp.cumsum, normal(10**6)),
    row("cache f32 forward loop", "cumsum axis 0", lambda x: jnp.cumsum(x, 0), normal(200, 200)),
    row(
        "cache f64 gradient alone",
        "cumprod axis 1",
        lambda x: jnp.cumprod(x, 1),
        uniform(1000, 50, low=0.9, high=1.1),
    ),
    row("small f32 gradient loop", "cumsum of exp", lambda x: jnp.cumsum(jnp.exp(x)), normal(100)),
    row(
        "large f64 forward alone",
        "diff, ediff1d",
        lambda x: jnp.diff(x, 2)[:-1] + jnp.ediff1d(x)[2:],
        normal(10**6),
    ),
    row(
        "large f32 gradient alone",
        "gradient (differences)",
        lambda x: jnp.gradient(x, axis=0),
        normal(1000, 1000),
    ),
    row("small f64 forward alone", "trapezoid", lambda y: jnp.trapezoid(y, dx=0.1), normal(1000)),
)
