"""Operations that IEEE 754 says exactly, over all pairs of edges of float32 and float64.

NumPy's results are the exact ones, but for the signs of zeros in `SIGN_OF_ZERO_IS_JAXS`: IEEE 754
leaves open which of 0 and -0 is larger, and JAX defines `mod`, `floor_divide` and `sign` otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from accuracy import units
from accuracy.arguments import pairs_of_edges
from accuracy.measure import BY, dtype_of, text

Pair = tuple[Callable[..., Any], Callable[..., Any]]

OPERATIONS: dict[str, Pair] = {
    "add": (lax.add, np.add), "sub": (lax.sub, np.subtract), "mul": (lax.mul, np.multiply),
    "div": (lax.div, np.divide), "rem": (lax.rem, np.fmod), "max": (lax.max, np.maximum),
    "min": (lax.min, np.minimum), "nextafter": (lax.nextafter, np.nextafter),
    "copysign": (jnp.copysign, np.copysign), "fmax": (jnp.fmax, np.fmax),
    "fmin": (jnp.fmin, np.fmin), "mod": (jnp.mod, np.mod),
    "floor_divide": (jnp.floor_divide, np.floor_divide), "heaviside": (jnp.heaviside, np.heaviside),
    "eq": (lax.eq, np.equal), "ne": (lax.ne, np.not_equal), "lt": (lax.lt, np.less),
    "le": (lax.le, np.less_equal), "sign": (lambda x, _: lax.sign(x), lambda x, _: np.sign(x)),
    "floor": (lambda x, _: lax.floor(x), lambda x, _: np.floor(x)),
    "ceil": (lambda x, _: lax.ceil(x), lambda x, _: np.ceil(x)),
    "round": (lambda x, _: jnp.round(x), lambda x, _: np.round(x)),
    "trunc": (lambda x, _: jnp.trunc(x), lambda x, _: np.trunc(x)),
    "abs": (lambda x, _: lax.abs(x), lambda x, _: np.abs(x)),
    "neg": (lambda x, _: lax.neg(x), lambda x, _: np.negative(x)),
    "signbit": (lambda x, _: jnp.signbit(x), lambda x, _: np.signbit(x)),
    "isfinite": (lambda x, _: lax.is_finite(x), lambda x, _: np.isfinite(x)),
    "clamp": (
        lambda x, y: lax.clamp(jnp.full_like(x, -1), x, lax.abs(y)),
        lambda x, y: np.minimum(np.maximum(x, -1), np.abs(y)),
    ),
    "integer_pow": (lambda x, _: lax.integer_pow(x, 3), lambda x, _: x * x * x),
}  # fmt: skip


SIGN_OF_ZERO_IS_JAXS = frozenset(("max", "min", "clamp", "mod", "floor_divide", "sign"))


@dataclass(frozen=True)
class Difference:
    """One pair of which ours or XLA's is not exact."""

    name: str
    dtype: str
    at: str
    ours: str
    xla: str
    exact: str
    is_ours: bool
    is_xla: bool
    is_flushed: bool
    """Whether an operand or the result is subnormal; listed only where ours is not exact."""


def all_operations(x: Any, y: Any) -> list[Any]:
    return [program(x, y) for program, _ in OPERATIONS.values()]


def differences(dtype_name: str) -> Iterator[Difference]:
    """What differs, of a type; not what XLA does to subnormal numbers."""
    dtype = dtype_of(dtype_name)
    pair = pairs_of_edges(dtype)
    found = {by: [np.asarray(r) for r in jit(all_operations)(*pair)] for by, jit in BY.items()}
    small = np.any([units.is_subnormal(x, dtype) for x in pair], axis=0)
    for place, (name, (_, numpy)) in enumerate(OPERATIONS.items()):
        with np.errstate(all="ignore"):
            exact = numpy(*pair)
        same = {by: is_right(name, results[place], exact) for by, results in found.items()}
        for row in np.flatnonzero(~(same["ours"] & same["XLA"])):
            flushed = bool(small[row] or units.is_subnormal(exact[row : row + 1], dtype)[0])
            if flushed and same["ours"][row]:
                continue
            shown = [text(found[by][place][row]) for by in BY]
            at = ", ".join(text(x[row]) for x in pair)
            wrong = [bool(not same[by][row]) for by in BY]
            yield Difference(name, dtype_name, at, *shown, text(exact[row]), *wrong, flushed)


def is_right(name: str, found: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Whether each result is the exact one."""
    right = same_bits(found, exact)
    return right | (found == exact) if name in SIGN_OF_ZERO_IS_JAXS else right


def same_bits(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """All NaNs are the same."""
    if one.dtype == np.bool_:
        return one == other
    both_nan = np.isnan(one) & np.isnan(other)
    return both_nan | ((one == other) & (np.signbit(one) == np.signbit(other)))
