"""Checked wires: from the user's numbers to bits of the amplitude index.

Every wire of a program may be computed at run time, so nothing is indexed with one before it has
passed here. A bad wire records an error and gives -1.
"""

from diastase_engine.call_context import OVERLAPPING_WIRES, WIRE_OUT_OF_RANGE, CallContext, fail
from diastase_engine.language import i1, i64, kernel, ptr
from diastase_engine.state_vector.state.records import State


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
