"""The plan of a sweep back, run on a GPU: a launch for each stage, the last one first.

`plan` divides the fused operations, with a GPU's sizes: a stage has the memory of a block, a part
the registers of a thread, and is a tile, or several where its sums are more than `ROWS`. Both
registers stay there; their sums are copied to the host, where they are the only group's.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, fail
from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.device.kernels import ROWS, BlockSums
from diastase_engine.state_vector.adjoint.passes import SUMS_OF
from diastase_engine.state_vector.adjoint.plan import plan_stages, room_for_lists, room_for_sums
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_ZERO,
    SIDE_SUMS,
    SUMS,
    UNDO_SLOTS,
    Backward,
    Undone,
)
from diastase_engine.state_vector.device.driver import (
    clear_on_device,
    copy_to_device,
    copy_to_host,
    launch,
)
from diastase_engine.state_vector.device.launches import (
    STAGE_WORDS,
    Launches,
    add_word,
    next_launch,
    next_tile,
    place_in_tile,
    prepare_matrices,
    room_for_launches,
    set_places_there,
    set_stage,
    set_words,
)
from diastase_engine.state_vector.device.records import (
    DIAGONAL,
    MOST_BLOCKS,
    TARGET,
    THREAD_BITS,
    DeviceTile,
    Stage,
    Words,
)
from diastase_engine.state_vector.device.residence import (
    bits_there,
    bring,
    change_there,
    device_room,
)
from diastase_engine.state_vector.device.sums import blocks_for, blocks_that_add_up
from diastase_engine.state_vector.plan.plan import places_of
from diastase_engine.state_vector.state.parallel import is_interrupted
from diastase_engine.state_vector.state.records import Operation, State, free, malloc
from diastase_runtime.abi import GRIDS

UNDO_STAGE, UNDO_WORDS = GRIDS.index("undo_stage"), GRIDS.index("undo_words")
ADD_BLOCKS = GRIDS.index("add_blocks")
_OF_FORM = {form: sum(1 << which for which in sums) for form, sums in SUMS_OF.items()}
_OF_DIAGONAL = (1 << BY_ZERO) | (1 << BY_ONE)


@kernel
def sums_of(operation: Undone) -> i64:
    """Which sums the derivatives by an operation's parameters need, as a mask."""
    side: i64 = _OF_DIAGONAL
    if operation.changes != 0:
        for form in static(_OF_FORM):
            if operation.form == form:
                side = _OF_FORM[form]
    found: i64 = 0
    if operation.mask != 0 and operation.wants_otherwise != 0:
        found |= side
    if operation.wants_matched != 0:
        found |= side << SIDE_SUMS
    return found


@kernel
def add_undone(run: Backward, launches: Launches, tile: DeviceTile, operation: Undone) -> None:
    """Add an operation to a tile."""
    plan = run.plan
    prepared = prepare_matrices(launches, operation.otherwise, operation.matched)
    mask, value = places_of(plan, operation.mask), places_of(plan, operation.value)
    place_in_tile(prepared, tile, UNDO_SLOTS, 1 << plan.place[operation.target], mask, value)
    prepared.kind = DIAGONAL if operation.changes == 0 else TARGET
    prepared.sums = sums_of(operation)
    tile.rows = tile.rows + count_ones(prepared.sums)
    tile.end = launches.operation_count


@kernel
def add_part(run: Backward, launches: Launches, part: i64, rows: i64) -> i64:
    """Add the tiles of a part, whose last operation comes first; return the next row."""
    first = run.ends[part - 1] if part > 0 else 0
    slots = run.part_bits[part]
    tile: DeviceTile = next_tile(launches, run.plan, slots, UNDO_SLOTS)
    row: i64 = rows
    tile.row = row
    for k in range(run.ends[part] - first):
        operation = run.undone[run.order[run.ends[part] - 1 - k]]
        if tile.rows + count_ones(sums_of(operation)) > ROWS:
            row += tile.rows
            tile = next_tile(launches, run.plan, slots, UNDO_SLOTS)
            tile.row = row
        add_undone(run, launches, tile, operation)
    return row + tile.rows


@kernel
def plan_launches(run: Backward, launches: Launches) -> i64:
    """Plan all stages, the last one first; return how many sums there are."""
    rows: i64 = 0
    for k in range(run.stages):
        number = run.stages - 1 - k
        first, bits = launches.tile_count, run.stage_bits[number]
        set_places_there(run.state, run.plan, bits)
        first_part = run.stage_ends[number - 1] if number > 0 else 0
        for part in range(run.stage_ends[number] - first_part):
            rows = add_part(run, launches, run.stage_ends[number] - 1 - part, rows)
        next_launch(launches, first, launches.tile_count, bits, 0)
    return rows


@inline
def sums_there(state: State, launches: Launches, rows: i64) -> ptr[f64]:
    """Where the sums of blocks are, after the plan and the sums of them all."""
    return at(state.device_plan + launches.bytes + 8 * rows)


@kernel
def can_undo_there(state: State, adjoint: State, launches: Launches, rows: i64, blocks: i64) -> i1:
    """Have both registers, the plan and zeros for sums on the GPU; false after an error."""
    if is_interrupted(state) or not bring(state) or not bring(adjoint):
        return False
    sums = 8 * rows * (blocks + 1)
    if not device_room(state, launches.bytes + sums):
        return False
    if not copy_to_device(state, state.device_plan, state.buffer, launches.bytes):
        return False
    if rows != 0:
        clear_on_device(state, state.device_plan + launches.bytes, sums)
    change_there(state)
    change_there(adjoint)
    return True


@kernel
def fetch_sums(state: State, launches: Launches, rows: i64, blocks: i64, found: ptr[f64]) -> i1:
    """Add up the sums of all blocks, and copy them to the host; false after an error."""
    if rows == 0:
        return True
    added = stack_record(BlockSums)
    added.sums, added.rows, added.blocks = sums_there(state, launches, rows), rows, blocks
    where = state.device_plan + launches.bytes
    added.out = at(where)
    launch(state, ADD_BLOCKS, blocks_for(rows), cast(added, ptr[i64]), size_of(BlockSums))
    return copy_to_host(state, found, where, 8 * rows)


@kernel
def launch_all(run: Backward, launches: Launches, rows: i64, blocks: i64) -> None:
    """Launch all stages; the sums of their blocks come after the plan."""
    state, size = run.state, run.chunk_bits
    stage = stack_record(Stage)
    for k in range(launches.stage_count):
        numbers = launches.stages + STAGE_WORDS * k
        set_stage(state, launches, numbers, size, stage)
        stage.adjoint = cast(at(run.adjoint.device), ptr[stored])
        stage.chunks, stage.stride = 1 << (bits_there(state) - size), blocks
        stage.sums, stage.rows = sums_there(state, launches, rows), rows
        launch(state, UNDO_STAGE, blocks, cast(stage, ptr[i64]), size_of(Stage))


@kernel
def sort_sums(run: Backward, launches: Launches, found: ptr[f64]) -> None:
    """Write each sum to the place of its operation."""
    row: i64 = 0
    for k in range(run.count):
        moments = run.moments + SUMS * run.order[run.count - 1 - k]
        for which in static(range(SUMS)):
            if (launches.operations[k].sums >> which) & 1 == 1:
                moments[which] = found[row]
                row += 1


@kernel
def undo_on_device(run: Backward) -> i1:
    """Undo all fused operations; false without memory of the host."""
    state = run.state
    launches = stack_record(Launches)
    if not room_for_lists(run):
        return False
    plan_stages(run)
    if run.count == 0:
        return room_for_sums(run)
    if not room_for_sums(run) or not room_for_launches(state, launches, run.count):
        return False
    rows = plan_launches(run, launches)
    chunks = 1 << (bits_there(state) - run.chunk_bits)
    blocks: i64 = chunks if chunks < MOST_BLOCKS else MOST_BLOCKS
    found = malloc(8 * rows + 8)
    if is_null(found):
        return False
    if can_undo_there(state, run.adjoint, launches, rows, blocks):
        launch_all(run, launches, rows, blocks)
        if fetch_sums(state, launches, rows, blocks, found):
            sort_sums(run, launches, found)
    free(found)
    return True


@kernel
def undo_words_on_device(
    state: State, adjoint: State, operations: ptr[Operation], count: i64, sums: ptr[f64]
) -> None:
    """Undo rotations about words that flip the same bits, at most `MOST_WORDS`, in this order.

    Writes `Re <adjoint| T |state>` of each, zeros after an error; see `words`.
    """
    launches, words = stack_record(Launches), stack_record(Words)
    for k in range(count):
        sums[k] = 0.0
    if not room_for_launches(state, launches, count):
        fail(state.context, OUT_OF_MEMORY, state.site, -1, 0)
        return
    word = operations[0].word
    for k in range(count):
        add_word(launches, operations[k], word)
    blocks = blocks_that_add_up(1 << (bits_there(state) - 1))
    if can_undo_there(state, adjoint, launches, count, blocks):
        set_words(state, 0, count, word, words)
        words.adjoint = cast(at(adjoint.device), ptr[stored])
        words.stride, words.sums = blocks << THREAD_BITS, sums_there(state, launches, count)
        launch(state, UNDO_WORDS, blocks, cast(words, ptr[i64]), size_of(Words))
        fetch_sums(state, launches, count, blocks, sums)
