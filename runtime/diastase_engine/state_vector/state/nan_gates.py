"""Gates whose numbers are NaN or infinite: they make every amplitude NaN.

An operation is applied only where it changes something: its selectors match, and the amplitudes
are not known to be zero. So the NaN of an angle would reach some amplitudes and leave others as
they were, and a marginal probability could be a plausible number that nothing supports. A gate
that is no number therefore *spoils* the state as a whole, until `state_zero`; operations on a
spoilt state are not queued, and outcomes are not drawn from it (`measure.outcomes`, `samples`).
"""

from math import inf, nan

from diastase_engine.call_context import NOT_A_NUMBER, CallContext, fail
from diastase_engine.language import (
    broadcast,
    cast,
    f64,
    horizontal_sum,
    i1,
    i64,
    kernel,
    load_unaligned,
    ptr,
    static,
    stored,
)
from diastase_engine.state_vector.state.records import LANE_BITS, LANES, State


@kernel
def are_numbers(first: ptr[f64], second: ptr[f64]) -> i1:
    """Whether all elements of two 2x2 matrices are finite."""
    return horizontal_sum(load_unaligned(first, 0) * 0.0 + load_unaligned(second, 0) * 0.0) == 0.0


@kernel
def all_are_numbers(count: i64, numbers: ptr[f64]) -> i1:
    """Whether so many numbers are finite."""
    for k in range(count):
        if not numbers[k] * 0.0 == 0.0:
            return False
    return True


@kernel
def fill_with_nan(state: State) -> None:
    """Make all amplitudes NaN; the lanes beyond a small state stay zero."""
    if state.qubits >= LANE_BITS:
        for k in range(2 * state.blocks):
            state.amplitudes[k] = broadcast(nan)
        return
    numbers = cast(state.amplitudes, ptr[stored])
    for lane in static(range(LANES)):
        if lane < 1 << state.qubits:
            numbers[lane], numbers[LANES + lane] = nan, nan


@kernel
def is_drawable(context: CallContext, site: i64, weight: f64) -> i1:
    """Whether outcomes can be drawn from amplitudes of this total weight; else an error."""
    if weight < inf:
        return True
    fail(context, NOT_A_NUMBER, site, 0, 0)
    return False
