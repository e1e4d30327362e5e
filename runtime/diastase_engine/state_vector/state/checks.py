"""What exported functions ask first: is there anything to do, are wires and numbers usable.

After a failure of the call, and on the null state that a failed allocation left, nothing happens
and the result is zero (`cannot_run`).

*Wires* may be computed at run time, each of them, so nothing is indexed with one before it has
become a bit of the amplitudes' index here. A bad wire records an error and gives -1.

*Numbers* that are NaN or infinite make every amplitude NaN. An operation is applied only where it
changes something: its selectors match, and the amplitudes are not known to be zero. So the NaN of
an angle would reach some amplitudes and leave others as they were, and a marginal probability could
be a plausible number that nothing supports. A gate that is no number therefore *spoils* the state
as a whole, until `state_zero`; operations on a spoilt state are not queued, and outcomes are not
drawn from it (`measure.outcomes`, `samples`).
"""

from math import inf, nan

from diastase_engine.call_context import (
    NOT_A_NUMBER,
    OVERLAPPING_WIRES,
    WIRE_OUT_OF_RANGE,
    CallContext,
    fail,
)
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANES, State
from diastase_engine.state_vector.state.small_matrices import EVERYWHERE


@inline
def cannot_run(context: CallContext, state: State) -> i1:
    """Whether a function on `state` has to do nothing."""
    return is_null(state) or context.code != 0


@kernel
def bit_of(context: CallContext, state: State, site: i64, wire: i64) -> i64:
    """Return the bit of a wire, or -1."""
    if 0 <= wire and wire < state.qubits:
        return state.bit_of_wire[wire]
    fail(context, WIRE_OUT_OF_RANGE, site, wire, state.qubits)
    return -1


@kernel
def add_to_mask(context: CallContext, state: State, site: i64, wire: i64, mask: i64) -> i64:
    """`mask` with the bit of one more wire, or -1 where the wire is bad or already in it."""
    bit = bit_of(context, state, site, wire)
    if bit < 0 or mask < 0:
        return -1
    if (mask >> bit) & 1 == 1:
        fail(context, OVERLAPPING_WIRES, site, wire, 0)
        return -1
    return mask | (1 << bit)


@kernel
def mask_of(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], start: i64
) -> i64:
    """Return the bits of `count` wires added to the mask `start`, or -1 where a wire is bad."""
    mask: i64 = start
    for k in range(count):
        mask = add_to_mask(context, state, site, wires[k], mask)
    return mask


@kernel
def bits_of(state: State, count: i64, wires: ptr[i64], bits: ptr[i64]) -> None:
    """Write the bits of `count` checked wires, in their order."""
    for k in range(count):
        bits[k] = state.bit_of_wire[wires[k]]


@kernel
def control_value(state: State, count: i64, wires: ptr[i64], values: ptr[i64]) -> i64:
    """Return the bits of those checked control wires that must be one."""
    value: i64 = 0
    for k in range(count):
        if values[k] != 0:
            value |= 1 << state.bit_of_wire[wires[k]]
    return value


@kernel
def in_order(state: State) -> i1:
    """Whether wire `w` still is bit `qubits - 1 - w` for all wires."""
    for wire in range(state.qubits):
        if state.bit_of_wire[wire] != state.qubits - 1 - wire:
            return False
    return True


@kernel
def are_numbers(first: ptr[f64], second: ptr[f64]) -> i1:
    """Whether all elements of two 2x2 matrices are finite."""
    return (
        equal_lanes(load_unaligned(first, 0) * 0.0, load_unaligned(second, 0) * 0.0) == EVERYWHERE
    )


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
