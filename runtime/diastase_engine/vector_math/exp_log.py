"""`exp`, `expm1` and `tanh`: reduction by ln 2 in two parts, a polynomial, a power of two.

`x = n ln 2 + r` with `|r| <= ln 2 / 2`, and `exp(r) = 1 + r + r**2 q(r)` (W. J. Cody and W. Waite,
*Software Manual for the Elementary Functions*, 1980; J.-M. Muller, *Elementary Functions*). The
polynomials `q` are minimax ones, computed with Remez' algorithm in 100 digits for the smallest
error of `exp(r) - 1` relative to `r`: 2^-61 and, for single precision, 2^-32. A result is kept as
an unrounded sum of two numbers until the end where more follows.
"""

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

_DOUBLE = (
    0.5, 0.16666666666666677, 0.0416666666666667, 0.00833333333332165, 0.0013888888888866897,
    0.00019841269886079088, 2.4801587360462512e-05, 2.75572442563605e-06, 2.755724281976117e-07,
    2.510902048644491e-08, 2.0924430301609023e-09,
)  # fmt: skip
_SINGLE = (
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
        return r * r * polynomial(r, _SINGLE)
    return fma(r * r, polynomial(r, _DOUBLE), fma(rest, r, rest))


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
