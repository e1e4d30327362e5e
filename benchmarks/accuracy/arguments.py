"""Arguments: every number of 16 bits; of others the edges, and random numbers.

Of the random ones a third are random bits (all magnitudes), half are uniform in the range where
the function does what it is known for, the others lie within 2000 units of a number where
something happens: the edges, the ends of the range and multiples of pi/2.
"""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from accuracy.units import PARTS, part, spacing

Range = tuple[float, float]


def edges(dtype: np.dtype) -> np.ndarray:
    """Numbers of a real type where something happens, both signs, the infinities and NaN."""
    limits = ml_dtypes.finfo(dtype)
    least, tiny, most, step = map(
        float, (limits.smallest_subnormal, limits.tiny, limits.max, limits.eps)
    )
    sizes = [0.0, least, 3 * least, tiny - least, tiny, 2 * tiny, tiny**0.5, step / 2, step]
    sizes += [1e-3, 0.25, 0.5, 1 - step / 2, 1.0, 1 + step, np.pi / 2, 1.5, 2.0, 3.0, np.pi, 4.0]
    sizes += [10.0, 34.5, 88.5, 104.0, 171.5, 709.5, 745.5, 2.0**limits.nmant, most**0.5]
    sizes += [most / 2, most, np.inf]
    with np.errstate(over="ignore"):
        numbers = np.array(sizes).astype(dtype)
    return np.concatenate([numbers, -numbers, np.array([np.nan]).astype(dtype)])


def pairs_of_edges(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edges."""
    first, second = np.meshgrid(edges(dtype), edges(dtype), indexing="ij")
    return first.ravel(), second.ravel()


def complex_edges(dtype: np.dtype) -> np.ndarray:
    """Pairs of zeros, small, middle, large and infinite parts and NaN."""
    limits = ml_dtypes.finfo(part(dtype))
    sizes = [0.0, float(limits.tiny), 0.5, 1.0, 2.0, np.pi / 2, 100.0, float(limits.max), np.inf]
    parts = np.array([*sizes, *(-size for size in sizes), np.nan])
    found = np.empty((len(parts), len(parts)), np.complex128)
    found.real, found.imag = parts[:, None], parts
    return found.ravel().astype(dtype)


def is_small(dtype: np.dtype) -> bool:
    """Whether all numbers can be taken."""
    return dtype.itemsize == 2


def all_numbers(dtype: np.dtype) -> np.ndarray:
    """Every number of a type of 16 bits."""
    return np.arange(2**16, dtype=np.uint16).view(dtype)


def random_arguments(
    dtype: np.dtype, ranges: Sequence[Range], count: int, seed: int = 0
) -> list[np.ndarray]:
    """So many rows of arguments, one column for each range."""
    numbers = np.random.default_rng(seed)
    if dtype.name in PARTS:
        return [_complex_column(dtype, one, count, numbers) for one in ranges]
    return [_column(dtype, one, count, numbers) for one in ranges]


def _complex_column(
    dtype: np.dtype, one: Range, count: int, numbers: np.random.Generator
) -> np.ndarray:
    found = np.empty(count, dtype)
    found.real, found.imag = (_column(part(dtype), one, count, numbers) for _ in range(2))
    # The sign of a zero says on which side of a branch cut a number is: that is for the edges.
    for parts in (found.real, found.imag):
        parts[parts == 0] = 1
    return found


def _column(dtype: np.dtype, one: Range, count: int, numbers: np.random.Generator) -> np.ndarray:
    near = count // 6
    everywhere = count // 3
    uniform = numbers.uniform(*one, count - near - everywhere).astype(dtype)
    column = np.concatenate(
        [uniform, _random_bits(dtype, everywhere, numbers), _near(dtype, one, near, numbers)]
    )
    return numbers.permutation(column)


def _random_bits(dtype: np.dtype, count: int, numbers: np.random.Generator) -> np.ndarray:
    """Finite numbers."""
    word = np.dtype(f"uint{8 * dtype.itemsize}")
    found = numbers.integers(0, np.iinfo(word).max, count, word, endpoint=True).view(dtype)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(found), found, dtype.type(1))


def _near(dtype: np.dtype, one: Range, count: int, numbers: np.random.Generator) -> np.ndarray:
    special = edges(dtype).astype(np.float64)
    special = np.concatenate([special[np.isfinite(special)], one, np.pi / 2 * np.arange(-99, 100)])
    chosen = numbers.choice(special, count)
    with np.errstate(over="ignore"):
        found = (chosen + numbers.integers(-2000, 2000, count) * spacing(chosen, dtype)).astype(
            dtype
        )
    return np.where(np.isfinite(found), found, dtype.type(1))
