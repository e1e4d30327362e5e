"""`exp`, `expm1` and `tanh`: powers of two taken out, a polynomial of what is left.

`x = n ln 2 + r` with `|r| <= ln 2 / 2`, and `exp(r) = 1 + r + r**2 q(r)` (W. J. Cody and W. Waite,
*Software Manual for the Elementary Functions*, 1980; J.-M. Muller, *Elementary Functions*). A
result is kept as an unrounded sum of two numbers until the end where more follows.

The polynomials `q` are minimax ones, computed with Remez' algorithm in 50 digits, for the smallest
error of `exp(r) - 1` relative to `r`: 2^-61 in double precision, 2^-31 in single precision. The
errors of those of `tanh` are below 2^-56 and 2^-29.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _Precision:
    """What depends on the digits of a number."""

    ln2: float
    """All digits of it: `x - n ln2` is a number, for the `x` and `n` that occur."""
    ln2_rest: float
    series: tuple[float, ...]
    twice: tuple[float, ...]
    """Of `(exp(2 r) / 2 - 1/2 - r) / r**2`, less exact: it is added to what is larger."""
    tanh: tuple[float, ...]
    """Of `(tanh(x) / x - 1) / x**2` in powers of `x**2`."""
    least: float
    """Where `exp` is 0."""
    largest: float
    """Where `exp` is infinite."""
    minus_one: float
    """Where `expm1` is -1."""
    one: float
    """Where `tanh` is 1."""
    tiny: float
    """Below it a function that is 0 at 0 is its argument."""


_SMALL = 0.9
"""Up to here `tanh` is a polynomial."""
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_DOUBLE = _Precision(
    ln2=float.fromhex("0x1.62e42fefa39efp-1"),
    ln2_rest=float.fromhex("0x1.abc9e3b39803fp-56"),
    series=(
        0.5, 0.16666666666666677, 0.0416666666666667, 0.00833333333332165, 0.0013888888888866897,
        0.00019841269886079088, 2.4801587360462512e-05, 2.75572442563605e-06,
        2.755724281976117e-07, 2.510902048644491e-08, 2.0924430301609023e-09,
    ),
    twice=(
        1.000000000000001, 0.6666666666666674, 0.33333333333258947, 0.13333333333303177,
        0.044444444583547384, 0.012698412738131737, 0.0031745925723317583,
        0.0007054650271980809, 0.0001414467380319197, 2.5717346385125174e-05,
    ),
    tanh=(
        -0.33333333333333, 0.13333333333295608, -0.05396825395330202, 0.02186948823569046,
        -0.00886323193651534, 0.0035921000906743287, -0.001455685213589221,
        0.0005894620502076192, -0.00023757591426209953, 9.378924945820562e-05,
        -3.4654175253459704e-05, 1.0904177239725595e-05, -2.477423140486067e-06,
        2.9077311003356215e-07,
    ),
    least=-746.0, largest=710.0, minus_one=-40.0, one=20.0, tiny=2.0**-54,
)  # fmt: skip
_SINGLE = _Precision(
    ln2=float.fromhex("0x1.62e430p-1"),
    ln2_rest=float.fromhex("-0x1.05c610ca86c39p-29"),
    series=(
        0.5000000046390256, 0.16666666817316034, 0.04166635476476839, 0.008333272962546497,
        0.0013941000001879195, 0.00019914235656285232,
    ),
    twice=(
        1.0000000124072812, 0.6666617211771176, 0.3333302516355414, 0.1338652624683448,
        0.044628810051598966,
    ),
    tanh=(
        -0.33333322263573534, 0.13332978267630516, -0.05392930192965201, 0.021663543785240314,
        -0.008264546332961037, 0.0025826701617289336, -0.0004554608193303696,
    ),
    least=-104.0, largest=89.0, minus_one=-18.0, one=9.1, tiny=2.0**-25,
)  # fmt: skip


def _precision(x: Number) -> _Precision:
    return _DOUBLE if x.is_double else _SINGLE


def _series(x: Number, coefficients: Sequence[float]) -> Number:
    """A polynomial, the last step as in Horner's scheme: there rounding errors are largest."""
    first, *others = coefficients
    return fma(x, polynomial(x, others), first)


def _parts(x: Number, correct: bool = False) -> tuple[Number, Number, Bits]:
    """`r` and what is left, the sum of which is `exp(x) / 2**n - 1`, and `n`.

    Half a unit of `r` is an error of its square, too, which `correct` undoes.
    """
    known = _precision(x)
    count, n = nearest_integer(x, _PER_LN2)
    first = fma(count, -known.ln2, x)  # exact
    rest = count * -known.ln2_rest
    r = fma(count, -known.ln2_rest, first)
    low = fma(rest - (r - first), r, rest) if correct else rest
    return first, fma(r * r, _series(r, known.series), low), n


def exp(x: Number) -> Number:
    """Beyond the range of results: infinity and 0."""
    known = _precision(x)
    r, tail, n = _parts(at_most(at_least(x, known.least), known.largest))
    return scaled(1.0 + (r + tail), n)


def expm1(x: Number) -> Number:
    """Half of it as a sum of three numbers; small arguments keep their digits."""
    known = _precision(x)
    r, tail, n = _parts(at_most(at_least(x, known.minus_one), known.largest), True)
    high, low = exact_sum(r, tail)
    scale = power_of_two(n - 1)
    whole, rest = exact_sum(scale, scale.like(-0.5))
    total, error = exact_sum(whole, scale * high)
    value = 2.0 * (total + fma(scale, low, error + rest))
    return select(x.magnitude() < known.tiny, x, value)


def tanh(x: Number) -> Number:
    """`1 - 2 / (exp(2 |x|) + 1)`, and an odd polynomial of small arguments."""
    known = _precision(x)
    magnitude = x.magnitude()
    count, n = nearest_integer(at_most(magnitude, known.one), 2.0 * _PER_LN2)
    r = fma(count, -0.5 * known.ln2, at_most(magnitude, known.one))
    r = fma(count, -0.5 * known.ln2_rest, r)
    part = fma(r * r, _series(r, known.twice), r)
    power = power_of_two(n)
    large = 1.0 - 1.0 / fma(power, part, fma(power, 0.5, 0.5))
    square = magnitude * magnitude
    small = fma(magnitude * square, _series(square, known.tanh), magnitude)
    return select(magnitude < _SMALL, small, large).with_sign_of(x)
