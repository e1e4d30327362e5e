"""`log` and `log1p`: a power of two, and the series of the inverse hyperbolic tangent.

`x = 2**k (1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`, and, with `s = f / (2 + f)`,
`log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + R(s**2)))`: the small terms are added up before the
large one (the scheme of P. T. P. Tang, *Table-driven implementation of the logarithm function*,
1990, without the table, as in Sun's fdlibm). The polynomials `R(z) / z` are minimax ones by Remez'
algorithm; where they meet the result, their errors are below 2^-58 and 2^-33.
"""

from llvmlite import ir

from diastase_engine.vector_math.numbers import Bits, Number, fma, polynomial, select

_DOUBLE = (
    0.666666666666667, 0.3999999999989789, 0.2857142862665169, 0.22222211031677697,
    0.18182896212249502, 0.1533149765155542, 0.14619097880689605,
)  # fmt: skip
_SINGLE = (0.6666666655261628, 0.40000123096930357, 0.28550698316131584, 0.23333433546566545)
_LN2 = float.fromhex("0x1.62e42fefa3800p-1")
_LN2_REST = float.fromhex("0x1.ef35793c76730p-45")
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


def _sum(f: Number, k: Number, correction: Number, single: bool) -> Number:
    """`k ln 2 + log(1 + f) + correction`."""
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    series = z * polynomial(z, _SINGLE if single else _DOUBLE)
    low = fma(k, _LN2_REST, correction)
    return fma(k, _LN2, f - (half - fma(s, half + series, low)))


def log(x: Number, single: bool) -> Number:
    """Infinity of infinity, -infinity of zeros, NaN below."""
    subnormal = x < 2.0**-1022
    m, k = split(select(subnormal, x * 2.0**54, x))
    exponent = as_float(k)
    exponent = select(subnormal, exponent - 54.0, exponent)
    value = _sum(m - 1.0, exponent, m.like(0.0), single)
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
    value = _sum(f, exponent, select(small, 0.0, left / u), single)
    value = _at_the_ends(u, value)
    return select(x.magnitude() < 2.0**-54, x, value)


def _at_the_ends(x: Number, value: Number) -> Number:
    value = select(x.equals(float("inf")), x, value)
    value = select(x > 0.0, value, x.like(float("nan")))
    return select(x.equals(0.0), float("-inf"), value)
