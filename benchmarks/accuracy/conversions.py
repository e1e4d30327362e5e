"""Conversions between all pairs of types over edges, ours and XLA's beside the exact result.

The exact result: rounded once, to nearest, ties to even; of floats to integers the whole part,
saturated, NaN is 0; of integers the low bits; of complex numbers the real part, as `lax` has it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from jax import lax

from accuracy import units
from accuracy.arguments import edges
from accuracy.measure import BY, dtype_of, text

TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One number that ours or XLA's converts otherwise than exactly."""

    source: str
    target: str
    number: str
    ours: str
    xla: str
    exact: str
    is_ours: bool
    is_xla: bool
    is_flushed: bool
    """Whether the number or the result is subnormal."""


def all_targets(x: Any) -> list[Any]:
    """An array in every type."""
    return [lax.convert_element_type(x, dtype_of(target)) for target in TYPES]


def numbers(source: np.dtype) -> np.ndarray:
    """Edges of a type, and numbers in the middle between two of other types."""
    if source == np.bool_:
        return np.array([False, True])
    if source.kind in "iu":
        limits = np.iinfo(source)
        found = {n for n in _whole_numbers() if limits.min <= n <= limits.max}
        return np.array(sorted(found), source)
    if source.name in units.PARTS:
        real = numbers(units.part(source))
        found = np.empty(len(real), source)
        found.real, found.imag = real, 1
        return found
    with np.errstate(over="ignore"):
        whole = np.array([float(n) for n in _whole_numbers()]).astype(source)
        middles = np.array(_middles()).astype(source)
    beside = [np.nextafter(whole, source.type(way)) for way in (-np.inf, np.inf)]
    return np.concatenate([edges(source), whole, *beside, middles, -middles])


def _whole_numbers() -> list[int]:
    powers = [2**n for n in (0, 1, 3, 7, 8, 9, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64)]
    near = [p + d for p in powers for d in (-1, 0, 1)]
    # In the middle between two floats of 8, 11, 24 or 53 bits, but for one.
    near += [
        2**n + 2 ** (n - bits) + d for n in (12, 30, 62) for bits in (8, 11) for d in (-1, 0, 1)
    ]
    near += [2**n + 2 ** (n - 24) + d for n in (30, 62) for d in (-1, 0, 1)]
    near += [2**62 + 2**9 + d for d in (-1, 0, 1)]
    return [0, *near, *(-n for n in near)]


def _middles() -> list[float]:
    """In the middle between two floats of a narrower type, and 2**-40 of it beside that."""
    found = [0.5, 1.5, 2.5, 65519.0, 65520.0, 2.0**-25, 3 * 2.0**-25, 2.0**-134, 2.0**-150]
    found += [
        float(ml_dtypes.finfo(kind).max) for kind in (np.float16, ml_dtypes.bfloat16, np.float32)
    ]
    found += [1 + 2.0**-bits for bits in (8, 11, 24)] + [1 + 3 * 2.0**-bits for bits in (8, 11, 24)]
    return [number * (1 + side * 2.0**-40) for number in found for side in (-1, 0, 1)]


def exact_conversion(number: Any, target: np.dtype) -> Any:
    """The number in another type, as an element of it."""
    real = number.real if np.iscomplexobj(number) else number
    if target.name in units.PARTS:
        is_complex = np.iscomplexobj(number)
        parts = (real, number.imag if is_complex else 0)
        return target.type(
            complex(*(float(exact_conversion(p, units.part(target))) for p in parts))
        )
    value = _as_python(real)
    if target == np.bool_:
        return np.bool_(value != 0)
    if target.kind in "iu":
        return _whole(value, target)
    return target.type(_rounded(value, target))


def _as_python(number: Any) -> int | float:
    return int(number) if np.asarray(number).dtype.kind in "biu" else float(number)


def _whole(value: int | float, target: np.dtype) -> Any:
    limits = np.iinfo(target)
    if isinstance(value, int):
        return np.array(value % 2**64, np.uint64).astype(target)[()]
    if np.isnan(value):
        return target.type(0)
    bounded = min(max(value, float(limits.min)), float(limits.max))
    return target.type(min(max(int(bounded), limits.min), limits.max))


def _rounded(value: int | float, target: np.dtype) -> float:
    if value == 0 or not np.isfinite(float(value)):
        return float(value)
    limits = ml_dtypes.finfo(target)
    _, exponent = np.frexp(abs(float(value)))
    unit = Fraction(2) ** (max(int(exponent) - 1, int(limits.minexp)) - limits.nmant)
    nearest = round(Fraction(value) / unit) * unit  # ties to even
    if abs(nearest) > Fraction(float(limits.max)):
        return float(np.copysign(np.inf, value))
    return float(np.copysign(float(nearest), value))


def differences(source_name: str) -> Iterator[Difference]:
    """What ours or XLA's converts otherwise than exactly."""
    source = dtype_of(source_name)
    given = numbers(source)
    found = {by: jit(all_targets)(given) for by, jit in BY.items()}
    for place, target_name in enumerate(TYPES):
        target = dtype_of(target_name)
        results = {by: np.asarray(every[place]) for by, every in found.items()}
        for row, number in enumerate(given):
            exact = exact_conversion(number, target)
            same = {by: is_same(result[row], exact) for by, result in results.items()}
            if not all(same.values()):
                shown = [text(number), *(text(results[by][row]) for by in BY), text(exact)]
                flushed = any(map(_is_subnormal, (number, exact)))
                wrong = [not same[by] for by in BY]
                yield Difference(source_name, target_name, *shown, *wrong, flushed)


def is_same(one: Any, other: Any) -> bool:
    """The same bits; all NaNs are the same."""
    if np.iscomplexobj(one):
        return is_same(one.real, other.real) and is_same(one.imag, other.imag)
    if np.asarray(one).dtype.kind in "biu":
        return bool(one == other)
    a, b = float(one), float(other)
    return (np.isnan(a) and np.isnan(b)) or (a == b and np.signbit(a) == np.signbit(b))


def _is_subnormal(number: Any) -> bool:
    array = np.asarray(number)
    if array.dtype.kind in "biu":
        return False
    return bool(units.is_subnormal(array.real.astype(np.float64), units.part(array.dtype)))
