"""The product of two general rotations of one qubit, as angles.

    Rot(p, t, o) = RZ(o) RY(t) RZ(p) = [[e^(-i(p+o)/2) cos t/2, -e^(i(p-o)/2) sin t/2], […]]

The product of two is again in SU(2), [[a, -b*], [b, a*]], so it is a `Rot`, whose angles are read
off it: t = 2 atan2(|b|, |a|), p + o = -2 arg a, p - o = -2 arg b. Any branch of the arguments gives
the same matrix, so there is no sign to lose; where a or b is zero its argument does not matter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_mlir.bindings import ir
from diastase_mlir.passes.circuits.values import (
    Number,
    add,
    apply,
    constant_of,
    multiply,
    negate,
    subtract,
)

Complex = tuple[Number, Number]

_NOW: dict[str, Callable[..., Any]] = {
    "cos": np.cos, "sin": np.sin, "sqrt": np.sqrt, "atan2": np.arctan2,
}  # fmt: skip


def product(first: Sequence[ir.Value], second: Sequence[ir.Value]) -> list[Number]:
    """The angles of the rotation `first`, then `second`; emitted here where it is not known."""
    a1, b1 = _column(first)
    a2, b2 = _column(second)
    # [a2 -b2*; b2 a2*] [a1; b1]
    a = _minus(_times(a2, a1), _times(_conjugate(b2), b1))
    b = _plus(_times(b2, a1), _times(_conjugate(a2), b1))
    theta = multiply(2.0, _function("atan2", _absolute(b), _absolute(a)))
    half_sum = negate(_function("atan2", a[1], a[0]))
    half_difference = negate(_function("atan2", b[1], b[0]))
    return [add(half_sum, half_difference), theta, subtract(half_sum, half_difference)]


def _column(angles: Sequence[ir.Value]) -> tuple[Complex, Complex]:
    """The first column of the matrix of a `Rot`."""
    phi, theta, omega = angles
    half = multiply(0.5, theta)
    half_sum = multiply(-0.5, add(phi, omega))
    half_difference = multiply(-0.5, subtract(phi, omega))
    cosine, sine = _function("cos", half), _function("sin", half)
    return _polar(cosine, half_sum), _polar(sine, half_difference)


def _polar(length: Number, angle: Number) -> Complex:
    return multiply(length, _function("cos", angle)), multiply(length, _function("sin", angle))


def _times(first: Complex, second: Complex) -> Complex:
    (a, b), (c, d) = first, second
    real = subtract(multiply(a, c), multiply(b, d))
    return real, add(multiply(a, d), multiply(b, c))


def _plus(first: Complex, second: Complex) -> Complex:
    return add(first[0], second[0]), add(first[1], second[1])


def _minus(first: Complex, second: Complex) -> Complex:
    return subtract(first[0], second[0]), subtract(first[1], second[1])


def _conjugate(number: Complex) -> Complex:
    return number[0], negate(number[1])


def _absolute(number: Complex) -> Number:
    real, imaginary = number
    return _function("sqrt", add(multiply(real, real), multiply(imaginary, imaginary)))


def _function(name: str, *numbers: Number) -> Number:
    """A function of real numbers, evaluated now where they are known."""
    known = [constant_of(n) if isinstance(n, ir.Value) else n for n in numbers]
    if None in known:
        return apply(name, *numbers)
    with np.errstate(invalid="ignore"):  # of infinite angles
        return float(_NOW[name](*known))
