"""`exp`, `expm1`, `tanh`, `log` and `log1p` of numbers in single precision, computed in it.

The methods are those of `exp_log`; sums are kept unrounded where one rounding more would make the
error larger than one unit in the last place. The polynomials are minimax ones by Remez' algorithm,
for errors relative to what they are added to: `exp(r) - 1` 2^-31, `log(1 + f)` 2^-27, `tanh` 2^-27.
"""

from collections.abc import Sequence

from diastase_engine.vector_math.exp_log import at_the_ends, split
from diastase_engine.vector_math.numbers import (
    Bits,
    Number,
    at_least,
    at_most,
    exact_sum,
    fma,
    nearest_integer,
    polynomial,
    power_of_two,
    scaled,
    select,
)

_PER_LN2 = 1.4426950408889634
_LN2 = float.fromhex("0x1.62e430p-1")
"""All of its 24 bits: what an integer of 8 bits leaves of a number is a number."""
_LN2_REST = float.fromhex("-0x1.05c610ca86c39p-29")
_LN2_SHORT = float.fromhex("0x1.62e4p-1")
"""The first 16 bits: times an integer of 8 bits, still a number."""
_LN2_SHORT_REST = float.fromhex("0x1.7f7d1cf79abcap-20")

_EXP = (
    0.5000000046635897, 0.1666666685751864, 0.04166635330081804, 0.008333260278987011,
    0.0013941134560675082, 0.00019922993414223125,
)  # fmt: skip
_LOG = (
    0.3333331672470792, -0.2500081041059289, 0.20002286375726608, -0.166245538128595,
    0.14181189357212157, -0.1312875511943205, 0.1288166690388973, -0.07859634390640272,
)  # fmt: skip
_EXP_SHORT = (
    0.5000000075476353, 0.1666654224344869, 0.04166621014420265, 0.008366684222920218,
    0.0013952841095397764,
)  # fmt: skip
_TANH = (
    -0.333333222635498, 0.13332978266771447, -0.053929301839219436, 0.021663543407144166,
    -0.008264545584145843, 0.0025826694540142976, -0.0004554605615217477,
)  # fmt: skip
_SMALL = 0.9
"""Up to here `tanh` is a polynomial."""


def _series(x: Number, coefficients: Sequence[float]) -> Number:
    """A polynomial with the rounding errors of Horner's scheme where they are largest."""
    first, *others = coefficients
    return fma(x, polynomial(x, others), first)


def _reduced(x: Number) -> tuple[Number, Number, Bits]:
    """`r` as the larger one of two numbers and `exp(r) - 1` without it, and `n`."""
    count, n = nearest_integer(x, _PER_LN2)
    first = fma(count, -_LN2, x)  # exact
    r = fma(count, -_LN2_REST, first)
    return first, fma(r * r, _series(r, _EXP), count * -_LN2_REST), n


def exp(x: Number) -> Number:
    """Beyond the range of results: infinity and 0."""
    r, tail, n = _reduced(at_most(at_least(x, -104.0), 89.0))
    return scaled(1.0 + (r + tail), n)


def expm1(x: Number) -> Number:
    """Small arguments keep their digits."""
    r, tail, n = _reduced(at_most(at_least(x, -18.0), 89.0))
    high, low = exact_sum(r, tail)
    half = power_of_two(n - 1)
    whole, rest = exact_sum(half, half.like(-0.5))
    total, error = exact_sum(whole, half * high)
    value = 2.0 * (total + fma(half, low, error + rest))
    return select(x.magnitude() < 2.0**-25, x, value)


def tanh(x: Number) -> Number:
    """`1 - 2 / (exp(2 |x|) + 1)`, and an odd polynomial of small arguments."""
    magnitude = x.magnitude()
    bounded = at_most(magnitude, 9.1)
    r, tail, n = _reduced(bounded + bounded)
    power = power_of_two(n)
    large = 1.0 - 2.0 / fma(power, fma(r * r, _series(r, _EXP_SHORT), r), power + 1.0)
    square = magnitude * magnitude
    small = fma(magnitude * square, _series(square, _TANH), magnitude)
    return select(magnitude < _SMALL, small, large).with_sign_of(x)


def _log_sum(f: Number, k: Number, correction: Number) -> Number:
    """`k ln 2 + log(1 + f) + correction`."""
    low = fma(k, _LN2_SHORT_REST, correction)
    low = fma(f * f, fma(f, polynomial(f, _LOG), -0.5), low)
    total, error = exact_sum(k * _LN2_SHORT, f)
    return total + (error + low)


def log(x: Number) -> Number:
    """Infinity of infinity, -infinity of zeros, NaN below."""
    subnormal = x < 2.0**-126
    m, k = split(select(subnormal, x * 2.0**23, x))
    exponent = k.rounded()
    exponent = select(subnormal, exponent - 23.0, exponent)
    return at_the_ends(x, _log_sum(m - 1.0, exponent, m.like(0.0)))


def log1p(x: Number) -> Number:
    """What rounding took from `1 + x` is put back; small arguments keep their digits."""
    u = 1.0 + x
    m, k = split(u)
    # The larger of 1 and x first: what is left over is exact.
    left = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))
    small = k.is_zero()
    f = select(small, x, m - 1.0)
    value = at_the_ends(u, _log_sum(f, k.rounded(), select(small, 0.0, left / u)))
    return select(x.magnitude() < 2.0**-25, x, value)
