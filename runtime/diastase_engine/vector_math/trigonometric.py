"""`sin`, `cos` and `tan`: reduction by pi/2 in three parts, two polynomials.

`x = n pi/2 + r`, `r` as a sum of two numbers with more than 100 bits (the method of Cody and Waite,
exact by `fma`), then the kernels of Sun's fdlibm with minimax polynomials by Remez' algorithm.
Where `|x|` is beyond `LIMIT`, `n` has too many bits: the caller asks the C library then.
"""

from diastase_engine.vector_math.numbers import (
    Bits,
    Number,
    exact_product,
    exact_sum,
    exact_sum_of_any,
    fma,
    nearest_integer,
    polynomial,
    select,
)

LIMIT = 2.0**20

_PER_HALF_PI = float.fromhex("0x1.45f306dc9c883p-1")
_HALF_PI = tuple(
    map(float.fromhex, ("0x1.921fb54400000p+0", "0x1.0b4611a626331p-34", "0x1.1701b839a2520p-88"))
)
"""33 bits, so that multiples are numbers, and the rest."""

_SIN = (
    -0.16666666666666666, 0.008333333333330938, -0.00019841269836742904, 2.7557316094285202e-06,
    -2.505113009926651e-08, 1.5918002201786704e-10,
)  # fmt: skip
_SIN_SINGLE = (
    -0.16666666663849825, 0.008333331871980697, -0.00019840085084907744, 2.7249696564458614e-06,
)  # fmt: skip
_COS = (
    0.041666666666666664, -0.001388888888888739, 2.4801587298755718e-05, -2.755731726648117e-07,
    2.087614516207918e-09, -1.1382551996430482e-11,
)  # fmt: skip
_COS_SINGLE = (0.041666664658194484, -0.0013888302476851152, 2.4547788427026862e-05)

Parts = tuple[Number, Number]
"""A number and what rounding took from it."""


def _reduced(x: Number) -> tuple[Number, Number, Bits]:
    count, n = nearest_integer(x, _PER_HALF_PI)
    first = fma(count, -_HALF_PI[0], x)  # exact
    product, product_low = exact_product(count, -_HALF_PI[1])
    second, second_low = exact_sum_of_any(first, product)
    rest = fma(count, -_HALF_PI[2], second_low + product_low)
    r, low = exact_sum(second, rest)
    return r, low, n


def _sine(r: Number, low: Number, single: bool) -> Parts:
    z = r * r
    series = polynomial(z, _SIN_SINGLE if single else _SIN)
    # sin(r + low) = sin r + low cos r
    tail = fma(z * r, series, low * fma(z, -0.5, 1.0))
    return exact_sum(r, tail)


def _cosine(r: Number, low: Number, single: bool) -> Parts:
    z = r * r
    half = 0.5 * z
    whole = 1.0 - half
    series = polynomial(z, _COS_SINGLE if single else _COS)
    tail = ((1.0 - whole) - half) + fma(z * z, series, -(r * low)) - fma(r, r, -z) * 0.5
    return exact_sum(whole, tail)


def _negated_where(value: Number, n: Bits) -> Number:
    """Change the sign where the bit of `n` that stands for 2 is set."""
    return (value.bits() ^ ((n & 2) << 62)).as_number()


def sin(x: Number, single: bool) -> Number:
    """Sine of arguments up to `LIMIT`."""
    r, low, n = _reduced(x)
    even = (n & 1).is_zero()
    value = select(even, _sine(r, low, single)[0], _cosine(r, low, single)[0])
    # The sign of a zero is the argument's.
    return select(x.equals(0.0), x, _negated_where(value, n))


def cos(x: Number, single: bool) -> Number:
    """Cosine of arguments up to `LIMIT`."""
    r, low, n = _reduced(x)
    even = (n & 1).is_zero()
    value = select(even, _cosine(r, low, single)[0], _sine(r, low, single)[0])
    return _negated_where(value, n + 1)  # a cosine is a sine a quarter later


def tan(x: Number, single: bool) -> Number:
    """Tangent of arguments up to `LIMIT`: a quotient, and the quotient of what is left."""
    r, low, n = _reduced(x)
    even = (n & 1).is_zero()
    sine, cosine = _sine(r, low, single), _cosine(r, low, single)
    above = select(even, sine[0], -cosine[0])
    above_low = select(even, sine[1], -cosine[1])
    below = select(even, cosine[0], sine[0])
    below_low = select(even, cosine[1], sine[1])
    quotient = above / below
    left = fma(-quotient, below, above) + fma(-quotient, below_low, above_low)
    return select(x.equals(0.0), x, quotient + left / below)
