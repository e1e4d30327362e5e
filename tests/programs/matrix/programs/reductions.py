"""Reductions, cumulative functions, statistics."""

import jax.numpy as jnp

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

EMPTY = {0: SizeMismatchError}
SUMS = 1e-11

PROGRAMS = {
    "sum": lambda x, a, i, b: (
        x.sum(),
        a.sum(0),
        a.sum(1),
        a.sum(),
        i.sum(),
        b.sum(),
        a.sum(0, keepdims=True),
    ),
    "sum with options": lambda a, b: (
        jnp.sum(a, where=b[:, None]),
        jnp.sum(a, initial=5.0),
        jnp.sum(a, axis=(0, 1), dtype=jnp.float32),
    ),
    "prod": lambda y, a, c: (y.prod(), jnp.prod(a, 0), jnp.prod(a, 1), jnp.prod(c)),
    "mean": lambda a, i: (a.mean(), a.mean(0), a.mean(1), i.mean()),
    "mean where": lambda x, b: jnp.mean(x, where=b),
    "average": lambda x, y: (
        jnp.average(x),
        jnp.average(x, weights=y),
        jnp.average(x, weights=y, returned=True),
    ),
    "variance": lambda a, x, z: (x.var(), x.std(), a.var(0), a.std(1), z.var(), x.var(ddof=1)),
    "max, min": Program(lambda x, a, i: (x.max(), x.min(), a.max(0), i.min()), EMPTY),
    "max of rows": lambda a, v: (a.max(1), a.min(1), v.max((0, 2))),
    "max with a start": lambda x, b: (jnp.max(x, initial=-9.0), jnp.min(x, initial=9.0, where=b)),
    "ptp": Program(lambda x, a: (jnp.ptp(x), jnp.ptp(a, 0)), EMPTY),
    "argmax, argmin": Program(
        lambda x, a: (jnp.argmax(x), jnp.argmin(x), a.argmax(0), jnp.argmax(a)), EMPTY
    ),
    "argmax of rows": lambda a: (a.argmax(1), jnp.argmin(a, 1, keepdims=True)),
    "any, all": lambda b, a: (b.any(), b.all(), (a > 0).any(0), (a > 0).all(1)),
    "count_nonzero": lambda i, a: (jnp.count_nonzero(i), jnp.count_nonzero(a > 0, axis=0)),
    "nan sums": lambda x: (
        jnp.nansum(jnp.sqrt(x)),
        jnp.nanprod(jnp.sqrt(x)),
        jnp.nanmean(jnp.sqrt(x)),
        jnp.nanvar(jnp.sqrt(x)),
        jnp.nanstd(jnp.sqrt(x)),
    ),
    "nan extremes": Program(lambda x: (jnp.nanmax(jnp.sqrt(x)), jnp.nanmin(jnp.sqrt(x))), EMPTY),
    "nan positions": Program(
        lambda x: (jnp.nanargmax(jnp.sqrt(x)), jnp.nanargmin(jnp.sqrt(x))), EMPTY
    ),
    "cumsum": lambda x, a, i, b: (
        jnp.cumsum(x),
        jnp.cumsum(a),
        jnp.cumsum(a, 0),
        jnp.cumsum(a, 1),
        jnp.cumsum(i),
        jnp.cumsum(b),
    ),
    "cumprod": lambda y, a: (jnp.cumprod(y), jnp.cumprod(a, 0)),
    "cumulative_sum": lambda x, a: (
        jnp.cumulative_sum(x),
        jnp.cumulative_sum(x, include_initial=True),
        jnp.cumulative_prod(x),
    ),
    "nan cumulative": lambda x: (jnp.nancumsum(jnp.sqrt(x)), jnp.nancumprod(jnp.sqrt(x))),
    "maximum.accumulate": lambda x: jnp.maximum.accumulate(x),
    "diff": lambda x, a: (jnp.diff(x), jnp.diff(x, 2), jnp.diff(a, axis=0), jnp.diff(a, axis=1)),
    "diff with ends": lambda x: (jnp.diff(x, prepend=0.0), jnp.diff(x, append=x)),
    "ediff1d": lambda x: (jnp.ediff1d(x), jnp.ediff1d(x, to_begin=1.0, to_end=2.0)),
    "gradient": lambda y, n: jnp.gradient(jnp.concatenate([y, y, jnp.ones(2)])),
    "trapezoid": Program(
        lambda x, y: (jnp.trapezoid(y), jnp.trapezoid(y, x), jnp.trapezoid(y, dx=0.5)), EMPTY
    ),
    "median": Program(lambda x, a: (jnp.median(x), jnp.median(a, 1)), EMPTY),
    "median of columns": Program(lambda a: jnp.median(a, 0), EMPTY),
    "nanmedian": lambda x: jnp.nanmedian(jnp.sqrt(jnp.append(x, 1.0))),
    "quantile": lambda a: jnp.quantile(a, 0.3, axis=1),
    "quantile of all": Program(lambda x: jnp.quantile(x, jnp.array([0.0, 0.3, 1.0])), EMPTY),
    "quantile, methods": Program(
        lambda x: (jnp.quantile(x, 0.4, method="lower"), jnp.quantile(x, 0.4, method="nearest")),
        EMPTY,
    ),
    "percentile": Program(
        lambda x: (jnp.percentile(x, 25), jnp.percentile(x, jnp.array([10.0, 90.0]))), EMPTY
    ),
    "nanquantile": lambda x: (
        jnp.nanquantile(jnp.append(x, jnp.nan), 0.5),
        jnp.nanpercentile(jnp.sqrt(jnp.append(x, 1.0)), 70.0),
    ),
    "cov": lambda t: jnp.cov(t),
    "cov of columns": lambda a: jnp.cov(a, rowvar=False),
    "cov of a vector": lambda x: (jnp.cov(x), jnp.cov(x, ddof=0)),
    "cov, sizes in the result": Program(lambda a: jnp.cov(a), compilations=3),  # of 1: a scalar
    "corrcoef": lambda t: jnp.corrcoef(t),
    "histogram": lambda x: jnp.histogram(x, bins=5, range=(-2.0, 2.0)),
    "histogram with its range": lambda x: jnp.histogram(jnp.append(x, 0.5), bins=4),
    "histogram of edges": lambda x: jnp.histogram(
        x, bins=jnp.array([-2.0, 0.0, 0.5, 2.0]), density=True
    ),
    "histogram2d": lambda x, y: jnp.histogram2d(x, y, bins=3, range=[(-2, 2), (0, 2)]),
    "histogram_bin_edges": lambda x: jnp.histogram_bin_edges(x, bins=4, range=(-2, 2)),
    "bincount": lambda c: (jnp.bincount(c, length=8), jnp.bincount(c, weights=c * 0.5, length=8)),
    "logsumexp": lambda a: jnp.logaddexp.reduce(a, axis=1),
    "norms": lambda x, a: (
        jnp.linalg.norm(x),
        jnp.linalg.norm(a),
        jnp.linalg.norm(a, axis=1),
        jnp.linalg.norm(x, 1),
    ),
    "packbits": lambda b, u: (jnp.packbits(b), jnp.unpackbits(u)),
    "interp": lambda x: jnp.interp(x, jnp.array([-1.0, 0.0, 1.0]), jnp.array([3.0, 1.0, 2.0])),
    "interp in an array": Program(
        lambda x: jnp.interp(jnp.array([-1.0, 0.25, 3.0]), jnp.sort(x), x), EMPTY
    ),
    "digitize": lambda x: (
        jnp.digitize(x, jnp.array([-1.0, 0.0, 1.0])),
        jnp.digitize(0.3, jnp.sort(x)),
    ),
}
