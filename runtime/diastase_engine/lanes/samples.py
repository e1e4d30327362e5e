"""Samples of each lane: what `state_vector.measure.samples` draws from a state of its own.

The running sums of the weights are written for eight lanes at once, by the order of the wires,
whatever bits are called by then: that depends on which lanes were active together. Then each lane
finds where its sorted uniform numbers fall; of a single shot, eight lanes at once.
"""

from math import inf

from diastase_engine.call_context import NOT_A_NUMBER, CallContext, fail
from diastase_engine.lanes.pending import apply_all
from diastase_engine.lanes.records import WIDTH, Lanes, active_of, group_of, lanes_of, norm_of, same
from diastase_engine.lanes.streams import begin_streams, draw
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, copy_back, if_gpu
from diastase_engine.state_vector.gates.elementary import log
from diastase_engine.state_vector.measure.samples import can_sample, shuffle_shots, write_gaps
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import in_order
from diastase_engine.state_vector.state.records import State, free
from diastase_engine.state_vector.tiles.sweeps import place_of
from diastase_runtime.abi import MAX_SAMPLED_WIRES

copied_back = if_gpu(copy_back)


class Sampling(Record):
    """What is sampled, of a group of lanes at a time."""

    state: State
    count: i64
    bits: ptr[i64]
    """The bits of an outcome on all wires that are wanted, in order."""
    shots: i64
    places: ptr[i64]
    """Where the amplitude of each outcome lies."""
    sums: ptr[v8]
    """The weights of the outcomes up to each, this one included."""


@kernel
def write_places(run: Sampling) -> None:
    """Find the amplitudes of the outcomes."""
    state = run.state
    if in_order(state):
        run.places = lanes_of(state).places
        return
    for index in range(1 << state.qubits):
        outcome = place_of(index, state.qubits, state.bit_of_wire)
        run.places[outcome] = lanes_of(state).places[index]


@kernel
def add_up(context: CallContext, run: Sampling, site: i64, group: i64) -> i1:
    """Write the running sums of a group; whether the lanes that are active can be drawn from."""
    amplitudes = group_of(run.state, group)
    total = same(0.0)
    for outcome in range(1 << run.state.qubits):
        total += norm_of(amplitudes, run.places[outcome])
        run.sums[outcome] = total
    if all_lanes(select(active_of(lanes_of(run.state), group), total, 0.0) < inf):
        return True
    fail(context, NOT_A_NUMBER, site, 0, 0)
    return False


@kernel
def halved(sums: ptr[f64], size: i64, reached: f64) -> i64:
    """The first of 2^k sums that is larger, or the last one."""
    first: i64 = 0
    step: i64 = size >> 1
    while step > 0:
        if not reached < sums[WIDTH * (first + step - 1)]:
            first += step
        step >>= 1
    return first


@kernel
def last_possible(sums: ptr[f64], size: i64) -> i64:
    """The last outcome with a weight."""
    outcome: i64 = size - 1
    while outcome > 0 and sums[WIDTH * (outcome - 1)] == sums[WIDTH * outcome]:
        outcome = outcome - 1
    return outcome


@kernel
def walk_lane(run: Sampling, sums: ptr[f64], scale: f64, out: ptr[i64]) -> None:
    """Replace each gap by the outcome that the sum of the gaps up to it, scaled, falls on."""
    gaps = cast(out, ptr[f64])
    size = 1 << run.state.qubits
    reached: f64 = 0.0
    outcome: i64 = 0
    for shot in range(run.shots):
        reached += gaps[shot]
        if shot == 0:
            outcome = halved(sums, size, reached * scale)
        while outcome < size - 1 and not reached * scale < sums[WIDTH * outcome]:
            outcome += 1
        if not reached * scale < sums[WIDTH * outcome]:  # by rounding
            outcome = last_possible(sums, size)
        out[shot] = place_of(outcome, run.count, run.bits)


@kernel
def sample_lane(context: CallContext, run: Sampling, lane: i64, out: ptr[i64]) -> None:
    """Draw the outcomes of a lane, whose stream the context has."""
    sums = cast(run.sums, ptr[f64]) + (lane & (WIDTH - 1))
    total = sums[WIDTH * ((1 << run.state.qubits) - 1)]
    scale = total / write_gaps(context, run.state, run.shots, cast(out, ptr[f64]))
    if context.code == 0:
        walk_lane(run, sums, scale, out)
        shuffle_shots(context, run.state, run.shots, out)


@kernel
def sample_group(context: CallContext, run: Sampling, site: i64, group: i64, out: ptr[i64]) -> None:
    """Draw outcomes in the lanes of a group that are active."""
    lanes = lanes_of(run.state)
    if not add_up(context, run, site, group):
        return
    for lane in range(WIDTH * group, WIDTH * (group + 1)):
        if lanes.active[lane] != 0 and context.code == 0:
            context.seed, context.counter = lanes.seeds[lane], lanes.counters[lane]
            sample_lane(context, run, lane, out + run.shots * lane)
            lanes.counters[lane] = context.counter


@kernel
def draw_twice(lanes: Lanes) -> None:
    """Draw the two numbers of each lane of which the gaps around a single shot are made."""
    draw(lanes)
    for lane in range(lanes.lanes):
        lanes.angles[lane] = lanes.uniforms[lane]
    draw(lanes)


@kernel
def choose_outcomes(run: Sampling, group: i64) -> v8:
    """The outcome of a single shot in each lane of a group."""
    lanes = lanes_of(run.state)
    size = 1 << run.state.qubits
    before = 0.0 - log(1.0 - load_unaligned(lanes.angles, WIDTH * group))
    after = 0.0 - log(1.0 - load_unaligned(lanes.uniforms, WIDTH * group))
    total = run.sums[size - 1]
    reached = before * (total / (before + after))
    chosen = stack_array(v8, 1)
    outcome = same(0.0)
    for k in range(size - 1):
        outcome += select(run.sums[k] <= reached, 1.0, same(0.0))
    chosen[0] = outcome
    if not all_lanes(reached < total):
        numbers, limits = stack_array(v8, 2), cast(chosen, ptr[f64])
        numbers[0], numbers[1] = reached, total
        for lane in range(WIDTH):
            if not cast(numbers, ptr[f64])[lane] < cast(numbers, ptr[f64])[WIDTH + lane]:
                limits[lane] = to_float(last_possible(cast(run.sums, ptr[f64]) + lane, size))
    return chosen[0]


@kernel
def sample_once(context: CallContext, run: Sampling, site: i64, group: i64, out: ptr[i64]) -> None:
    """Draw one outcome in each lane of a group that is active."""
    lanes = lanes_of(run.state)
    if not add_up(context, run, site, group):
        return
    chosen = stack_array(v8, 1)
    chosen[0] = choose_outcomes(run, group)
    numbers = cast(chosen, ptr[f64])
    for k in range(WIDTH):
        lane = WIDTH * group + k
        if lanes.active[lane] != 0:
            out[lane] = place_of(to_integer(numbers[k]), run.count, run.bits)


@kernel
def sample_lanes(context: CallContext, run: Sampling, site: i64, out: ptr[i64]) -> None:
    """Draw outcomes in all lanes that are active."""
    lanes = lanes_of(run.state)
    size = 1 << run.state.qubits
    memory = allocate(context, site, 8 * (WIDTH + 1) * size)
    if is_null(memory):
        return
    run.sums = cast(memory, ptr[v8])
    run.places = cast(memory + WIDTH * size, ptr[i64])
    write_places(run)
    if run.shots == 1:
        draw_twice(lanes)
        for group in range(lanes.groups):
            if context.code == 0:
                sample_once(context, run, site, group, out)
        free(memory)
        return
    begin_streams(lanes)
    seed, counter = context.seed, context.counter
    for group in range(lanes.groups):
        if context.code == 0:
            sample_group(context, run, site, group, out)
    context.seed, context.counter = seed, counter
    free(memory)


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
    bits = stack_array(i64, MAX_SAMPLED_WIRES)
    outcomes = shots * lanes_of(state).lanes
    if not can_sample(context, state, site, n_wires, wires, shots, outcomes, bits, out):
        return
    count = n_wires if n_wires != 0 else state.qubits
    for k in range(count):
        bits[k] = state.qubits - 1 - (wires[k] if n_wires != 0 else k)
    apply_all(state)
    if GPU == 1:
        copied_back(state)
    run = stack_record(Sampling)
    run.state, run.count, run.bits, run.shots = state, count, bits, shots
    sample_lanes(context, run, site, out)
