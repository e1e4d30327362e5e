"""Transfer matrices as they are given, in the order I, X, Y, Z, as matrices on index bits."""

from diastase_engine.call_context import (
    OVERLAPPING_WIRES,
    SIZE_MISMATCH,
    WIRE_OUT_OF_RANGE,
    CallContext,
    fail,
)
from diastase_engine.density_matrix.records import State, outer_digit
from diastase_engine.language import *

MOST_MATRIX_BITS = 14
"""Index bits of a transfer matrix: one on more has gigabytes."""


@kernel
def places_of(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], bits: ptr[i64]
) -> i64:
    """Write the index bits of wires of both kinds; return how many, or -1 where a wire is bad."""
    found: i64 = 0
    mask: i64 = 0
    total = state.qubits + state.derivative_wires
    for k in range(count):
        wire = wires[k]
        if wire < 0 or wire >= total:
            fail(context, WIRE_OUT_OF_RANGE, site, wire, state.qubits)
            return -1
        if (mask >> wire) & 1 == 1:
            fail(context, OVERLAPPING_WIRES, site, wire, 0)
            return -1
        mask |= 1 << wire
        bit = state.bit_of_wire[wire]
        if wire < state.qubits:
            bits[found] = bit + 1
            found += 1
        bits[found] = bit
        found += 1
    if found > MOST_MATRIX_BITS:
        fail(context, SIZE_MISMATCH, site, found, MOST_MATRIX_BITS)
        return -1
    return found


@kernel
def inner_index(state: State, n_wires: i64, wires: ptr[i64], index: i64) -> i64:
    """The number of a row in our order of digits, and back."""
    found: i64 = 0
    place: i64 = 0
    for k in range(n_wires):
        wire = wires[n_wires - 1 - k]
        if wire < state.qubits:
            found |= outer_digit((index >> place) & 3) << place
            place += 2
        else:
            found |= ((index >> place) & 1) << place
            place += 1
    return found


@kernel
def inner_matrix(
    state: State, n_wires: i64, wires: ptr[i64], count: i64, matrix: ptr[f64], inner: ptr[f64]
) -> None:
    """Write a transfer matrix on `count` index bits in our order of digits, or back."""
    size = 1 << count
    for row in range(size):
        target = inner + (inner_index(state, n_wires, wires, row) << count)
        source = matrix + (row << count)
        for column in range(size):
            target[inner_index(state, n_wires, wires, column)] = source[column]
