"""What an oracle is, and when two results count as different.

An oracle is a strategy for what it needs and a check, which raises `Wrong`. Results that rounding
decides prove nothing: where two differ, the reference is asked again beside the same point, and if
it moves as far itself, the program is `Unstable` and counts for nobody. Frequencies are judged by
a test that goes on as long as it doubts: one that stops at the first deviation of three sigma
would call one right program in a hundred wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from hypothesis import strategies as st

from fuzz.programs import State

Check = Callable[..., None]
SEED = st.integers(0, 2**16)


class Wrong(AssertionError):
    """Two things that must be equal are not."""


class Unstable(Exception):
    """Rounding, or chance, decides the result."""


@dataclass(frozen=True)
class Oracle:
    """What is drawn for it, and the check of what was drawn."""

    strategy: st.SearchStrategy
    check: Check


ORACLES: dict[str, Oracle] = {}


def oracle(**drawn: st.SearchStrategy) -> Callable[[Check], Check]:
    """Register a check under the name of its function."""

    def register(check: Check) -> Check:
        ORACLES[check.__name__] = Oracle(st.fixed_dictionaries(drawn), check)
        return check

    return register


def difference(found: Any, expected: Any) -> float:
    """The largest one, relative to numbers above 1; infinite for NaN against a number."""
    largest = 0.0
    leaves = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for one, other in ((np.asarray(a), np.asarray(b)) for a, b in leaves):
        if one.shape != other.shape:
            raise Wrong(f"shapes {one.shape} and {other.shape}")
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(invalid="ignore"):
            off = np.where(same, 0.0, np.abs(one - other) / np.maximum(1.0, np.abs(other)))
        largest = max(largest, float(np.max(np.nan_to_num(off, nan=np.inf), initial=0.0)))
    return largest


def must_equal(
    found: Any,
    reference: Callable,
    state: State,
    tolerance: float = 1e-6,
    beside: tuple[float, ...] = (-1e-13, 1e-13, 1e-10),
) -> None:
    """Compare with the reference at a state, and look beside it before calling it wrong."""
    expected = reference(state)
    off = difference(found, expected)
    if off <= tolerance:
        return
    for step in beside:
        if difference(reference(state.moved(1 + step)), expected) > min(off, 1.0) / 100:
            raise Unstable
    raise Wrong(f"off by {off}:\n{found}\nis not\n{expected}")


SHOTS = 1000
"""That a test of frequencies begins with."""

DOUBT, CERTAINTY = 3.0, 5.0
"""Sigmas: below the one a sample passes, above the other it is wrong when no more are drawn."""


def must_estimate(
    estimate: Callable[[int, int], np.ndarray],
    expected: np.ndarray,
    variance: np.ndarray,
) -> None:
    """Compare means of shots with what they estimate, of ever more shots while there is doubt.

    `estimate(shots, number)` gives the means of shots whose seed follows from the number, and
    `variance` is that of one shot. A deviation above `DOUBT` asks for four times the shots, twice.
    """
    total, shots = np.zeros_like(expected), 0
    sigmas = np.zeros_like(expected)
    for number in range(3):
        more = SHOTS * 4**number
        total, shots = total + more * estimate(more, number), shots + more
        # An event of probability 1/shots is not seen: no smaller variance can be told from none.
        spread = np.sqrt(np.maximum(variance, 1 / shots) / shots)
        sigmas = np.abs(total / shots - expected) / spread
        if (sigmas < DOUBT).all():
            return
    if (sigmas > CERTAINTY).any():
        raise Wrong(f"means of {shots} shots: {total / shots}\nexact: {expected}\n{sigmas} sigmas")
    raise Unstable
