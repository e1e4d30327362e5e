"""`cbrt`: powers of eight taken out, Newton's method for the inverse root, without a division.

`x = 8**n t` with `t` between `sqrt(1/8)` and `sqrt(8)`. A minimax polynomial (Remez) is within 2^-8
of `z = t**(-1/3)`. With `h = 1 - t z**3`, `z (1 + h / 3 + 2 h**2 / 9)` has three times as many
digits, and `z (1 + h / 3)` twice as many (J.-M. Muller, *Elementary Functions*). `t z**2` is the
root, and one step more, from `t - y**3` computed exactly, leaves half a unit of error.
"""

from diastase_engine.vector_math.logarithms import split
from diastase_engine.vector_math.numbers import (
    Number,
    exact_product,
    fma,
    nearest_integer,
    polynomial,
    power_of_two,
    select,
)

_INVERSE_ROOT = (
    2.015140926852327, -2.3867917017931233, 2.3061402677057474, -1.23559430046052,
    0.33452801207021843, -0.03568618750583648,
)  # fmt: skip


def cbrt(x: Number) -> Number:
    """Zeros, infinities and NaN are their own roots."""
    magnitude = x.magnitude()
    thirds = x.format.digits // 3 + 1
    subnormal = magnitude < 2.0 ** (1 - x.format.bias)
    m, k = split(select(subnormal, magnitude * 2.0 ** (3 * thirds), magnitude))
    _, n = nearest_integer(k.rounded(), 1 / 3)
    root = _root(m * power_of_two(k - n - n - n)) * power_of_two(n)
    root = select(subnormal, root * 2.0**-thirds, root)
    ordinary = (magnitude > 0.0) & (magnitude < float("inf"))
    return select(ordinary, root.with_sign_of(x), x)


def _root(t: Number) -> Number:
    z = polynomial(t, _INVERSE_ROOT)
    h = _missing(t, z)
    z = fma(z * h, fma(h, 2 / 9, 1 / 3), z)
    if t.is_double:
        z = fma(z * _missing(t, z), 1 / 3, z)
    square = z * z
    y = t * square
    second, second_low = exact_product(y, y)
    left = fma(-second_low, y, fma(-second, y, t))
    return fma(left, square * (1 / 3), y)


def _missing(t: Number, z: Number) -> Number:
    """`1 - t z**3`."""
    return 1.0 - t * z * z * z
