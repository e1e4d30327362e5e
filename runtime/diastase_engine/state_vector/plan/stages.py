"""Stages run: tiles over chunks, which the first tile fetches and the last one puts back.

The parts of a stage do not depend on each other: `run_parts` may run on any of them in any order,
at the same time in several threads, each with a buffer of its own; it changes nothing but the
amplitudes of its parts and its buffer. After an interrupt nothing is run: the amplitudes are of
no use to anybody then.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS, is_interrupted
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, Operation, State
from diastase_engine.state_vector.state.small_matrices import is_identity
from diastase_engine.state_vector.tiles.parity import sweep_pair
from diastase_engine.state_vector.tiles.plan_records import Plan, Stage, Tile, TileOperation
from diastase_engine.state_vector.tiles.sweeps import next_block, spread, sweep
from diastase_engine.state_vector.tiles.tile_codes import FAR_SOURCE, FAR_TARGET
from diastase_engine.state_vector.tiles.tiles import run_tile
from diastase_engine.state_vector.tiles.words import run_words, sweep_word
from diastase_engine.threads.loops import run_parallel


@kernel
def apply_operation(state: State, operation: Operation) -> None:
    """Apply one operation to the amplitudes."""
    if operation.word != 0:
        sweep_word(state, operation)
        return
    if operation.flips != 0:
        sweep_pair(state, operation)
        return
    mask = operation.mask >> LANE_BITS
    value = operation.value >> LANE_BITS
    lane_mask = operation.mask & LANE_MASK
    lane_value = operation.value & LANE_MASK
    if mask == 0 or not is_identity(operation.matched):
        sweep(state, operation, mask, value, lane_mask, lane_value)
    if mask != 0 and not is_identity(operation.otherwise):
        # One selector, a block bit: no lane can match, so every lane takes `otherwise`.
        sweep(state, operation, mask, value ^ mask, 0, 1)


@kernel
def run_length(bits: i64) -> i64:
    """How many blocks lie next to each other in a chunk of these block bits."""
    return (bits + 1) & ~bits


@kernel
def run_any_tile(
    source: ptr[vector],
    target: ptr[vector],
    sides: i64,
    base: i64,
    start: i64,
    count: i64,
    tile: Tile,
    operations: ptr[TileOperation],
) -> None:
    """Run a tile of slots, or one of Pauli words."""
    if tile.word != 0:
        run_words(source, target, sides, base, start, count, tile, operations)
    else:
        run_tile(source, target, sides, base, start, count, tile, operations)


@kernel
def run_chunk(
    plan: Plan, stage: Stage, amplitudes: ptr[vector], base: i64, buffer: ptr[vector]
) -> None:
    """Run all tiles of a stage on a chunk: the first one loads it, the last one stores it."""
    for k in range(stage.first, stage.end):
        count = plan.tiles[k].groups
        source, target = buffer, buffer
        sides: i64 = 0
        if k == stage.first:
            source = amplitudes
            sides |= FAR_SOURCE
        if k == stage.end - 1:
            target = amplitudes
            sides |= FAR_TARGET
        run_any_tile(source, target, sides, base, 0, count, plan.tiles[k], plan.operations)


@kernel
def run_chunks(
    state: State, plan: Plan, stage: Stage, first: i64, last: i64, buffer: ptr[vector]
) -> None:
    """Run all tiles of a stage on some of its chunks; one that is contiguous is not copied."""
    bits = stage.bits >> LANE_BITS
    blocks = 1 << count_ones(bits)
    start: i64 = spread(first, ~bits)
    is_copied = run_length(bits) < blocks
    for chunk in range(first, last):
        amplitudes = state.amplitudes + 2 * start
        base = chunk * blocks
        if (start << LANE_BITS) & ~state.support != 0:
            pass  # All zeros, and so they stay.
        elif is_copied:
            run_chunk(plan, stage, amplitudes, base, buffer)
        else:
            run_on_blocks(plan, stage, amplitudes, base, 0, 1, 1)
        start = next_block(start, bits)


@kernel
def run_on_blocks(
    plan: Plan, stage: Stage, amplitudes: ptr[vector], base: i64, first: i64, last: i64, parts: i64
) -> None:
    """Run all tiles of a stage in place on some of the `parts` of their groups of blocks."""
    shift = count_trailing_zeros(parts)
    for k in range(stage.first, stage.end):
        tile = plan.tiles[k]
        group = (tile.groups * first) >> shift
        count = ((tile.groups * last) >> shift) - group
        start = spread(group, ~tile.fixed)
        run_any_tile(amplitudes, amplitudes, 0, base, start, count, tile, plan.operations)


@kernel
def run_in_place(state: State, plan: Plan, stage: Stage, first: i64, last: i64) -> None:
    """Run all tiles of a stage on some parts of the state itself."""
    run_on_blocks(plan, stage, state.amplitudes, 0, first, last, stage.parts)


@kernel
def run_parts(
    state: State, plan: Plan, stage: Stage, first: i64, last: i64, buffer: ptr[vector]
) -> None:
    """Run a stage on its parts `first` to `last`, with room for one chunk in the buffer."""
    if stage.in_place != 0:
        run_in_place(state, plan, stage, first, last)
    else:
        run_chunks(state, plan, stage, first, last, buffer)


class StageRun(Record):
    """A stage that is being run: what its parts need."""

    state: State
    plan: Plan
    stage: Stage
    buffers: ptr[vector]
    """Room for a chunk for each worker."""


@kernel
def run_parts_of(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """`run_parts` as threads call it; `argument` is a `StageRun`."""
    run = cast(argument, StageRun)
    if is_interrupted(run.state):
        return
    buffer = run.buffers + (worker << (run.plan.chunk_bits - LANE_BITS + 1))
    run_parts(run.state, run.plan, run.stage, first, last, buffer)


@kernel
def run_stages(state: State, plan: Plan, buffers: ptr[vector]) -> None:
    """Run a whole plan, with room for a chunk for each thread that may work."""
    run = stack_record(StageRun)
    run.state = state
    run.plan = plan
    run.buffers = buffers
    for k in range(plan.stage_count):
        if is_interrupted(state):
            return
        stage = plan.stages[k]
        run.stage = stage
        if stage.single >= 0:
            apply_operation(state, state.operations[stage.single])
        elif state.qubits < PARALLEL_QUBITS:
            run_parts(state, plan, stage, 0, stage.parts, buffers)
        else:
            run_parallel(code_of(run_parts_of), cast(run, ptr[f64]), stage.parts, 1)
        state.support |= stage.bits
