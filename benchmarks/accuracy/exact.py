"""Exact values as pairs of float64, from ball arithmetic (Arb), whose bounds are proved.

In: a function of Arb's balls, and arrays of finite arguments, each converted to float64 exactly.
Out: arrays `high` and `low`, whose sum has at least 70 correct bits; NaN where Arb has no finite
value (poles, outside of the domain, no convergence in `_PRECISIONS`).
Complex numbers have 70 bits of their size, not of each part.
"""

from collections.abc import Callable, Sequence

import numpy as np
from flint import acb, arb, ctx

Ball = arb | acb

_BITS = 70
_PRECISIONS = (90, 200, 500, 1300, 2600)
"""In bits; sin(1e308) needs 1100. What needs more is left to the functions' `at_ends`."""
_NOTHING = arb(2) ** -1200


def exact(of: Callable[..., Ball], arguments: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The function of each row of arguments, as `high` and `low`."""
    is_complex = any(np.iscomplexobj(x) for x in arguments)
    wide = np.complex128 if is_complex else np.float64
    ball = acb if is_complex else arb
    with np.errstate(invalid="ignore"):
        columns = [x.astype(wide).tolist() for x in arguments]
    pairs = [_pair(of, [ball(x) for x in row]) for row in zip(*columns, strict=True)]
    table = np.array(pairs).reshape(len(pairs), 2)
    return table[:, 0], table[:, 1]


def _pair(of: Callable[..., Ball], row: list[Ball]) -> tuple[complex, complex]:
    for precision in _PRECISIONS:
        ctx.prec = precision
        value = of(*row)
        if value.rel_accuracy_bits() >= _BITS or _is_nothing(value):
            return _complex_pair(value) if isinstance(value, acb) else _real_pair(value)
    return np.nan, 0.0


def _is_nothing(value: Ball) -> bool:
    """Whether it is nearer to 0 than any float64."""
    return bool(value.abs_upper() < _NOTHING)


def _real_pair(value: arb) -> tuple[float, float]:
    if not value.is_finite():
        return np.nan, 0.0
    high = float(value.mid())
    if abs(high) == np.inf:
        return high, 0.0
    return high, float((value - high).mid())


def _complex_pair(value: acb) -> tuple[complex, complex]:
    (real, real_low), (imaginary, imaginary_low) = map(_real_pair, (value.real, value.imag))
    return complex(real, imaginary), complex(real_low, imaginary_low)
