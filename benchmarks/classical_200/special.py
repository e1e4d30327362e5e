"""Special functions and distributions: `jax.scipy.special`, `jax.scipy.stats`."""

import jax.scipy.special as sp
from jax.scipy import stats

from classical_200.rows import definite, family, indices, integers, normal, row, uniform


def kde(x, points):
    return stats.gaussian_kde(points)(x)


SPECIAL = family(
    "jax.scipy.special",
    row(
        "large f64 forward alone",
        "gammainc(2.5, a)",
        lambda a: sp.gammainc(2.5, a),
        uniform(100_000, high=10),
    ),
    row(
        "cache f64 forward alone",
        "gammainc, gammaincc",
        lambda a, x: sp.gammainc(a, x) + sp.gammaincc(a, x / 2),
        uniform(10_000, high=10),
        uniform(10_000, high=10),
    ),
    row("large f64 forward alone", "erf, erfc", lambda x: sp.erf(x) * sp.erfc(x), normal(10**6)),
    row(
        "large f32 forward alone",
        "erfinv, ndtri",
        lambda x: sp.erfinv(x) + sp.ndtri(x),
        uniform(10**6),
    ),
    row("cache f64 gradient alone", "gammaln", sp.gammaln, uniform(50_000, high=20)),
    row(
        "large f32 gradient alone",
        "gammaln, betaln",
        lambda x: sp.gammaln(x) + sp.betaln(x, 2.0),
        uniform(500_000, high=20),
    ),
    row("cache f32 forward loop", "digamma", sp.digamma, uniform(10_000, high=10)),
    row("small f64 forward loop", "i0e, i1e", lambda x: sp.i0e(x) * sp.i1e(x), normal(100)),
    row("small f64 gradient loop", "log_ndtr", sp.log_ndtr, normal(100)),
    row("cache f64 forward alone", "betainc", lambda x: sp.betainc(2.0, 3.5, x), uniform(20_000)),
    row(
        "cache f64 forward alone",
        "zeta, polygamma",
        lambda x: sp.zeta(x, 1.0) + sp.polygamma(1, x),
        uniform(20_000, low=1.5, high=9),
    ),
    row(
        "cache f32 forward alone",
        "expi, exp1",
        lambda x: sp.expi(x) + sp.exp1(x),
        uniform(20_000, high=5),
    ),
    row("cache f64 forward alone", "hyp1f1", lambda x: sp.hyp1f1(0.5, 1.5, x), normal(2000)),
    row(
        "large f64 forward alone",
        "xlogy, entr, rel_entr",
        lambda x, y: sp.xlogy(x, y) - sp.entr(x) + sp.rel_entr(x, y),
        uniform(10**6),
        uniform(10**6),
    ),
    row(
        "small f32 forward alone",
        "spence, logit",
        lambda x: sp.spence(x) + sp.logit(x),
        uniform(500),
    ),
    row(
        "cache f64 forward alone",
        "bessel_jn",
        lambda x: sp.bessel_jn(x, v=3, n_iter=50),
        uniform(2000, high=10),
    ),
    row(
        "cache f64 forward alone",
        "fresnel, sici",
        lambda x: sp.fresnel(x)[0] + sp.sici(x)[0],
        uniform(20_000, high=5),
    ),
    row("cache f32 gradient alone", "i0, by x", sp.i0, normal(50_000)),
)
STATS = family(
    "jax.scipy.stats",
    row(
        "large f64 forward alone",
        "norm.logpdf, norm.cdf",
        lambda x: stats.norm.logpdf(x) + stats.norm.cdf(x),
        normal(10**6),
    ),
    row(
        "small f64 gradient loop",
        "norm.logpdf",
        lambda x: stats.norm.logpdf(x, 0.1, 2.0),
        normal(100),
    ),
    row(
        "cache f64 gradient alone",
        "gamma.logpdf",
        lambda a, x: stats.gamma.logpdf(x, a),
        uniform(20_000, low=1, high=5),
        uniform(20_000, high=5),
    ),
    row(
        "cache f32 forward alone",
        "t.logpdf, beta.logpdf",
        lambda x: stats.t.logpdf(x, 3.0) + stats.beta.logpdf(x, 2.0, 3.0),
        uniform(50_000),
    ),
    row(
        "large f32 forward alone",
        "expon, laplace, cauchy",
        lambda x: stats.expon.logpdf(x) + stats.laplace.logpdf(x) + stats.cauchy.logcdf(x),
        uniform(10**6, high=4),
    ),
    row(
        "cache f64 forward alone",
        "poisson.logpmf, binom.logpmf",
        lambda p, k: stats.poisson.logpmf(k, p * 9) + stats.binom.logpmf(k, 20, p),
        uniform(50_000),
        indices(50_000, high=20),
    ),
    row(
        "cache f64 forward alone",
        "multivariate_normal.logpdf",
        stats.multivariate_normal.logpdf,
        normal(5000, 6),
        normal(6),
        definite(6),
    ),
    row("large f64 forward alone", "gaussian_kde", kde, normal(1000), normal(1000)),
    row("cache f32 forward alone", "rankdata", stats.rankdata, normal(20_000)),
    row("cache i64 forward alone", "mode", lambda x: stats.mode(x).mode, integers(2000, high=50)),
    row(
        "small f32 forward loop",
        "truncnorm.logpdf",
        lambda x: stats.truncnorm.logpdf(x, -2.0, 2.0),
        uniform(50),
    ),
)
ROWS = SPECIAL + STATS
