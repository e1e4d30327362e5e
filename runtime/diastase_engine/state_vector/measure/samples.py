"""Samples of a state: many outcomes at once, without collapse.

In: wires (which may repeat) and a number of shots. Out: one integer for each shot, made of the
bits of its wires, the first wire the most significant.

Sorted uniform numbers, made as sums of exponential gaps, are merged with the running sum of the
weights in one walk over the amplitudes; then the shots are shuffled. So no table of the size of
the state is needed, and nothing is searched for. An outcome of weight zero is never drawn: the
running sum does not grow there, and what rounding leaves over at the end of a block, or of the
walk, goes to the last outcome with a weight.
"""

from diastase_engine.call_context import (
    INVALID_SHOTS,
    OUT_OF_MEMORY,
    CallContext,
    fail,
    next_uniform,
)
from diastase_engine.language import *
from diastase_engine.state_vector.device.drawing import draw_there, weight_there
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.measure.outcomes import lane_places, weight
from diastase_engine.state_vector.measure.trajectories import trajectories_of
from diastase_engine.state_vector.queue.queue import apply_waiting
from diastase_engine.state_vector.state.checks import bit_of, cannot_run, is_drawable
from diastase_engine.state_vector.state.parallel import is_interrupted
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANES,
    OutcomeScript,
    State,
    free,
    malloc,
    memset,
)
from diastase_engine.state_vector.tiles.sweeps import place_of
from diastase_runtime.abi import MAX_SAMPLED_WIRES

_BETWEEN_POLLS = (1 << 16) - 1
"""Shots, less one."""

log = external("log", [f64], f64)

weighed_there, drawn_there = if_gpu(weight_there), if_gpu(draw_there)


@kernel
def write_gaps(context: CallContext, state: State, shots: i64, gaps: ptr[f64]) -> f64:
    """Write exponential gaps, one for each shot; return their sum and one gap more."""
    total: f64 = 0.0
    for shot in range(shots):
        if shot & _BETWEEN_POLLS == 0 and is_interrupted(state):
            return total
        gap = 0.0 - log(1.0 - next_uniform(context))
        gaps[shot] = gap
        total += gap
    return total - log(1.0 - next_uniform(context))


@kernel
def total_weight(state: State) -> f64:
    """Sum of all squared magnitudes, in the order in which they are walked."""
    if GPU == 1:
        return weighed_there(state)
    total: f64 = 0.0
    for block in range(state.blocks):
        total += horizontal_sum(weight(state, block))
    return total


@kernel
def walk(state: State, count: i64, bits: ptr[i64], scale: f64, shots: i64, out: ptr[i64]) -> None:
    """Replace each gap by the outcome that the sum of the gaps up to it, scaled, falls on."""
    gaps = cast(out, ptr[f64])
    places = lane_places(count, bits)
    weights = stack_array(wide, 1)
    numbers = cast(weights, ptr[f64])
    shot: i64 = 0
    arrived: f64 = gaps[0]
    reached: f64 = 0.0
    chosen: i64 = 0
    for block in range(state.blocks):
        weights[0] = weight(state, block)
        before = reached
        reached += horizontal_sum(weights[0])
        if shot < shots and arrived * scale < reached:
            base = place_of(block << LANE_BITS, count, bits)
            for lane in static(range(LANES)):
                before += numbers[lane]
                if numbers[lane] > 0.0:
                    chosen = base | places[lane]
                while shot < shots and arrived * scale < before:
                    out[shot] = chosen
                    shot += 1
                    if shot < shots:
                        arrived += gaps[shot]
            while shot < shots and arrived * scale < reached:
                out[shot] = chosen
                shot += 1
                if shot < shots:
                    arrived += gaps[shot]
    while shot < shots:
        out[shot] = chosen
        shot += 1


@kernel
def shuffle_shots(context: CallContext, state: State, shots: i64, out: ptr[i64]) -> None:
    """Put the shots into random order: Fisher and Yates."""
    for step in range(shots - 1):
        if step & _BETWEEN_POLLS == 0 and is_interrupted(state):
            return
        last = shots - 1 - step
        other = to_integer(next_uniform(context) * to_float(last + 1))
        kept = out[last]
        out[last] = out[other]
        out[other] = kept


@kernel
def wires_to_bits(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], bits: ptr[i64]
) -> i1:
    """Write the bits of wires that may repeat; whether all of them exist."""
    for k in range(count):
        bits[k] = bit_of(context, state, site, wires[k])
    return context.code == 0


@kernel
def can_sample(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    shots: i64,
    outcomes: i64,
    bits: ptr[i64],
    out: ptr[i64],
) -> i1:
    """Set so many outcomes to zero and write the bits of wires; whether there is any to draw."""
    if shots > 0:
        memset(cast(out, ptr[f64]), 0, 8 * outcomes)
    if cannot_run(context, state):
        return False
    if shots < 1:
        fail(context, INVALID_SHOTS, site, shots, 0)
        return False
    return wires_to_bits(context, state, site, n_wires, wires, bits)


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
    """Draw outcomes on some wires; of all wires where none are given."""
    bits = stack_array(i64, MAX_SAMPLED_WIRES)
    if not can_sample(context, state, site, n_wires, wires, shots, shots, bits, out):
        return
    apply_waiting(state)
    draw_outcomes(context, state, site, n_wires, bits, shots, out)


@kernel
def draw_outcomes(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    bits: ptr[i64],
    shots: i64,
    out: ptr[i64],
) -> None:
    """Draw outcomes of some bits, or of all wires where there are none; nothing waits."""
    weight_of_all = total_weight(state)
    if not is_drawable(context, site, weight_of_all):
        return
    if n_wires == 0:
        bits_in_order(state, bits)
    count = n_wires if n_wires != 0 else state.qubits
    if is_null(state.script) or is_null(cast(state.script, OutcomeScript).trajectories):
        draw_shots(context, state, count, bits, weight_of_all, shots, out)
    else:
        draw_of_members(context, state, site, count, bits, weight_of_all, shots, out)


@kernel
def bits_in_order(state: State, bits: ptr[i64]) -> None:
    """Write the bits of all wires."""
    for wire in range(state.qubits):
        bits[wire] = state.bit_of_wire[wire]


@kernel
def draw_shots(
    context: CallContext,
    state: State,
    count: i64,
    bits: ptr[i64],
    total: f64,
    shots: i64,
    out: ptr[i64],
) -> None:
    """Draw that many outcomes on some bits from a state of this weight."""
    scale = total / write_gaps(context, state, shots, cast(out, ptr[f64]))
    if context.code != 0:
        return
    if GPU == 1:
        drawn_there(state, count, bits, scale, shots, out)
    else:
        walk(state, count, bits, scale, shots, out)
    shuffle_shots(context, state, shots, out)


@kernel
def draw_of_members(
    context: CallContext,
    state: State,
    site: i64,
    count: i64,
    bits: ptr[i64],
    total: f64,
    shots: i64,
    out: ptr[i64],
) -> None:
    """Draw an outcome for each trajectory of this run, written in its place; others are zero."""
    run = trajectories_of(cast(state.script, OutcomeScript))
    members = run.last - run.first
    if members == 0:
        return
    found = cast(malloc(8 * members), ptr[i64])
    if is_null(found):
        fail(context, OUT_OF_MEMORY, site, 8 * members, 0)
        return
    draw_shots(context, state, count, bits, total, members, found)
    for place in range(members):
        member = run.members[run.first + place]
        if member < shots and context.code == 0:
            out[member] = found[place]
    free(cast(found, ptr[f64]))
