"""Outcomes drawn from a state on a GPU, whose operations are applied: see `measure.samples`.

A *chunk* is so many amplitudes in a row, which weigh one number: few enough for the host to add
them up. That says where in the running sum of all weights each chunk begins, and each shot falls.
A thread for each shot finds the last chunk that does not begin after it, and goes through that in
the order in which amplitudes lie.

An outcome of weight zero is never drawn. Of chunks that begin at the same place the last one is
found, which has a weight if another begins later; chunks that add nothing at the end are left out.
What rounding leaves over at the end of a chunk goes to the last amplitude in it with a weight.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import add_up, amplitude, squared
from diastase_engine.state_vector.device.driver import copy_to_device, copy_to_host, launch
from diastase_engine.state_vector.device.records import THREADS
from diastase_engine.state_vector.device.residence import bits_there, bring, device_room
from diastase_engine.state_vector.device.sums import blocks_for
from diastase_engine.state_vector.plan.plan_memory import room_in_buffer
from diastase_engine.state_vector.state.records import State, memset
from diastase_engine.state_vector.tiles.sweeps import place_of
from diastase_runtime.abi import GRIDS

WEIGH_CHUNKS, FIND_OUTCOMES = GRIDS.index("weigh_chunks"), GRIDS.index("find_outcomes")
CHUNK_BITS = 11
CHUNK = 1 << CHUNK_BITS
"""A number for each takes 1/4096 of the bytes of the amplitudes, or 1/2048 in single precision."""
MOST_SHOTS = 1 << 18
"""Of one launch: so little memory is needed there, however many shots there are."""


class Drawing(Record):
    """Words of `weigh_chunks` and `find_outcomes`."""

    numbers: ptr[stored]
    count: i64
    """Amplitudes."""
    chunks: ptr[f64]
    """What each chunk weighs; then, where it begins."""
    n_chunks: i64
    bits: ptr[i64]
    """Those of an outcome, the first one most significant."""
    n_bits: i64
    shots: ptr[f64]
    """Where in the running sum each shot falls; becomes its outcome."""
    n_shots: i64


@kernel
def weigh_chunks(block: i64, run: Drawing) -> None:
    """Write what a chunk weighs."""
    parts = shared_array(f64, THREADS)
    for thread in each_thread():
        first = block << CHUNK_BITS
        end = first + CHUNK if first + CHUNK < run.count else run.count
        total: f64 = 0.0
        for index in range(first + thread, end, THREADS):
            total += squared(amplitude(run.numbers, index))
        parts[thread] = total
    add_up(parts)
    for thread in each_thread():
        if thread == 0:
            run.chunks[block] = parts[0]


@kernel
def chunk_of(run: Drawing, place: f64) -> i64:
    """Return the last chunk that does not begin after a place."""
    found: i64 = 0
    end: i64 = run.n_chunks
    while end - found > 1:
        middle = (found + end) >> 1
        if run.chunks[middle] <= place:
            found = middle
        else:
            end = middle
    return found


@kernel
def index_in_chunk(run: Drawing, chunk: i64, place: f64) -> i64:
    """Return the amplitude of a chunk on which a place falls, counted from where it begins."""
    first = chunk << CHUNK_BITS
    end = first + CHUNK if first + CHUNK < run.count else run.count
    chosen: i64 = first
    reached: f64 = 0.0
    for index in range(first, end):
        weight = squared(amplitude(run.numbers, index))
        reached += weight
        if weight > 0.0:
            chosen = index
            if place < reached:
                break
    return chosen


@kernel
def find_outcomes(block: i64, run: Drawing) -> None:
    """Replace the place of each shot by its outcome."""
    for thread in each_thread():
        shot = block * THREADS + thread
        if shot < run.n_shots:
            place = run.shots[shot]
            chunk = chunk_of(run, place)
            index = index_in_chunk(run, chunk, place - run.chunks[chunk])
            cast(run.shots, ptr[i64])[shot] = place_of(index, run.n_bits, run.bits)


@kernel
def chunks_of(state: State) -> i64:
    """Return how many chunks a state has."""
    return ((1 << bits_there(state)) + CHUNK - 1) >> CHUNK_BITS


@kernel
def weight_there(state: State) -> f64:
    """Return the weight of all amplitudes, 0 after an error.

    In the state's buffer is then where each chunk begins, and behind the last what all weigh.
    """
    chunks = chunks_of(state)
    size = 8 * chunks
    if not room_in_buffer(state, size + 8):
        fail(state.context, OUT_OF_MEMORY, state.site, size + 8, 0)
        return 0.0
    if not bring(state) or not device_room(state, size):
        return 0.0
    run = stack_record(Drawing)
    run.numbers, run.count = cast(at(state.device), ptr[stored]), 1 << bits_there(state)
    run.chunks, run.n_chunks = at(state.device_plan), chunks
    launch(state, WEIGH_CHUNKS, chunks, cast(run, ptr[i64]), size_of(Drawing))
    begins = state.buffer
    if not copy_to_host(state, begins, state.device_plan, size):
        return 0.0
    reached: f64 = 0.0
    for chunk in range(chunks):
        weight = begins[chunk]
        begins[chunk] = reached
        reached += weight
    begins[chunks] = reached
    return reached


@kernel
def drawable_chunks(state: State) -> i64:
    """Return how many chunks there are up to the last one that adds to the weight of all."""
    begins = state.buffer
    chunks: i64 = chunks_of(state)
    while chunks > 1 and begins[chunks] == begins[chunks - 1]:
        chunks -= 1
    return chunks


@kernel
def find_there(state: State, run: Drawing, where: i64, shots: ptr[f64]) -> i1:
    """Replace places by outcomes, in memory there on the way; false after an error."""
    size = 8 * run.n_shots
    run.shots = at(where)
    if not copy_to_device(state, where, shots, size):
        return False
    words = cast(run, ptr[i64])
    launch(state, FIND_OUTCOMES, blocks_for(run.n_shots), words, size_of(Drawing))
    return copy_to_host(state, shots, where, size)


@kernel
def draw_there(
    state: State, count: i64, bits: ptr[i64], scale: f64, shots: i64, out: ptr[i64]
) -> None:
    """Replace each gap by the outcome that the sum of the gaps up to it, scaled, falls on.

    After `weight_there`, as `samples.walk` does on the host; zeros after an error.
    """
    places = cast(out, ptr[f64])
    arrived: f64 = 0.0
    for shot in range(shots):
        arrived += places[shot]
        places[shot] = arrived * scale
    run = stack_record(Drawing)
    run.numbers, run.count = cast(at(state.device), ptr[stored]), 1 << bits_there(state)
    run.n_bits, run.n_chunks = count, drawable_chunks(state)
    most: i64 = MOST_SHOTS if MOST_SHOTS < shots else shots
    if bring(state) and device_room(state, 8 * (run.n_chunks + count + most)):
        to_bits = state.device_plan + 8 * run.n_chunks
        run.chunks, run.bits = at(state.device_plan), cast(at(to_bits), ptr[i64])
        copy_to_device(state, state.device_plan, state.buffer, 8 * run.n_chunks)
        copy_to_device(state, to_bits, cast(bits, ptr[f64]), 8 * count)
        for first in range(0, shots, MOST_SHOTS):
            run.n_shots = shots - first if shots - first < MOST_SHOTS else MOST_SHOTS
            if not find_there(state, run, to_bits + 8 * count, places + first):
                break
    if state.context.code != 0:
        memset(places, 0, 8 * shots)
