"""`jax.scipy` besides linear algebra: special functions, statistics, signals and the rest."""

import importlib

import jax.numpy as jnp
import jax.scipy.cluster.vq
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.signal as signal
import jax.scipy.special as sp
import jax.scipy.stats as stats
from jax.scipy.spatial import transform

from programs.surface.table import Table, calls, each

SPECIAL = {
    **each(
        sp,
        "dawsn digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit factorial fresnel gamma"
        " gammaln gammasgn i0 i0e i1 i1e log_ndtr log_softmax loggamma logit logsumexp ndtr ndtri"
        " sici softmax spence",
        lambda f, a: f(a.x),
    ),
    **each(
        sp,
        "beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch rel_entr xlog1py"
        " xlogy",
        lambda f, a: f(a.x, a.y),
    ),
    **calls(
        sp,
        {
            "bernoulli": lambda a: sp.bernoulli(6),
            "bessel_jn": lambda a: sp.bessel_jn(a.v, v=2),
            "betainc": lambda a: sp.betainc(a.x, a.y, a.u),
            "expn": lambda a: sp.expn(a.j, a.x),
            "hyp1f1": lambda a: sp.hyp1f1(a.x, a.y, a.u),
            "hyp2f1": lambda a: sp.hyp2f1(a.x, a.y, 1.5, a.u),
            "multigammaln": lambda a: sp.multigammaln(a.x + 3, 2),
            "polygamma": lambda a: sp.polygamma(a.j, a.x),
            "sph_harm_y": lambda a: sp.sph_harm_y(a.k[:1], a.k[1:2], a.v[:1], a.w[:1], n_max=3),
            "wofz": lambda a: sp.wofz(a.c),
            "zeta": lambda a: sp.zeta(a.x + 1, a.y),
        },
    ),
}

# The parameters of each distribution besides its first argument.
_PARAMETERS = {
    **dict.fromkeys(
        "cauchy expon gumbel_l gumbel_r laplace logistic norm uniform".split(), lambda a: ()
    ),
    **dict.fromkeys("chi2 gamma gennorm t vonmises pareto".split(), lambda a: (a.y + 1,)),
    "bernoulli": lambda a: (a.y,),
    "beta": lambda a: (a.y, a.u),
    "betabinom": lambda a: (5, a.y, a.u),
    "binom": lambda a: (5, a.y),
    "geom": lambda a: (a.y,),
    "nbinom": lambda a: (5, a.y),
    "poisson": lambda a: (a.y,),
    "truncnorm": lambda a: (-1.0, 2.0),
    "wrapcauchy": lambda a: (a.y,),
}
_DISCRETE = {"bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"}


def _univariate() -> Table:
    table: Table = {}
    for name, parameters in _PARAMETERS.items():
        module = importlib.import_module(f"jax.scipy.stats.{name}")
        shifted = 1.1 if name == "pareto" else 0.0  # its support starts at 1

        def call(f, a, name=name, parameters=parameters, shifted=shifted):
            if f.__name__ == "entropy":
                return f(*parameters(a))
            quantile = f.__name__ in ("ppf", "isf")
            first = a.j if name in _DISCRETE and not quantile else a.x
            return f(first + (0 if quantile else shifted), *parameters(a))

        table |= each(module, "cdf entropy isf logcdf logpdf logpmf logsf pdf pmf ppf sf", call)
    return table


STATISTICS = {
    **_univariate(),
    **calls(
        stats.dirichlet,
        {
            "logpdf": lambda a: stats.dirichlet.logpdf(a.v / a.v.sum(), a.w),
            "pdf": lambda a: stats.dirichlet.pdf(a.v / a.v.sum(), a.w),
        },
    ),
    **each(stats.multinomial, "logpmf pmf", lambda f, a: f(a.k, jnp.sum(a.k), a.v / a.v.sum())),
    **each(stats.multivariate_normal, "logpdf pdf", lambda f, a: f(a.x, a.y[0], a.spd)),
    **each(stats, "mode rankdata sem", lambda f, a: f(a.x, axis=1)),
    **calls(
        stats,
        {
            "gaussian_kde": lambda a: stats.gaussian_kde(a.v)(a.w),
            "gaussian_kde:pdf": lambda a: stats.gaussian_kde(a.v).logpdf(a.w),
            "gaussian_kde:integrate_gaussian": lambda a: stats.gaussian_kde(a.v).integrate_gaussian(
                a.w[0], a.w[1]
            ),
            "gaussian_kde:resample": lambda a: stats.gaussian_kde(a.v).resample(a.key, (3,)),
        },
    ),
}

SIGNALS = {
    **each(signal, "convolve correlate fftconvolve", lambda f, a: f(a.v, a.w, mode="same")),
    **each(signal, "convolve2d correlate2d", lambda f, a: f(a.m, a.x)),
    **each(signal, "stft welch", lambda f, a: f(a.signal, nperseg=8)),
    **calls(
        signal,
        {
            "csd": lambda a: signal.csd(a.signal, a.signal * 2 + 1, nperseg=8),
            "detrend": lambda a: signal.detrend(a.signal),
            "istft": lambda a: signal.istft(signal.stft(a.signal, nperseg=8)[2], nperseg=8),
        },
    ),
}


def _minimize(a):
    result = jax.scipy.optimize.minimize(lambda z: jnp.sum((z - 1) ** 4 + z**2), a.v, method="BFGS")
    return result.x


OTHERS = {
    **calls(
        jax.scipy.ndimage,
        {
            "map_coordinates": lambda a: jax.scipy.ndimage.map_coordinates(
                a.m, [2 * a.v, 2 * a.w], order=1
            )
        },
    ),
    **each(jax.scipy.integrate, "trapezoid", lambda f, a: f(a.x, a.y)),
    **each(jax.scipy.cluster.vq, "vq", lambda f, a: f(a.x, a.m)),
    **calls(
        jax.scipy.interpolate,
        {
            "RegularGridInterpolator": lambda a: jax.scipy.interpolate.RegularGridInterpolator(
                (jnp.arange(2.0), jnp.arange(3.0)), a.x
            )(a.y[:, :2])
        },
    ),
    **calls(jax.scipy.optimize, {"minimize": _minimize}),
    **calls(
        transform,
        {
            "Rotation": lambda a: transform.Rotation.from_rotvec(a.x).as_matrix(),
            "Rotation:euler": lambda a: transform.Rotation.from_euler("xyz", a.x).as_quat(),
            "Slerp": lambda a: transform.Slerp.init(
                jnp.arange(2.0), transform.Rotation.from_rotvec(a.x)
            )(a.v).as_quat(),
        },
    ),
}
