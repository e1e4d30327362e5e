"""Errors of a function in one type: the largest, ours and XLA's, and what differs at edges."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accuracy import arguments, units
from accuracy.exact import exact
from accuracy.functions import Function
from diastase import qjit

_CHECKED = 1000
"""Of ours, and of XLA's: how many of the largest errors are found again with exact values."""

BY: dict[str, Callable[..., Any]] = {"ours": qjit, "XLA": jax.jit}


@dataclass
class Errors:
    """In units in the last place, of arguments and results that are not subnormal."""

    most: float
    at: list[str]
    usual: float
    """999 of 1000 errors are less."""
    subnormal: float
    """The largest error where an argument or the result is subnormal."""
    wrong: int
    """How many are NaN or infinite where the exact result is not, or the other way round."""
    wrong_at: list[str] = field(default_factory=list)


@dataclass
class Row:
    """Of one function in one type."""

    name: str
    dtype: str
    points: int
    errors: dict[str, Errors]
    edges: list[list[str]]
    """Arguments, ours, XLA's, exact; where one is of another kind or sign than the exact value."""
    edge_count: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(jnp, name))


def drawn(function: Function, dtype: np.dtype, points: int, seed: int = 0) -> list[np.ndarray]:
    """Arguments: all numbers of 16 bits of one argument, random ones of others."""
    if arguments.is_small(dtype) and len(function.ranges) == 1 and points >= 2**16:
        return [arguments.all_numbers(dtype)]
    if function.only_in_range:
        numbers = np.random.default_rng(seed)
        columns = [numbers.uniform(*one, points).astype(dtype) for one in function.ranges]
    else:
        columns = arguments.random_arguments(dtype, function.ranges, points, seed)
    if function.whole:
        columns[0] = np.round(columns[0].astype(np.float64)).astype(dtype)
    return columns


def results(function: Function, columns: list[np.ndarray]) -> dict[str, np.ndarray]:
    """By ours and by XLA; of the type of the arguments."""
    found = {by: np.asarray(jit(function.program)(*columns)) for by, jit in BY.items()}
    assert found["ours"].dtype == found["XLA"].dtype == columns[0].dtype, function.name
    return found


def exact_or_end(function: Function, columns: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Exact values; at poles, ends and zeros, whose signs Arb does not know, `at_ends`."""
    high, low = exact(function.exact, columns)
    at_end = ~np.isfinite(high) | (high == 0)
    at_end |= np.any([(x == 0) | ~np.isfinite(x) for x in columns], axis=0)
    at_end &= ~np.isinf(high)  # too large for float64, not for Arb
    if at_end.any():
        high[at_end] = ends(function, [column[at_end] for column in columns])
        low[at_end] = 0
    return high, low


def ends(function: Function, columns: list[np.ndarray]) -> np.ndarray:
    """What NumPy or SciPy have, in double precision."""
    wide = np.complex128 if np.iscomplexobj(columns[0]) else np.float64
    with np.errstate(all="ignore"):
        return np.asarray(function.at_ends(*(column.astype(wide) for column in columns)), wide)


def measured(function: Function, dtype: np.dtype, points: int | None = None) -> Row:
    """A row of the table; the edges are in the same call as all others, which saves compiling."""
    drawn_ones, at_edge = (
        drawn(function, dtype, points or function.points),
        edge_columns(function, dtype),
    )
    count = len(drawn_ones[0])
    both = [np.concatenate(pair) for pair in zip(drawn_ones, at_edge, strict=True)]
    every = results(function, both)
    found = {by: value[:count] for by, value in every.items()}
    high, low = references(function, drawn_ones, found)
    subnormal = _subnormal(drawn_ones, high, dtype)
    errors = {by: _summary(value, drawn_ones, high, low, subnormal) for by, value in found.items()}
    different = at_edges(function, at_edge, {by: value[count:] for by, value in every.items()})
    return Row(function.name, dtype.name, count, errors, different, len(at_edge[0]))


def references(
    function: Function, columns: list[np.ndarray], found: dict[str, np.ndarray]
) -> tuple[np.ndarray, ...]:
    """By a library in a wider type; where that finds the largest errors, exactly."""
    is_double = units.part(columns[0].dtype) == np.float64
    if is_double and not function.has_long_doubles:
        return exact_or_end(function, columns)
    wide = np.longdouble if is_double else np.float64
    if np.iscomplexobj(columns[0]):
        wide = np.clongdouble if is_double else np.complex128
    with np.errstate(all="ignore"):
        values = function.at_ends(*(column.astype(wide) for column in columns))
        high = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)
        low = np.where(np.isfinite(high), values - high, 0).astype(high.dtype)
    off = [np.where(high == 0, 0.0, units.errors(value, high, low)) for value in found.values()]
    worst = np.unique([np.argsort(each)[-_CHECKED:] for each in off])
    high[worst], low[worst] = exact_or_end(function, [column[worst] for column in columns])
    return high, low


def _subnormal(columns: list[np.ndarray], high: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Where an argument (a part of it) is subnormal, or the result (its size)."""
    own = units.part(dtype)
    sizes = [np.abs(high)] + [
        each(x).astype(np.float64) for x in columns for each in (np.real, np.imag)
    ]
    return np.any([units.is_subnormal(size, own) for size in sizes], axis=0)


def _summary(
    found: np.ndarray, columns: list[np.ndarray], high: np.ndarray, low: np.ndarray,
    subnormal: np.ndarray,
) -> Errors:  # fmt: skip
    off = np.where(high == 0, 0.0, units.errors(found, high, low))  # zeros are for the edges
    kinds = np.isinf(off)
    usual = np.where(kinds | subnormal, 0.0, off)
    worst = int(np.argmax(usual))
    regular = off[~kinds & ~subnormal]
    wrong = np.flatnonzero(kinds & ~subnormal)
    return Errors(
        most=float(usual[worst]),
        at=shown(columns, worst),
        usual=float(np.quantile(regular, 0.999)) if regular.size else 0.0,
        subnormal=float(np.max(off, where=subnormal & ~kinds, initial=0.0)),
        wrong=len(wrong),
        wrong_at=shown(columns, int(wrong[0])) if len(wrong) else [],
    )


def shown(columns: list[np.ndarray], place: int) -> list[str]:
    return [text(column[place]) for column in columns]


def text(number: Any) -> str:
    """A number with so many digits that its type gives it back."""
    if np.iscomplexobj(number):
        return (
            f"{text(number.real)}{'' if text(number.imag)[0] == '-' else '+'}{text(number.imag)}j"
        )
    return str(number[()] if isinstance(number, np.ndarray) else number)


def at_edges(
    function: Function, columns: list[np.ndarray], found: dict[str, np.ndarray]
) -> list[list[str]]:
    """Where ours or XLA's is of another kind or sign than the exact value."""
    dtype = columns[0].dtype
    if dtype.name in units.PARTS:
        high, low = ends(function, columns), np.zeros(len(columns[0]))
    else:
        high, low = exact_or_end(function, columns)
    bad = {by: differs(value, high, low) for by, value in found.items()}
    flushed = _subnormal(columns, high, dtype) & (high != 0)
    listed = bad["ours"] | (bad["XLA"] & ~flushed)
    return [
        [
            ", ".join(shown(columns, place)),
            *(text(found[by][place]) for by in BY),
            text(high[place]),
        ]
        for place in np.flatnonzero(listed)
    ]


def edge_columns(function: Function, dtype: np.dtype) -> list[np.ndarray]:
    """All edges, or all tuples of them."""
    if dtype.name in units.PARTS:
        one = arguments.complex_edges(dtype)
        return [one] if len(function.ranges) == 1 else [one, np.roll(one, 100)]
    if function.only_in_range:
        return drawn(function, dtype, 500, seed=1)
    return (
        list(arguments.pairs_of_edges(dtype))
        if len(function.ranges) == 2
        else [arguments.edges(dtype)]
    )


def differs(found: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Whether kind (NaN, infinite, zero, finite) or sign differ, or most of the digits."""
    if np.iscomplexobj(found):
        return np.isinf(units.errors(found, high, low))
    limit = 2.0 ** (units.ml_dtypes.finfo(found.dtype).nmant / 2)
    signs = np.signbit(found.astype(np.float64)) != np.signbit(high)
    return (units.errors(found, high, low) > limit) | (signs & ~np.isnan(high))
