"""`log` and `log1p`: powers of two taken out, a polynomial of what is left.

`x = 2**k (1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`. In double precision, with
`s = f / (2 + f)`, `log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + R(s**2)))`: the small terms are added
up before the large one (the scheme of P. T. P. Tang, *Table-driven implementation of the logarithm
function*, 1990, without the table, as in Sun's fdlibm). In single precision a polynomial of `f` is
as short, `log(1 + f) = f + f**2 (-1/2 + f P(f))`, and `k ln 2` is added to `f` unrounded.

The polynomials `R(z) / z` and `P` are minimax ones, computed with Remez' algorithm. Where `R` meets
the result, its error is below 2^-58; that of `P` is below 2^-27.
"""

from diastase_engine.vector_math.numbers import Bits, Number, exact_sum, fma, polynomial, select

_SQRT_HALF_BITS = {52: 0x3FE6A09E667F3BCD, 23: 0x3F3504F3}
"""Of either precision, by its digits."""

_LN2 = float.fromhex("0x1.62e42fefa3800p-1")
"""The first 42 bits: times an integer of 11 bits, still a number."""
_LN2_REST = float.fromhex("0x1.ef35793c76730p-45")
_LOG = (
    0.666666666666667, 0.3999999999989789, 0.2857142862665169, 0.22222211031677697,
    0.18182896212249502, 0.1533149765155542, 0.14619097880689605,
)  # fmt: skip

_LN2_SINGLE = float.fromhex("0x1.62e4p-1")
"""The first 16 bits: times an integer of 8 bits, still a number."""
_LN2_SINGLE_REST = float.fromhex("0x1.7f7d1cf79abcap-20")
_LOG_SINGLE = (
    0.3333331672470792, -0.2500081041059289, 0.20002286375726608, -0.166245538128595,
    0.14181189357212157, -0.1312875511943205, 0.1288166690388973, -0.07859634390640272,
)  # fmt: skip


def split(x: Number) -> tuple[Number, Bits]:
    """`m` between the roots of 1/2 and 2, and `k`, with `x = 2**k * m`; `x` is normal."""
    digits = x.format.digits
    root = _SQRT_HALF_BITS[digits]
    above = x.bits() - root
    return ((above & (1 << digits) - 1) + root).as_number(), above >> digits


def _log_sum(f: Number, k: Number, correction: Number) -> Number:
    """`k ln 2 + log(1 + f) + correction`."""
    if f.is_double:
        half = 0.5 * f * f
        s = f / (2.0 + f)
        z = s * s
        low = fma(k, _LN2_REST, correction)
        return fma(k, _LN2, f - (half - fma(s, half + z * polynomial(z, _LOG), low)))
    low = fma(k, _LN2_SINGLE_REST, correction)
    low = fma(f * f, fma(f, polynomial(f, _LOG_SINGLE), -0.5), low)
    total, error = exact_sum(k * _LN2_SINGLE, f)
    return total + (error + low)


def log(x: Number) -> Number:
    """Infinity of infinity, -infinity of zeros, NaN below."""
    digits = x.format.digits
    subnormal = x < 2.0 ** (1 - x.format.bias)
    m, k = split(select(subnormal, x * 2.0**digits, x))
    exponent = k.rounded()
    exponent = select(subnormal, exponent - float(digits), exponent)
    return _at_the_ends(x, _log_sum(m - 1.0, exponent, m.like(0.0)))


def log1p(x: Number) -> Number:
    """What rounding took from `1 + x` is put back; small arguments keep their digits."""
    u = 1.0 + x
    m, k = split(u)
    # The larger of 1 and x first: what is left over is exact.
    left = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))
    small = k.is_zero()
    f = select(small, x, m - 1.0)
    value = _at_the_ends(u, _log_sum(f, k.rounded(), select(small, 0.0, left / u)))
    return select(x.magnitude() < 2.0 ** -(x.format.digits + 2), x, value)


def _at_the_ends(x: Number, value: Number) -> Number:
    value = select(x < float("inf"), value, x)
    value = select(x < 0.0, float("nan"), value)
    return select(x.equals(0.0), float("-inf"), value)
