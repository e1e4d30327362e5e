"""Sums of weights, kept apart by up to two bits of blocks; see `weighing`."""

from diastase_engine.language import *
from diastase_engine.state_vector.tiles.sweeps import Sweep

SUMS = 4
"""For each value of the selector and of the bit."""


@inline
def squares(x: vector, y: vector) -> wide:
    """Squared magnitudes of a block."""
    u, v = widen(x), widen(y)
    return u * u + v * v


@inline
def add(run: Sweep, block: i64, weight: wide) -> None:
    """Add a weight to the sum that a block counts for."""
    number: i64 = 1 if block & run.bit != 0 else 0
    if block & run.selector != 0:
        number += 2
    run.sums[number] = run.sums[number] + weight
