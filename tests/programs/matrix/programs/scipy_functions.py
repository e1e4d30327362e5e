"""`jax.scipy`: special functions, distributions, signals, interpolation."""

import jax
import jax.numpy as jnp
from jax.scipy import cluster, integrate, interpolate, ndimage, signal, special, stats

from diastase_runtime.errors import SizeMismatchError
from programs.matrix.runner import Program

PROGRAMS = {
    "gamma family": lambda y: (
        special.gammaln(y),
        special.gamma(y),
        special.digamma(y),
        special.factorial(y),
    ),
    "beta": lambda y, p: (special.beta(y, p), special.betaln(y, p)),
    "betainc": lambda y, p: special.betainc(y, y + 1, p),
    "gammaincc": lambda y, p: special.gammaincc(y, p),
    "error functions": lambda x, p: (
        special.erf(x),
        special.erfc(x),
        special.erfinv(x / 2),
        special.ndtr(x),
        special.ndtri(p),
        special.log_ndtr(x),
    ),
    "logistic": lambda x, p: (
        special.expit(x),
        special.logit(p),
        special.logsumexp(x),
        special.softmax(x + 0.0),
    ),
    "entropies": lambda p, y: (
        special.entr(p),
        special.kl_div(p, y),
        special.rel_entr(p, y),
        special.xlogy(p, y),
        special.xlog1py(p, y),
    ),
    "zeta, polygamma": Program(
        lambda y: (special.zeta(y + 1, 2.0), special.polygamma(1, y)), tolerance=1e-11
    ),
    "bessel": lambda x: (special.i0(x), special.i0e(x), special.i1(x), special.i1e(x)),
    "spence, boxcox": lambda y: (special.spence(y), special.boxcox(y, 0.5)),
    "expi": lambda y: special.expi(y),
    "multigammaln, poch": lambda y: (
        special.multigammaln(y + 2, 3),
        special.poch(y, 2.0),
        special.gammasgn(y),
    ),
    "norm": lambda x, p: (
        stats.norm.pdf(x),
        stats.norm.cdf(x),
        stats.norm.logpdf(x, 1.0, 2.0),
        stats.norm.ppf(p),
        stats.norm.sf(x),
    ),
    "distributions": lambda y, p: (
        stats.gamma.pdf(y, 2.0),
        stats.beta.pdf(p, 2.0, 3.0),
        stats.expon.logpdf(y),
        stats.uniform.pdf(p),
    ),
    "more distributions": lambda x, y: (
        stats.t.pdf(x, 3.0),
        stats.chi2.pdf(y, 2.0),
        stats.cauchy.pdf(x),
        stats.laplace.cdf(x),
        stats.logistic.pdf(x),
        stats.pareto.pdf(y + 1, 2.0),
    ),
    "discrete distributions": lambda c: (
        stats.poisson.pmf(c, 2.0),
        stats.binom.pmf(c, 10, 0.3),
        stats.bernoulli.pmf(c % 2, 0.3),
        stats.geom.pmf(c, 0.3),
    ),
    "multivariate_normal": lambda a: stats.multivariate_normal.logpdf(a, jnp.zeros(3), jnp.eye(3)),
    "sem": lambda x: stats.sem(x),
    "rankdata": lambda x: (stats.rankdata(x, method="min"), stats.rankdata(x)),
    "mode": Program(lambda a: stats.mode(jnp.concatenate([a, jnp.eye(3)]), axis=1)),
    "gaussian_kde": lambda x: stats.gaussian_kde(jnp.arange(5.0)).evaluate(x),
    "convolve": lambda x: signal.convolve(jnp.concatenate([x, jnp.ones(3)]), jnp.array([1.0, 2.0])),
    "correlate": lambda x: signal.correlate(
        jnp.concatenate([x, jnp.ones(3)]), jnp.array([1.0, 2.0]), mode="same"
    ),
    "detrend": lambda a: signal.detrend(a, axis=1),
    "detrend a dynamic axis": lambda x: signal.detrend(x, type="constant"),
    "map_coordinates": lambda x: ndimage.map_coordinates(
        jnp.arange(9.0).reshape(3, 3), [x, x], order=1
    ),
    "RegularGridInterpolator": lambda p: interpolate.RegularGridInterpolator(
        (jnp.arange(3.0),), jnp.array([1.0, 4.0, 9.0])
    )(p[:, None]),
    "vq": lambda a: cluster.vq.vq(a, jnp.eye(3)),
    "trapezoid": Program(lambda y: integrate.trapezoid(y), {0: SizeMismatchError}),
    "fft": lambda x: jnp.fft.fft(jnp.concatenate([x, jnp.ones(1)])),
    "fft and back": lambda x: jnp.fft.ifft(jnp.fft.fft(jnp.concatenate([x, jnp.ones(1)]))).real,
    "rfft": lambda t: jnp.fft.rfft(t, axis=0),
    "fftfreq": lambda n: (jnp.fft.fftfreq(n + 1), jnp.fft.rfftfreq(n + 1, 0.5)),
    "fftshift": lambda x: (jnp.fft.fftshift(x), jnp.fft.ifftshift(x)),
    "special in grad": lambda y: jax.grad(lambda v: special.gammaln(v).sum())(y),
}
