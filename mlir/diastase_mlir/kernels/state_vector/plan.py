"""Waiting operations to a plan, and its memory.

In: a state with waiting operations. Out: whether they have been applied by a plan; where not (a
small state, or no memory for the plan), nothing has happened, and the caller applies them one by
one.

Small states lie in the first-level cache, where a plan wins nothing. The memory of plans and of a
chunk belongs to the state, is made when it is first needed and kept until the state is released.
"""

from diastase_mlir.kernels.language import (
    cast,
    count_ones,
    count_trailing_zeros,
    derived,
    f64,
    i1,
    i64,
    is_null,
    kernel,
    ptr,
    size_of,
    static,
    vector,
)
from diastase_mlir.kernels.state_vector.c_functions import aligned_alloc, free
from diastase_mlir.kernels.state_vector.common_factors import take_out_factors
from diastase_mlir.kernels.state_vector.diagonal_groups import (
    group_length,
    prepare_application,
    prepare_gathered,
)
from diastase_mlir.kernels.state_vector.parallel import workers_on
from diastase_mlir.kernels.state_vector.plan_records import (
    CHUNK_BITS,
    SLOTS,
    Plan,
    Stage,
    Tile,
    TileOperation,
)
from diastase_mlir.kernels.state_vector.records import (
    ALIGNMENT,
    BLOCK_BYTES,
    LANE_BITS,
    LANE_MASK,
    State,
)
from diastase_mlir.kernels.state_vector.schedule import fill_up, list_waiting, pick, set_places
from diastase_mlir.kernels.state_vector.stages import run_stages
from diastase_mlir.kernels.state_vector.tile_operations import prepare_operation

PLANNED_QUBITS = derived(lambda lane_bits: 9 + lane_bits, LANE_BITS)
"""States of fewer qubits are swept: 32 KiB of amplitudes fit the first-level cache."""
SMALLEST_SHARED_CHUNK = derived(lambda lane_bits: 9 + lane_bits, LANE_BITS)
"""Smaller chunks would make more stages, which costs more than one thread's waiting."""
PART_BITS = 10
"""A stage of one tile is divided into parts of so many groups of blocks."""
_PLAN_WORDS = (size_of(Plan) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT // 8
_WORDS_OF_ONE = (size_of(TileOperation) + size_of(Tile) + size_of(Stage)) // 8 + 5
"""Of a waiting operation: at most one tile operation, tile and stage, and five list entries."""


@kernel
def room(memory: ptr[f64], had: i64, needed: i64) -> ptr[f64]:
    """Memory of at least `needed` bytes, whatever was in it is lost; null where there is none."""
    if needed <= had:
        return memory
    free(memory)
    return aligned_alloc(ALIGNMENT, (needed + ALIGNMENT - 1) & ~(ALIGNMENT - 1))


@kernel
def prepared_at_most(state: State) -> i64:
    """Return a bound of the number of tile operations: a group of four has one more."""
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
def room_for_chunks(state: State, chunk_bits: i64) -> i1:
    """Make room for a chunk for each thread that can have one; whether there is any."""
    chunk = BLOCK_BYTES << (chunk_bits - LANE_BITS)
    needed = chunk * workers_on(state, 1 << (state.qubits - chunk_bits))
    state.buffer = room(state.buffer, state.buffer_bytes, needed)
    if is_null(state.buffer):
        state.buffer_bytes = 0
        return False
    if needed > state.buffer_bytes:
        state.buffer_bytes = needed
    return True


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
    plan.pending = cast(lists + 2 * count, ptr[i64])
    plan.of_stage = cast(lists + 3 * count, ptr[i64])
    plan.of_tile = cast(lists + 4 * count, ptr[i64])
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


@kernel
def add_group(state: State, plan: Plan, tile: Tile, first: i64, length: i64) -> None:
    """Add diagonal operations that are gathered, and then applied."""
    for k in range(first, first + length):
        index = plan.of_tile[k]
        prepare_gathered(plan, tile, state.operations[index], index, next_operation(plan))
    prepare_application(next_operation(plan))


@kernel
def set_groups(plan: Plan, tile: Tile, counted: i64, stage_bits: i64) -> None:
    """Say which groups of blocks a tile has, `counted` being its block bits that are no slots."""
    free: i64 = counted
    if stage_bits & (stage_bits + 1) == 0:
        # In place. A buffer is loaded as a whole, the zeros, too.
        free &= plan.support >> LANE_BITS
    tile.fixed = -1
    tile.groups = 1 << count_ones(free)
    while free != 0:
        place = plan.place[LANE_BITS + count_trailing_zeros(free)] - LANE_BITS
        tile.fixed = tile.fixed & ~(1 << place)
        free &= free - 1


@kernel
def add_tile(state: State, plan: Plan, stage_bits: i64, bits: i64, count: i64) -> None:
    """Add the tile of the `count` operations in `of_tile`, whose targets are `bits`."""
    tile = plan.tiles[plan.tile_count]
    plan.tile_count = plan.tile_count + 1
    rest: i64 = fill_up(bits, LANE_BITS + SLOTS, stage_bits) >> LANE_BITS
    tile.far_fixed = ~(stage_bits >> LANE_BITS) | rest
    for slot in static(range(SLOTS)):
        far = count_trailing_zeros(rest)
        place = plan.place[LANE_BITS + far] - LANE_BITS
        tile.far_slots[slot] = far
        tile.slots[slot] = place
        rest &= rest - 1
    set_groups(plan, tile, ~tile.far_fixed, stage_bits)
    plan.support |= bits
    tile.first = plan.operation_count
    done: i64 = 0
    while done < count:
        length = group_length(state, plan, tile, done, count)
        if length > 0:
            add_group(state, plan, tile, done, length)
            done += length
        else:
            index = plan.of_tile[done]
            prepare_operation(plan, tile, state.operations[index], index, next_operation(plan))
            done += 1
    tile.end = plan.operation_count


@kernel
def add_stage(state: State, plan: Plan, count: i64) -> None:
    """Add the stage of the `count` operations in `of_stage`, whose targets are `plan.bits`."""
    stage = plan.stages[plan.stage_count]
    plan.stage_count = plan.stage_count + 1
    everything = (1 << state.qubits) - 1
    stage.bits = fill_up(plan.bits, plan.chunk_bits, everything)
    stage.single = plan.of_stage[0] if count == 1 else -1
    taken: i64 = pick(plan, plan.of_stage, count, LANE_BITS + SLOTS, LANE_MASK, plan.of_tile)
    if plan.left == 0:
        # One tile goes through the state once, as copying the chunks would.
        stage.bits = everything
    set_places(state, plan, stage.bits)
    stage.in_place = 1 if stage.bits == everything else 0
    stage.parts = 1 << (state.qubits - count_ones(stage.bits))
    stage.first = plan.tile_count
    while taken > 0:
        add_tile(state, plan, stage.bits, plan.bits, taken)
        taken = pick(plan, plan.of_stage, plan.left, LANE_BITS + SLOTS, LANE_MASK, plan.of_tile)
    stage.end = plan.tile_count
    if stage.end == stage.first + 1:
        groups = state.qubits - LANE_BITS - SLOTS
        stage.parts = 1 << (groups - PART_BITS) if groups > PART_BITS else 1


@kernel
def make_plan(state: State, chunk_bits: i64) -> Plan:
    """Plan all waiting operations; the state has room for that."""
    plan = lay_out(state, chunk_bits)
    plan.listed = list_waiting(state, plan)
    plan.support = state.support
    remaining: i64 = plan.listed
    while remaining > 0:
        count = pick(plan, plan.pending, remaining, chunk_bits, LANE_MASK, plan.of_stage)
        remaining = plan.left
        add_stage(state, plan, count)
    return plan


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


@kernel
def run_planned(state: State) -> i1:
    """Apply the waiting operations by a plan; false where that was not possible."""
    chunk_bits = chunk_bits_of(state)
    if chunk_bits == 0 or not room_for_plan(state):
        return False
    if chunk_bits < state.qubits and not room_for_chunks(state, chunk_bits):
        return False
    take_out_factors(state)
    plan = make_plan(state, chunk_bits)
    state.applied += plan.listed
    state.stages += plan.stage_count
    run_stages(state, plan, cast(state.buffer, ptr[vector]))
    return True
