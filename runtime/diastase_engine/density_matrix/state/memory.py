"""Density matrices made and copied; they are released as states of the other engine are."""

from math import nan

from diastase_engine.call_context import NEGATIVE_QUBITS, TOO_MANY_QUBITS, CallContext, fail
from diastase_engine.density_matrix.state.digits import MAX_INDEX_BITS, MAX_WIRES, index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate_blocks
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.parallel import clear, write_bulk
from diastase_engine.state_vector.state.records import BLOCK_BYTES, LANE_BITS, State


@kernel
def allocate_mixed(context: CallContext, site: i64, wires: i64, derivatives: i64) -> State:
    """Memory of a state with unset numbers, or an error and null."""
    bits = 2 * wires + derivatives
    blocks = 1 << (bits - 1 - LANE_BITS) if bits > 1 + LANE_BITS else 1
    state = allocate_blocks(context, site, wires, blocks)
    if is_null(state):
        return state
    state.derivatives = derivatives
    for wire in range(wires):
        state.bit_of_wire[wire] = wires - 1 - wire
    return state


@kernel
def state_create(context: CallContext, site: i64, wires: i64, derivatives: i64) -> State:
    """Make a state |0...0>, whose derivatives are zero, or an error and null."""
    if context.code != 0:
        return null(State)
    if wires < 0:
        fail(context, NEGATIVE_QUBITS, site, wires, 0)
        return null(State)
    if wires > MAX_WIRES or 2 * wires + derivatives > MAX_INDEX_BITS or derivatives < 0:
        fail(context, TOO_MANY_QUBITS, site, wires, 0)
        return null(State)
    state = allocate_mixed(context, site, wires, derivatives)
    if is_null(state):
        return state
    clear(cast(state.amplitudes, ptr[f64]), state.blocks * BLOCK_BYTES)
    numbers = cast(state.amplitudes, ptr[stored])
    for setting in range(1 << wires):  # I or Z on each wire
        place: i64 = 0
        for bit in range(wires):
            if (setting >> bit) & 1 == 1:
                place |= 3 << (derivatives + 2 * bit)
        numbers[place] = 1.0
    return state


@kernel
def copy_into(copy: State, state: State) -> None:
    """Copy numbers to a state of the same size."""
    write_bulk(
        cast(copy.amplitudes, ptr[f64]),
        cast(state.amplitudes, ptr[f64]),
        state.blocks * BLOCK_BYTES,
    )
    copy.spoilt = state.spoilt


@kernel
def state_zero(context: CallContext, state: State) -> None:
    """Set all numbers to zero."""
    if cannot_run(context, state):
        return
    state.spoilt, state.waiting = 0, 0
    clear(cast(state.amplitudes, ptr[f64]), state.blocks * BLOCK_BYTES)


@kernel
def spoil(state: State) -> None:
    """Make all numbers NaN, for good (until `state_zero`)."""
    state.gates += 1
    if state.spoilt != 0:
        return
    state.spoilt, state.waiting = 1, 0
    numbers = cast(state.amplitudes, ptr[stored])
    for k in range(1 << index_bits(state)):
        numbers[k] = nan
