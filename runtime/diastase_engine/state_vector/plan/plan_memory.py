"""How large a state's chunks are, whether there is to be a plan at all, and the memory of both.

Small states lie in the first-level cache, where a plan wins nothing. A state that several threads
share is cut into two chunks for each, as long as that costs few more stages.

The memory belongs to the state, is made when it is first needed and kept until the state is
released.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import workers_on
from diastase_engine.state_vector.state.records import (
    ALIGNMENT,
    BLOCK_BYTES,
    LANE_BITS,
    PLANNED_QUBITS,
    State,
    aligned_alloc,
    free,
)
from diastase_engine.state_vector.tiles.plan_records import (
    CHUNK_BITS,
    SLOTS,
    Plan,
    Stage,
    Tile,
    TileOperation,
)

SMALLEST_SHARED_CHUNK = derived(lambda lane_bits: 9 + lane_bits, LANE_BITS)
"""Smaller chunks would make more stages, which costs more than one thread's waiting."""


@kernel
def shared_chunk_bits(state: State) -> i64:
    """Return the usual size of chunks, or a smaller one that makes two chunks for each thread."""
    bits: i64 = CHUNK_BITS if CHUNK_BITS < state.qubits else state.qubits
    wanted = 2 * workers_on(state, 1 << state.qubits)
    while bits > SMALLEST_SHARED_CHUNK and (1 << (state.qubits - bits)) < wanted:
        bits -= 1
    return bits


@kernel
def chunk_bits_of(state: State) -> i64:
    """Return the size of chunks, or 0 where the waiting operations are to be swept."""
    if state.qubits < LANE_BITS + SLOTS:
        return 0
    wanted: i64 = state.chunk_bits
    if wanted == 0:
        if state.qubits < PLANNED_QUBITS:
            return 0
        wanted = shared_chunk_bits(state)
    if wanted < LANE_BITS + SLOTS:
        wanted = LANE_BITS + SLOTS
    return wanted if wanted < state.qubits else state.qubits


_PLAN_WORDS = (size_of(Plan) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT // 8

_WORDS_OF_ONE = (size_of(TileOperation) + size_of(Tile) + size_of(Stage)) // 8 + 6
"""Of a waiting operation: at most one tile operation, tile and stage, and six list entries."""


@kernel
def room(memory: ptr[f64], had: i64, needed: i64) -> ptr[f64]:
    """Memory of at least `needed` bytes, whatever was in it is lost; null where there is none."""
    if needed <= had:
        return memory
    free(memory)
    return aligned_alloc(ALIGNMENT, (needed + ALIGNMENT - 1) & ~(ALIGNMENT - 1))


@kernel
def prepared_at_most(state: State) -> i64:
    """Return a bound of the number of tile operations: four that are gathered have one more."""
    return state.waiting + (state.waiting >> 2)


@kernel
def room_for_plan(state: State) -> i1:
    """Make room for a plan of all waiting operations; whether there is any."""
    needed = 8 * (_PLAN_WORDS + prepared_at_most(state) * _WORDS_OF_ONE)
    state.plan = room(state.plan, state.plan_bytes, needed)
    if is_null(state.plan):
        state.plan_bytes = 0
        return False
    if needed > state.plan_bytes:
        state.plan_bytes = needed
    return True


@kernel
def room_in_buffer(state: State, needed: i64) -> i1:
    """Make room for so many bytes in the state's buffer; whether there is any."""
    state.buffer = room(state.buffer, state.buffer_bytes, needed)
    if is_null(state.buffer):
        state.buffer_bytes = 0
        return False
    if needed > state.buffer_bytes:
        state.buffer_bytes = needed
    return True


@kernel
def room_for_chunks(state: State, chunk_bits: i64) -> i1:
    """Make room for a chunk for each thread that can have one; whether there is any."""
    chunk = BLOCK_BYTES << (chunk_bits - LANE_BITS)
    return room_in_buffer(state, chunk * workers_on(state, 1 << (state.qubits - chunk_bits)))


@kernel
def lay_out(state: State, chunk_bits: i64) -> Plan:
    """Make an empty plan in the state's memory."""
    plan = cast(state.plan, Plan)
    count = prepared_at_most(state)
    operations = state.plan + _PLAN_WORDS
    tiles = operations + count * (size_of(TileOperation) // 8)
    stages = tiles + count * (size_of(Tile) // 8)
    lists = stages + count * (size_of(Stage) // 8)
    plan.operations = cast(operations, ptr[TileOperation])
    plan.tiles = cast(tiles, ptr[Tile])
    plan.stages = cast(stages, ptr[Stage])
    plan.targets = cast(lists, ptr[i64])
    plan.selectors = cast(lists + count, ptr[i64])
    plan.words = cast(lists + 2 * count, ptr[i64])
    plan.pending = cast(lists + 3 * count, ptr[i64])
    plan.of_stage = cast(lists + 4 * count, ptr[i64])
    plan.of_tile = cast(lists + 5 * count, ptr[i64])
    plan.operation_count = 0
    plan.tile_count = 0
    plan.stage_count = 0
    plan.chunk_bits = chunk_bits
    return plan


@kernel
def next_operation(plan: Plan) -> TileOperation:
    """One more tile operation, to be filled in."""
    plan.operation_count = plan.operation_count + 1
    return plan.operations[plan.operation_count - 1]
