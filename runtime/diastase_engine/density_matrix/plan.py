"""What waits, applied: one matrix after the other, or many to parts that stay in the cache.

A large vector is gone through in *stages*: of the matrices that wait, those on few digits that no
matrix before them, which stays behind, uses. The components with one setting of all other bits are
a *chunk*, which is copied to a buffer, goes through all matrices of the stage and is put back. The
lowest bits belong to every stage, so what is copied are runs of neighbours. Chunks do not depend on
each other: threads share them.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, fail
from diastase_engine.density_matrix.records import (
    CAPACITY,
    State,
    Waiting,
    index_bits,
    queue_of,
    waiting_of,
)
from diastase_engine.density_matrix.transfer import (
    Prepared,
    apply_prepared,
    apply_to,
    prepare,
    room_of,
)
from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import is_interrupted, run_parallel, thread_count
from diastase_engine.state_vector.state.records import (
    ALIGNMENT,
    LANE_BITS,
    aligned_alloc,
    free,
)
from diastase_engine.state_vector.tiles.sweeps import next_block, spread

CHUNK_BITS = derived(lambda lane_bits: 12 + lane_bits, LANE_BITS)
"""Index bits of a chunk: 256 KiB, which fits into the second-level cache twice."""
WHOLE_BITS = derived(lambda bits: bits + 1, CHUNK_BITS)
"""A vector of so many index bits is not divided."""
LOW_BITS = 4
"""Index bits that every chunk has: two digits."""


class Stage(Record):
    """Matrices that are applied to each chunk."""

    state: State
    count: i64
    first: ptr[f64]
    """The first of them, prepared; each one lies behind the other."""
    sizes: ptr[i64]
    """Bytes of each."""
    bits: i64
    """Of a chunk, as a mask of bits of the number of a vector."""
    blocks: i64
    """Vectors of a chunk."""
    buffer: ptr[vector]


@kernel
def bits_of(waiting: Waiting) -> i64:
    """The index bits of a matrix, as a mask."""
    found: i64 = 0
    for k in range(waiting.count):
        found |= 1 << waiting.bits[k]
    return found


@kernel
def make_room(state: State, size: i64) -> i1:
    """Have so much memory for prepared matrices."""
    if state.plan_bytes < size:
        free(state.plan)
        state.plan_bytes = 0
        state.plan = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1))
        if is_null(state.plan):
            return False
        state.plan_bytes = size
    return True


@kernel
def run_one_by_one(state: State) -> None:
    """Apply everything in place."""
    for k in range(queue_of(state).length):
        waiting = waiting_of(state)[k]
        if is_interrupted(state):
            return
        prepare(waiting.count, waiting.bits, waiting.matrix, state.plan)
        apply_to(cast(state.plan, Prepared), state, state.amplitudes)


@kernel
def run_waiting(state: State) -> None:
    """Apply the matrices on one and two wires that wait."""
    count = queue_of(state).length
    state.gates += count
    state.applied += count
    is_divided = index_bits(state) > WHOLE_BITS and has_buffers(state)
    if not make_room(state, (count if is_divided else 1) * room_of(4)):
        fail(state.context, OUT_OF_MEMORY, -1, room_of(4), 0)
        return
    if not is_divided:
        state.stages += count
        run_one_by_one(state)
        return
    left = stack_array(i64, CAPACITY)
    picked = stack_array(i64, CAPACITY)
    for k in range(count):
        left[k] = k
    remaining: i64 = count
    while remaining > 0 and not is_interrupted(state):
        remaining = run_stage(state, left, remaining, picked)
        state.stages += 1


@kernel
def has_buffers(state: State) -> i1:
    """Have a buffer for each thread."""
    size = thread_count() << (CHUNK_BITS + 6 - LANE_BITS)
    if state.buffer_bytes < size:
        free(state.buffer)
        state.buffer_bytes = 0
        state.buffer = aligned_alloc(ALIGNMENT, size)
        if is_null(state.buffer):
            return False
        state.buffer_bytes = size
    return True


@kernel
def pick(state: State, left: ptr[i64], count: i64, picked: ptr[i64], taken: ptr[i64]) -> i64:
    """Take the matrices of a stage out of a list; return the index bits of its chunks.

    Writes how many were taken; the others stay in the list, in order.
    """
    bits: i64 = (1 << LOW_BITS) - 1
    used: i64 = 0
    rest: i64 = 0
    taken[0] = 0
    for k in range(count):
        own = bits_of(waiting_of(state)[left[k]])
        if own & used == 0 and count_ones(bits | own) <= CHUNK_BITS:
            bits |= own
            picked[taken[0]] = left[k]
            taken[0] = taken[0] + 1
        else:
            used |= own
            left[rest] = left[k]
            rest += 1
    free_bits: i64 = ((1 << index_bits(state)) - 1) & ~bits
    while count_ones(bits) < CHUNK_BITS:
        bits |= free_bits & -free_bits
        free_bits &= free_bits - 1
    return bits


@kernel
def run_stage(state: State, left: ptr[i64], count: i64, picked: ptr[i64]) -> i64:
    """Run one stage; return how many matrices are left."""
    taken = stack_array(i64, 1)
    bits = pick(state, left, count, picked, taken)
    sizes = stack_array(i64, CAPACITY)
    places = stack_array(i64, 4)
    memory: ptr[f64] = state.plan
    for k in range(taken[0]):
        waiting = waiting_of(state)[picked[k]]
        for bit in range(waiting.count):
            below = bits & ((1 << waiting.bits[bit]) - 1)
            places[bit] = count_ones(below)
        size = prepare(waiting.count, places, waiting.matrix, memory)
        sizes[k] = (size + 63) & ~63
        memory = memory + (sizes[k] >> 3)
    stage = stack_record(Stage)
    stage.state, stage.count = state, taken[0]
    stage.first, stage.sizes = state.plan, sizes
    stage.bits = bits >> LANE_BITS
    stage.blocks = 1 << (CHUNK_BITS - LANE_BITS)
    stage.buffer = cast(state.buffer, ptr[vector])
    chunks = 1 << (index_bits(state) - CHUNK_BITS)
    run_parallel(code_of(run_chunks), cast(stage, ptr[f64]), chunks, 1)
    return count - taken[0]


@kernel
def copy_chunk(
    buffer: ptr[vector], vectors: ptr[vector], bits: i64, blocks: i64, to_buffer: i1
) -> None:
    """Copy a chunk, run by run."""
    run = (bits + 1) & ~bits
    start: i64 = 0
    place: i64 = 0
    for _ in range(blocks >> count_trailing_zeros(run)):
        if to_buffer:
            for k in range(run):
                buffer[place + k] = vectors[start + k]
        else:
            for k in range(run):
                vectors[start + k] = buffer[place + k]
        place += run
        start = next_block(start | (run - 1), ~bits)


@kernel
def run_chunks(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Run a stage on some chunks; `argument` is a `Stage`."""
    stage = cast(argument, Stage)
    buffer = stage.buffer + worker * stage.blocks
    for chunk in range(first, last):
        start = spread(chunk, ~stage.bits)
        vectors = stage.state.amplitudes + start
        is_copied = stage.bits & (stage.bits + 1) != 0
        where = buffer if is_copied else vectors
        if is_copied:
            copy_chunk(buffer, vectors, stage.bits, stage.blocks, True)
        memory: ptr[f64] = stage.first
        for k in range(stage.count):
            apply_prepared(cast(memory, Prepared), where, where, stage.blocks)
            memory = memory + (stage.sizes[k] >> 3)
        if is_copied:
            copy_chunk(buffer, vectors, stage.bits, stage.blocks, False)
