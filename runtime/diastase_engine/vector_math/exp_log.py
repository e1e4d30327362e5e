"""`exp`, `expm1`, `tanh`, `log` and `log1p`: powers of two taken out, a polynomial of what is left.

Exponentials: `x = n ln 2 + r` with `|r| <= ln 2 / 2`, and `exp(r) = 1 + r + r**2 q(r)` (W. J. Cody
and W. Waite, *Software Manual for the Elementary Functions*, 1980; J.-M. Muller, *Elementary
Functions*). A result is kept as an unrounded sum of two numbers until the end where more follows.

Logarithms: `x = 2**k (1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`, and, with
`s = f / (2 + f)`, `log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + R(s**2)))`: the small terms are added
up before the large one (the scheme of P. T. P. Tang, *Table-driven implementation of the logarithm
function*, 1990, without the table, as in Sun's fdlibm).

The polynomials `q` and `R(z) / z` are minimax ones, computed with Remez' algorithm in 100 digits.
`q` is for the smallest error of `exp(r) - 1` relative to `r`: 2^-61 and, for single precision,
2^-32. Where `R` meets the result, its errors are below 2^-58 and 2^-33.
"""

from llvmlite import ir

from diastase_engine.vector_math.numbers import (
    Bits,
    Number,
    at_least,
    at_most,
    exact_product,
    exact_sum,
    exact_sum_of_any,
    fma,
    nearest_integer,
    polynomial,
    power_of_two,
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
_EXP_SINGLE = (
    0.5000000046180683, 0.16666666816640727, 0.04166635529952832, 0.008333273157783679,
    0.0013940970025293578, 0.00019914110553162278,
)  # fmt: skip


def _reduced(x: Number) -> tuple[Number, Number, Bits]:
    """`r` and what rounding took from it, and `n`."""
    count, n = nearest_integer(x * _PER_LN2)
    first = fma(count, -_LN2, x)  # exact
    r = fma(count, -_LN2_REST, first)
    return r, fma(count, -_LN2_REST, first - r), n


def _tail(r: Number, rest: Number, single: bool) -> Number:
    """`exp(r + rest) - 1 - r`."""
    if single:
        return r * r * polynomial(r, _EXP_SINGLE)
    return fma(r * r, polynomial(r, _EXP), fma(rest, r, rest))


def exp(x: Number, single: bool) -> Number:
    """Beyond the range of results: infinity and 0."""
    x = at_most(at_least(x, -746.0), 710.0)
    r, rest, n = _reduced(x)
    return exp_of_parts(r, rest, n, single)


def exp_of_parts(r: Number, rest: Number, n: Bits, single: bool) -> Number:
    """`2**n * exp(r + rest)`, rounded once more where it is subnormal."""
    tail = _tail(r, rest, single)
    if single:
        value = 1.0 + (r + tail)
    else:
        whole, part = exact_sum(r.like(1.0), r)
        value = whole + (part + tail)
    # In two steps: 2^1024 is no number, nor is 2^-1074 a normal one.
    half = n >> 1
    return value * power_of_two(half) * power_of_two(n - half)


def _expm1_parts(x: Number, single: bool) -> tuple[Number, Number]:
    """`exp(x) - 1` for `x` in [-40, 709] as a sum of two numbers."""
    r, rest, n = _reduced(x)
    high, low = exact_sum(r, _tail(r, rest, single))
    scale = power_of_two(n)
    total, error = exact_sum_of_any(scale - 1.0, scale * high)
    return total, fma(scale, low, error)


def expm1(x: Number, single: bool) -> Number:
    """Small arguments keep their digits."""
    bounded = at_most(at_least(x, -40.0), 709.0)
    high, low = _expm1_parts(bounded, single)
    value = select(x > 709.0, exp(x, single), high + low)
    return select(x.magnitude() < 2.0**-54, x, value)


def tanh(x: Number, single: bool) -> Number:
    """`t / (t + 2)` with `t = expm1(2 |x|)`, its rounding error divided, too."""
    magnitude = x.magnitude()
    t, t_low = _expm1_parts(at_most(magnitude, 20.0) * 2.0, single)
    d, d_low = exact_sum(t, t.like(2.0))
    swapped = t < 2.0
    d_low = select(swapped, (2.0 - d) + t, d_low) + t_low
    quotient = t / d
    product, product_low = exact_product(quotient, d)
    missing = (t - product) - product_low + (t_low - quotient * d_low)
    value = quotient + missing / d
    return select(magnitude < 2.0**-28, x, value.with_sign_of(x))


_LOG = (
    0.666666666666667, 0.3999999999989789, 0.2857142862665169, 0.22222211031677697,
    0.18182896212249502, 0.1533149765155542, 0.14619097880689605,
)  # fmt: skip
_LOG_SINGLE = (0.6666666655261628, 0.40000123096930357, 0.28550698316131584, 0.23333433546566545)
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MANTISSA = 2**52 - 1


def split(x: Number) -> tuple[Number, Bits]:
    """`m` between the roots of 1/2 and 2, and `k`, with `x = 2**k * m`; `x` is normal."""
    above = x.bits() - _SQRT_HALF_BITS
    return ((above & _MANTISSA) + _SQRT_HALF_BITS).as_number(), above >> 52


def as_float(k: Bits) -> Number:
    """The integers as numbers."""
    kind = ir.DoubleType() if k.lanes == 1 else ir.VectorType(ir.DoubleType(), k.lanes)
    # 32 bits are enough, and every processor converts them.
    narrow = ir.IntType(32) if k.lanes == 1 else ir.VectorType(ir.IntType(32), k.lanes)
    shorter = k.builder.trunc(k.value, narrow)
    return Number(k.builder, k.lanes, k.builder.sitofp(shorter, kind))


def _log_sum(f: Number, k: Number, correction: Number, single: bool) -> Number:
    """`k ln 2 + log(1 + f) + correction`."""
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    series = z * polynomial(z, _LOG_SINGLE if single else _LOG)
    low = fma(k, _LN2_REST, correction)
    return fma(k, _LN2, f - (half - fma(s, half + series, low)))


def log(x: Number, single: bool) -> Number:
    """Infinity of infinity, -infinity of zeros, NaN below."""
    subnormal = x < 2.0**-1022
    m, k = split(select(subnormal, x * 2.0**54, x))
    exponent = as_float(k)
    exponent = select(subnormal, exponent - 54.0, exponent)
    value = _log_sum(m - 1.0, exponent, m.like(0.0), single)
    return _at_the_ends(x, value)


def log1p(x: Number, single: bool) -> Number:
    """What rounding took from `1 + x` is put back; small arguments keep their digits."""
    u = 1.0 + x
    m, k = split(u)
    # The larger of 1 and x first: what is left over is exact.
    left = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))
    exponent = as_float(k)
    small = k.is_zero()
    f = select(small, x, m - 1.0)
    value = _log_sum(f, exponent, select(small, 0.0, left / u), single)
    value = _at_the_ends(u, value)
    return select(x.magnitude() < 2.0**-54, x, value)


def _at_the_ends(x: Number, value: Number) -> Number:
    value = select(x.equals(float("inf")), x, value)
    value = select(x > 0.0, value, x.like(float("nan")))
    return select(x.equals(0.0), float("-inf"), value)
