"""`exp`, `expm1`, `tanh`, `log` and `log1p`: powers of two taken out, a polynomial of what is left.

Exponentials: `x = n ln 2 + r` with `|r| <= ln 2 / 2`, and `exp(r) = 1 + r + r**2 q(r)` (W. J. Cody
and W. Waite, *Software Manual for the Elementary Functions*, 1980; J.-M. Muller, *Elementary
Functions*). A result is kept as an unrounded sum of two numbers until the end where more follows.

Logarithms: `x = 2**k (1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`, and, with
`s = f / (2 + f)`, `log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + R(s**2)))`: the small terms are added
up before the large one (the scheme of P. T. P. Tang, *Table-driven implementation of the logarithm
function*, 1990, without the table, as in Sun's fdlibm).

The polynomials `q` and `R(z) / z` are minimax ones, computed with Remez' algorithm in 100 digits.
`q` is for the smallest error of `exp(r) - 1` relative to `r`: 2^-61. Where `R` meets the result,
its error is below 2^-58.
"""

from diastase_engine.vector_math.numbers import (
    Bits,
    Number,
    at_least,
    at_most,
    exact_product,
    exact_sum,
    fma,
    nearest_integer,
    polynomial,
    power_of_two,
    scaled,
    select,
)

_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_LN2 = float.fromhex("0x1.62e42fefa3800p-1")
"""The first 42 bits: times an integer of 11 bits, still a number."""
_LN2_REST = float.fromhex("0x1.ef35793c76730p-45")

_EXP = (
    0.5, 0.16666666666666677, 0.0416666666666667, 0.00833333333332165, 0.0013888888888866897,
    0.00019841269886079088, 2.4801587360462512e-05, 2.75572442563605e-06, 2.755724281976117e-07,
    2.510902048644491e-08, 2.0924430301609023e-09,
)  # fmt: skip


def _reduced(x: Number) -> tuple[Number, Number, Bits]:
    """`r` and what rounding took from it, and `n`."""
    count, n = nearest_integer(x, _PER_LN2)
    first = fma(count, -_LN2, x)  # exact
    r = fma(count, -_LN2_REST, first)
    return r, fma(count, -_LN2_REST, first - r), n


def _tail(r: Number, rest: Number) -> Number:
    """`exp(r + rest) - 1 - r`."""
    return fma(r * r, polynomial(r, _EXP), fma(rest, r, rest))


def exp(x: Number) -> Number:
    """Beyond the range of results: infinity and 0."""
    x = at_most(at_least(x, -746.0), 710.0)
    r, rest, n = _reduced(x)
    whole, part = exact_sum(r.like(1.0), r)
    return scaled(whole + (part + _tail(r, rest)), n)


def _half_expm1(x: Number) -> tuple[Number, Number]:
    """`(exp(x) - 1) / 2` for `x` in [-40, 710] as a sum of two numbers."""
    r, rest, n = _reduced(x)
    high, low = exact_sum(r, _tail(r, rest))
    scale = power_of_two(n - 1)
    total, error = exact_sum(scale - 0.5, scale * high)
    return total, fma(scale, low, error)


def expm1(x: Number) -> Number:
    """Small arguments keep their digits."""
    high, low = _half_expm1(at_most(at_least(x, -40.0), 710.0))
    return select(x.magnitude() < 2.0**-54, x, 2.0 * (high + low))


def tanh(x: Number) -> Number:
    """`t / (t + 1)` with `t = expm1(2 |x|) / 2`, its rounding error divided, too."""
    magnitude = x.magnitude()
    t, t_low = _half_expm1(at_most(magnitude, 20.0) * 2.0)
    d, d_low = exact_sum(t, t.like(1.0))
    swapped = t < 1.0
    d_low = select(swapped, (1.0 - d) + t, d_low) + t_low
    quotient = t / d
    product, product_low = exact_product(quotient, d)
    missing = (t - product) - product_low + (t_low - quotient * d_low)
    value = quotient + missing / d
    return select(magnitude < 2.0**-28, x, value.with_sign_of(x))


_LOG = (
    0.666666666666667, 0.3999999999989789, 0.2857142862665169, 0.22222211031677697,
    0.18182896212249502, 0.1533149765155542, 0.14619097880689605,
)  # fmt: skip
_SQRT_HALF_BITS = {52: 0x3FE6A09E667F3BCD, 23: 0x3F3504F3}
"""Of either precision, by its digits."""


def split(x: Number) -> tuple[Number, Bits]:
    """`m` between the roots of 1/2 and 2, and `k`, with `x = 2**k * m`; `x` is normal."""
    digits = x.format.digits
    root = _SQRT_HALF_BITS[digits]
    above = x.bits() - root
    return ((above & (1 << digits) - 1) + root).as_number(), above >> digits


def _log_sum(f: Number, k: Number, correction: Number) -> Number:
    """`k ln 2 + log(1 + f) + correction`."""
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    series = z * polynomial(z, _LOG)
    low = fma(k, _LN2_REST, correction)
    return fma(k, _LN2, f - (half - fma(s, half + series, low)))


def log(x: Number) -> Number:
    """Infinity of infinity, -infinity of zeros, NaN below."""
    subnormal = x < 2.0**-1022
    m, k = split(select(subnormal, x * 2.0**54, x))
    exponent = k.rounded()
    exponent = select(subnormal, exponent - 54.0, exponent)
    value = _log_sum(m - 1.0, exponent, m.like(0.0))
    return at_the_ends(x, value)


def log1p(x: Number) -> Number:
    """What rounding took from `1 + x` is put back; small arguments keep their digits."""
    u = 1.0 + x
    m, k = split(u)
    # The larger of 1 and x first: what is left over is exact.
    left = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))
    exponent = k.rounded()
    small = k.is_zero()
    f = select(small, x, m - 1.0)
    value = _log_sum(f, exponent, select(small, 0.0, left / u))
    value = at_the_ends(u, value)
    return select(x.magnitude() < 2.0**-54, x, value)


def at_the_ends(x: Number, value: Number) -> Number:
    """A logarithm, and what it is of infinity, zeros, NaN and negative numbers."""
    value = select(x < float("inf"), value, x)
    value = select(x < 0.0, float("nan"), value)
    return select(x.equals(0.0), float("-inf"), value)
