"""Samples of each lane: what `state_vector.measure.samples` draws from a state of its own.

Outcomes are walked over in the order of the wires, whatever bits are called by then: that depends
on which lanes were active together.
"""

from diastase_engine.call_context import INVALID_SHOTS, CallContext, fail
from diastase_engine.lanes.pending import apply_all
from diastase_engine.lanes.records import WIDTH, group_of, lanes_of
from diastase_engine.lanes.streams import begin_streams
from diastase_engine.language import *
from diastase_engine.state_vector.gates.dense import position
from diastase_engine.state_vector.measure.outcomes import place_of
from diastase_engine.state_vector.measure.samples import draw_outcomes, wires_to_bits
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import (
    BLOCK_BYTES,
    LANE_BITS,
    LANES,
    State,
    free,
    memset,
)
from diastase_runtime.abi import MAX_SAMPLED_WIRES


@kernel
def copy_lane(state: State, lane: i64, alone: State) -> None:
    """Write the amplitudes of a lane as those of a state of its own, wire 0 most significant."""
    numbers = cast(group_of(state, lane >> 3), ptr[f64]) + (lane & (WIDTH - 1))
    into = cast(alone.amplitudes, ptr[f64])
    places = lanes_of(state).places
    for index in range(1 << state.qubits):
        place = WIDTH * places[index]
        outcome = place_of(index, state.qubits, state.bit_of_wire)
        target = position(outcome)
        into[target], into[target + LANES] = numbers[place], numbers[place + WIDTH]


@kernel
def begin_alone(context: CallContext, state: State, site: i64, alone: State) -> i1:
    """Make a state for one lane, which is not linked; false after an error."""
    alone.qubits = state.qubits
    alone.blocks = 1 << (state.qubits - LANE_BITS) if state.qubits > LANE_BITS else 1
    alone.context = context
    alone.script = null(ptr[f64])
    for wire in range(state.qubits):
        alone.bit_of_wire[wire] = state.qubits - 1 - wire
    memory = allocate(context, site, alone.blocks * BLOCK_BYTES)
    alone.amplitudes = cast(memory, ptr[vector])
    if is_null(memory):
        return False
    memset(memory, 0, alone.blocks * BLOCK_BYTES)
    return True


@kernel
def sample_lanes(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    bits: ptr[i64],
    shots: i64,
    out: ptr[i64],
) -> None:
    """Draw outcomes of some bits in the lanes that are active."""
    lanes = lanes_of(state)
    alone = stack_record(State)
    if not begin_alone(context, state, site, alone):
        return
    begin_streams(lanes)
    seed, counter = context.seed, context.counter
    for lane in range(lanes.lanes):
        if lanes.active[lane] != 0 and context.code == 0:
            copy_lane(state, lane, alone)
            context.seed, context.counter = lanes.seeds[lane], lanes.counters[lane]
            draw_outcomes(context, alone, site, n_wires, bits, shots, out + shots * lane)
            lanes.counters[lane] = context.counter
    context.seed, context.counter = seed, counter
    free(cast(alone.amplitudes, ptr[f64]))


@kernel
def sample(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    shots: i64,
    out: ptr[i64],
) -> None:
    """Draw outcomes on some wires in each lane; of all wires where none are given."""
    if is_null(state):
        return
    if shots > 0:
        memset(cast(out, ptr[f64]), 0, 8 * shots * lanes_of(state).lanes)
    if cannot_run(context, state):
        return
    if shots < 1:
        fail(context, INVALID_SHOTS, site, shots, 0)
        return
    bits = stack_array(i64, MAX_SAMPLED_WIRES)
    if wires_to_bits(context, state, site, n_wires, wires, bits):
        for k in range(n_wires):
            bits[k] = state.qubits - 1 - wires[k]
        apply_all(state)
        sample_lanes(context, state, site, n_wires, bits, shots, out)
