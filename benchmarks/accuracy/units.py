"""Errors in units in the last place (ulp) of the exact result, rounded to its type.

Below the normal numbers the unit is the smallest subnormal number. Where one is NaN or infinite and
the other is not, the error is infinite, but for results beyond the largest number: infinity is
right there. Of complex numbers the unit is that of the size, and the error the size of the
difference: parts that are small beside the other one may have no correct digit.
"""

import ml_dtypes
import numpy as np

PARTS = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}


def part(dtype: np.dtype) -> np.dtype:
    """The type of the real part."""
    return PARTS.get(dtype.name, dtype)


def errors(found: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Of each element, infinite where the two are not of one kind."""
    if np.iscomplexobj(found):
        return _complex_errors(found, high, low)
    with np.errstate(all="ignore"):
        wide = found.astype(np.float64)
        off = np.abs((wide - high) - low) / spacing(high, found.dtype)
    rounded = round_to(high, found.dtype)
    same = (wide == high) | (np.isnan(wide) & np.isnan(high)) | (np.isinf(wide) & (wide == rounded))
    return np.where(same & ~(np.isfinite(high) & (low != 0)), 0.0, _finite(off, wide, rounded))


def _finite(off: np.ndarray, wide: np.ndarray, rounded: np.ndarray) -> np.ndarray:
    off = np.where(np.isinf(wide) & (wide == rounded), 0.0, off)
    return np.where(np.isfinite(off), off, np.inf)


def _complex_errors(found: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = found.astype(np.complex128)
        size = np.hypot(high.real, high.imag)
        off = np.hypot(*_both((wide - high) - low)) / spacing(size, part(found.dtype))
    parts = [errors(each(found), each(high), np.zeros(high.shape)) for each in (np.real, np.imag)]
    of_one_kind = np.isfinite(parts[0]) & np.isfinite(parts[1])
    return np.where(of_one_kind, np.where(np.isfinite(off), off, 0.0), np.inf)


def _both(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return z.real, z.imag


def round_to(number: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The nearest numbers of a real type, as float64."""
    with np.errstate(all="ignore"):
        return number.astype(dtype).astype(np.float64)


def spacing(number: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The unit in the last place of the nearest number of a real type, as float64."""
    limits = ml_dtypes.finfo(dtype)
    size = np.clip(np.abs(number), float(limits.tiny), float(limits.max))
    _, exponent = np.frexp(size)
    return np.ldexp(1.0, exponent - 1 - limits.nmant)


def is_subnormal(number: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Whether a number is below the smallest normal one of a real type, and not 0."""
    return (np.abs(number) < float(ml_dtypes.finfo(dtype).tiny)) & (number != 0)
