"""Transfer matrices on states: those on one wire wait, and go into others that come.

A state's queue is one matrix for each wire, which waits where `state.waiting` has its bit. What
acts on two wires takes what waits on them along, as it costs a walk over the state anyway.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.groups import apply_to_groups
from diastase_engine.density_matrix.operations.passes import MOST_BITS, apply_in_pass
from diastase_engine.density_matrix.state.digits import MAX_WIRES, digit_shift, digits_of
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import State


@inline
def waiting_matrix(state: State, wire: i64) -> ptr[f64]:
    """What waits on a wire: 16 numbers."""
    return cast(state.operations, ptr[f64]) + 16 * wire


@kernel
def multiply_waiting(state: State, wire: i64, matrix: ptr[f64]) -> None:
    """Let a matrix on a wire wait, after what does."""
    waiting = waiting_matrix(state, wire)
    if (state.waiting >> wire) & 1 == 0:
        state.waiting |= 1 << wire
        for k in range(16):
            waiting[k] = matrix[k]
        return
    before = stack_array(f64, 16)
    for k in range(16):
        before[k] = waiting[k]
    for row in range(4):
        for column in range(4):
            total: f64 = 0.0
            for k in range(4):
                total += matrix[4 * row + k] * before[4 * k + column]
            waiting[4 * row + column] = total


@kernel
def take_waiting(state: State, wire: i64, stride: i64, matrix: ptr[f64]) -> None:
    """Multiply a 16x16 matrix from the right by what waits on the wire whose digit has a stride."""
    if (state.waiting >> wire) & 1 == 0:
        return
    state.waiting &= ~(1 << wire)
    waiting = waiting_matrix(state, wire)
    before = stack_array(f64, 4)
    for row in range(16):
        for other in range(4):
            line = matrix + (16 * row + other * (4 if stride == 1 else 1))
            for k in range(4):
                before[k] = line[k * stride]
            for column in range(4):
                total: f64 = 0.0
                for k in range(4):
                    total += before[k] * waiting[4 * k + column]
                line[column * stride] = total


@kernel
def apply_transfer(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a transfer matrix on checked wires."""
    if state.spoilt != 0:
        return
    if count == 1:
        state.gates += 1
        multiply_waiting(state, wires[0], matrix)
        return
    bits = stack_array(i64, 2 * MAX_WIRES)
    digits_of(state, count, wires, bits)
    if count == 2:
        state.gates += 1
        whole = stack_array(f64, 256)
        for k in range(256):
            whole[k] = matrix[k]
        take_waiting(state, wires[0], 4, whole)
        take_waiting(state, wires[1], 1, whole)
        apply_in_pass(state, 4, bits, whole)
        return
    apply_bits(context, state, site, 2 * count, bits, matrix)


@kernel
def apply_bits(
    context: CallContext, state: State, site: i64, count: i64, bits: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a real matrix on index bits, the first one most significant."""
    if state.spoilt != 0:
        return
    flush(state)
    state.gates += 1
    if count <= MOST_BITS:
        apply_in_pass(state, count, bits, matrix)
    else:
        apply_to_groups(context, state, site, count, bits, matrix)


@kernel
def flush(state: State) -> None:
    """Apply all that waits."""
    bits = stack_array(i64, 2)
    while state.waiting != 0:
        wire = count_trailing_zeros(state.waiting)
        state.waiting &= state.waiting - 1
        bits[0], bits[1] = digit_shift(state, wire) + 1, digit_shift(state, wire)
        apply_in_pass(state, 2, bits, waiting_matrix(state, wire))
