"""The real functions that are measured: the program, its exact values, where to draw arguments.

`exact` takes Arb's balls; where it has no finite value (poles, infinities, NaN, outside of the
domain) `at_ends`, NumPy's or SciPy's function in float64, says what the value is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import scipy.special as sp
from flint import acb, arb
from jax import lax

from accuracy.arguments import Range

MANY, FEWER, FEW = 10**6, 10**5, 10**4


@dataclass(frozen=True)
class Function:
    """A row of the table for each of its types."""

    name: str
    program: Callable[..., Any]
    exact: Callable[..., Any]
    at_ends: Callable[..., Any]
    ranges: tuple[Range, ...]
    points: int = MANY
    has_long_doubles: bool = True
    """Whether `at_ends` takes them, and has their digits."""
    only_in_range: bool = False
    """Whether random arguments are drawn uniformly in the ranges alone."""
    whole: bool = False
    """Whether the first argument is a whole number."""
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32", "float64")


def _one(
    program: Callable[..., Any], exact: Callable[..., Any], at_ends: Any, low: float, high: float
) -> Function:
    return Function(f"lax.{program.__name__}", program, exact, at_ends, ((low, high),))


ELEMENTARY = (
    _one(lax.exp, arb.exp, np.exp, -750, 710),
    _one(lax.exp2, lambda x: arb(2) ** x, np.exp2, -1080, 1025),
    _one(lax.expm1, arb.expm1, np.expm1, -40, 40),
    _one(lax.log, arb.log, np.log, 0, 10),
    _one(lax.log1p, arb.log1p, np.log1p, -1, 10),
    Function("jnp.log2", jnp.log2, lambda x: x.log() / arb.const_log2(), np.log2, ((0, 10),)),
    Function("jnp.log10", jnp.log10, lambda x: x.log() / arb.const_log10(), np.log10, ((0, 10),)),
    _one(lax.sqrt, arb.sqrt, np.sqrt, 0, 10),
    _one(lax.rsqrt, arb.rsqrt, lambda x: 1 / np.sqrt(x), 0, 10),
    _one(lax.cbrt, lambda x: x.root(3) if x >= 0 else -((-x).root(3)), np.cbrt, -10, 10),
    _one(lax.sin, arb.sin, np.sin, -100, 100),
    _one(lax.cos, arb.cos, np.cos, -100, 100),
    _one(lax.tan, arb.tan, np.tan, -100, 100),
    _one(lax.asin, arb.asin, np.arcsin, -1, 1),
    _one(lax.acos, arb.acos, np.arccos, -1, 1),
    _one(lax.atan, arb.atan, np.arctan, -10, 10),
    _one(lax.sinh, arb.sinh, np.sinh, -30, 30),
    _one(lax.cosh, arb.cosh, np.cosh, -30, 30),
    _one(lax.tanh, arb.tanh, np.tanh, -20, 20),
    _one(lax.asinh, arb.asinh, np.arcsinh, -10, 10),
    _one(lax.acosh, arb.acosh, np.arccosh, 1, 10),
    _one(lax.atanh, arb.atanh, np.arctanh, -1, 1),
    _one(lax.logistic, lambda x: 1 / (1 + (-x).exp()), sp.expit, -40, 40),
    Function(
        "jax.nn.softplus", jax.nn.softplus, lambda x: x.exp().log1p(),
        lambda x: np.logaddexp(x, 0), ((-40, 40),),
    ),
)  # fmt: skip


def _log_gamma(x: arb) -> arb:
    """Of the size of the gamma function."""
    return x.lgamma() if x > 0 else acb(x).lgamma().real


def _scaled_bessel(order: int) -> Callable[[arb], arb]:
    """Of either sign, which Arb's scaling by exp(-x) is not for."""

    def of(x: arb) -> arb:
        value = abs(x).bessel_i(arb(order), scaled=True)
        return -value if order and x < 0 else value

    return of


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _special(name: str, exact: Any, low: float, high: float, points: int = FEW) -> Function:
    program, at_ends = getattr(jsp, name), getattr(sp, name)
    return Function(f"scipy.special.{name}", program, exact, at_ends, ((low, high),), points, False)


def _wide_only(function: Function) -> Function:
    """For those that take no floats of 16 bits, or compute in 32."""
    return replace(function, dtypes=("float32", "float64"))


SPECIAL = (
    _special("erf", arb.erf, -6, 6),
    _special("erfc", arb.erfc, -6, 27),
    _special("erfinv", arb.erfinv, -1, 1),
    _special("gammaln", _log_gamma, -20, 100),
    _special("gamma", arb.gamma, -20, 171),
    _special("digamma", arb.digamma, -20, 100),
    _special("i0e", _scaled_bessel(0), -50, 50),
    _special("i1e", _scaled_bessel(1), -50, 50),
    _special("i0", lambda x: x.bessel_i(arb(0)), -50, 50),
    _special("i1", lambda x: x.bessel_i(arb(1)), -50, 50),
    _wide_only(_special("ndtr", _normal, -37, 8)),
    _wide_only(_special("ndtri", lambda p: -arb(2).sqrt() * (2 * p).erfcinv(), 0, 1)),
    _wide_only(_special("log_ndtr", lambda x: _normal(x).log(), -40, 10)),
    _special("logit", lambda p: (p / (1 - p)).log(), 0, 1),
    _special("entr", lambda x: -x * x.log(), 0, 10),
    # Not `expi` and `exp1`: XLA goes on for minutes where one of the arguments is tiny.
)

_GAMMA = dict(points=FEW, has_long_doubles=False, only_in_range=True)

TWO = (
    Function("lax.pow", lax.pow, lambda x, y: x**y, np.power, ((0, 10), (-20, 20))),
    Function("lax.atan2", lax.atan2, arb.atan2, np.arctan2, ((-10, 10), (-10, 10))),
    Function(
        "jnp.hypot", jnp.hypot, lambda x, y: (x * x + y * y).sqrt(), np.hypot,
        ((-10, 10), (-10, 10)),
    ),
    Function(
        "jnp.logaddexp", jnp.logaddexp, lambda x, y: x.max(y) + (-abs(x - y)).exp().log1p(),
        np.logaddexp, ((-40, 40), (-40, 40)),
    ),
    Function(
        "jnp.logaddexp2", jnp.logaddexp2,
        lambda x, y: x.max(y) + (arb(2) ** -abs(x - y)).log1p() / arb.const_log2(),
        np.logaddexp2, ((-40, 40), (-40, 40)),
    ),
    Function(
        "scipy.special.xlogy", jsp.xlogy, lambda x, y: x * y.log(), sp.xlogy, ((-10, 10), (0, 10)),
        FEWER, False,
    ),
    Function(
        "scipy.special.xlog1py", jsp.xlog1py, lambda x, y: x * y.log1p(), sp.xlog1py,
        ((-10, 10), (-1, 10)), FEWER, False,
    ),
    Function(
        "scipy.special.betaln", jsp.betaln,
        lambda a, b: a.lgamma() + b.lgamma() - (a + b).lgamma(), sp.betaln, ((0, 50), (0, 50)),
        **_GAMMA,
    ),
    Function(
        "scipy.special.gammainc", jsp.gammainc, lambda a, x: x.gamma_lower(a, 1), sp.gammainc,
        ((0, 60), (0, 60)), **_GAMMA,
    ),
    Function(
        "scipy.special.gammaincc", jsp.gammaincc, lambda a, x: x.gamma_upper(a, 1), sp.gammaincc,
        ((0, 60), (0, 60)), **_GAMMA,
    ),
    Function(
        "scipy.special.zeta", jsp.zeta, lambda s, q: s.zeta(q), sp.zeta, ((1, 30), (0, 50)),
        **_GAMMA,
    ),
    Function(
        "scipy.special.polygamma", lambda n, x: jsp.polygamma(n.astype(int), x),
        lambda n, x: acb(x).polygamma(acb(n)).real,
        lambda n, x: sp.polygamma(n.astype(int), x), ((1, 9), (0, 50)), whole=True, **_GAMMA,
    ),
    Function(
        "scipy.special.betainc", jsp.betainc, lambda a, b, x: x.beta_lower(a, b, 1), sp.betainc,
        ((0, 40), (0, 40), (0, 1)), **_GAMMA,
    ),
)  # fmt: skip

COMPLEX_DTYPES = ("complex64", "complex128")


def _of_complex(
    name: str, program: Any, exact: Any, at_ends: Any, width: float = 10, points: int = FEWER
) -> Function:
    ranges = ((-width, width),)
    return Function(name, program, exact, at_ends, ranges, points, dtypes=COMPLEX_DTYPES)


COMPLEX = (
    *(
        _of_complex(f"lax.{name}", getattr(lax, name), getattr(acb, name), at_ends)
        for name, at_ends in {
            "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
            "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
            "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
            "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
        }.items()
    ),
    _of_complex("lax.rsqrt", lax.rsqrt, acb.rsqrt, lambda z: 1 / np.sqrt(z)),
    _of_complex("lax.logistic", lax.logistic, lambda z: 1 / (1 + (-z).exp()),
                lambda z: 1 / (1 + np.exp(-z))),
    _of_complex("lax.square", lax.square, lambda z: z * z, np.square),
    _of_complex("jnp.reciprocal", jnp.reciprocal, lambda z: 1 / z, np.reciprocal),
    _of_complex("lax.sign", lax.sign, acb.sgn, np.sign),
)  # fmt: skip

_PLANE = ((-10.0, 10.0), (-10.0, 10.0))
COMPLEX_TWO = tuple(
    Function(
        f"lax.{name}", getattr(lax, name), exact, at_ends, _PLANE, points, dtypes=COMPLEX_DTYPES
    )
    for name, exact, at_ends, points in (
        ("mul", lambda w, z: w * z, np.multiply, FEWER),
        ("div", lambda w, z: w / z, np.divide, FEWER),
        ("pow", lambda w, z: (w.log() * z).exp(), np.power, FEWER),
    )
)

FUNCTIONS = (*ELEMENTARY, *SPECIAL, *TWO, *COMPLEX, *COMPLEX_TWO)
