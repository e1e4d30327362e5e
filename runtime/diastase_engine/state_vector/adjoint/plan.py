"""What is undone together: stages over chunks of both registers, parts of stages over pieces.

A chunk is as in `plan_records`; those of both registers are what the second-level cache holds. A
stage is divided again where chunks are larger than *pieces*: the operations of a *part* stay within
pieces of the chunk. Sizes do not depend on the number of threads, nor does the division of chunks
into groups, each of which has sums of its own. A GPU has other sizes, and runs what is planned here
in another way (`device.undo`).
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.records import SUMS, UNDO_BITS, UNDO_SLOTS, Backward
from diastase_engine.state_vector.adjoint.tile_records import MOST_IN_TILE, Step, TileUndone
from diastase_engine.state_vector.device.residence import GPU
from diastase_engine.state_vector.plan.plan import ANY, fill_up, pick
from diastase_engine.state_vector.plan.plan_memory import room
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS, workers_on
from diastase_engine.state_vector.state.records import (
    BLOCK_BYTES,
    LANE_BITS,
    LANE_MASK,
    LANES,
    State,
    memset,
)
from diastase_engine.state_vector.tiles.plan_records import CHUNK_BITS, Plan

PIECE_BITS = derived(lambda lane_bits: 12 + lane_bits, LANE_BITS)
"""Size of pieces: both have 1 MiB. To fetch smaller ones for the first-level cache costs more than
it saves: tiles share loads and stores, phases of diagonal runs are made once for each piece."""
# To a thread of a GPU the lanes are bits as all others; it has few.
IN_ALL_PIECES = derived(lambda lanes, gpu: 0 if gpu else lanes, LANE_MASK, GPU)
FEWEST = 3
"""Fewer operations are undone on the whole chunk: to fetch pieces would cost more."""
SHARED_BITS = 3
"""A state that threads may share has so many bits more than its chunks, at least."""
GROUP_BITS = 6
_PLAN_BYTES = (size_of(Plan) + 63) // 64 * 64
_LISTS = 10


@kernel
def pair_bits_of(state: State) -> i64:
    """How large chunks are: both registers' fit the cache; on a GPU, the memory of a block."""
    bits: i64 = CHUNK_BITS
    if state.chunk_bits != 0:
        bits = state.chunk_bits if state.chunk_bits > LANE_BITS else LANE_BITS + 1
    elif state.qubits >= PARALLEL_QUBITS and bits > state.qubits - SHARED_BITS:
        bits = state.qubits - SHARED_BITS
    if GPU == 1 and bits > UNDO_BITS:
        bits = UNDO_BITS
    smallest = state.qubits if state.qubits > LANE_BITS else LANE_BITS
    return bits if bits < state.qubits else smallest


@kernel
def piece_bits_of(state: State, chunk_bits: i64) -> i64:
    """How large pieces are; two bits less than chunks whose size a test asks for.

    On a GPU, what a thread has in registers.
    """
    if GPU == 1:
        return UNDO_SLOTS
    bits: i64 = PIECE_BITS
    if state.chunk_bits != 0:
        bits = chunk_bits - 2 if chunk_bits - 2 > LANE_BITS else LANE_BITS + 1
    return bits if bits < chunk_bits else chunk_bits


@kernel
def room_for_lists(run: Backward) -> i1:
    """Make room for the plan; whether there is any."""
    count = run.count
    needed = _PLAN_BYTES + 8 * _LISTS * (count + 1)
    run.plan_memory = room(run.plan_memory, run.plan_bytes, needed)
    if is_null(run.plan_memory):
        run.plan_bytes = 0
        return False
    run.plan_bytes = needed if needed > run.plan_bytes else run.plan_bytes
    plan = cast(run.plan_memory, Plan)
    lists = cast(run.plan_memory + _PLAN_BYTES // 8, ptr[i64])
    run.plan = plan
    plan.targets, plan.selectors = lists, lists + count
    plan.pending, plan.of_stage = lists + 2 * count, lists + 3 * count
    run.order, run.ends = lists + 4 * count, lists + 5 * count
    run.part_bits, run.stage_ends = lists + 6 * count, lists + 7 * count
    run.stage_bits, run.step_ends = lists + 8 * count, lists + 9 * count
    return True


@kernel
def plan_parts(run: Backward, count: i64, first_part: i64, bits: i64) -> i64:
    """Divide the operations of a stage into parts; return the first part behind them."""
    plan, state = run.plan, run.state
    size = piece_bits_of(state, run.chunk_bits)
    part: i64 = first_part
    done: i64 = run.ends[part - 1] if part > 0 else 0
    remaining: i64 = count
    while remaining > 0:
        taken = pick(plan, plan.of_stage, remaining, size, IN_ALL_PIECES, ANY, run.order + done)
        own = fill_up(plan.bits, size, bits)
        remaining = plan.left
        done += taken
        run.ends[part] = done
        run.part_bits[part] = own if taken >= FEWEST or GPU == 1 else bits
        run.most = taken if taken > run.most else run.most
        part += 1
    return part


@kernel
def plan_stages(run: Backward) -> None:
    """Divide the operations into stages and these into parts, in the order of the forward run."""
    plan = run.plan
    for k in range(run.count):
        operation = run.undone[k]
        plan.targets[k], plan.selectors[k] = operation.changes, operation.reads
        plan.pending[k] = k
    everything = ((1 << run.state.qubits) - 1) | LANE_MASK
    run.chunk_bits = pair_bits_of(run.state)
    run.stages, run.most, run.most_in_stage = 0, 0, 0
    remaining: i64 = run.count
    part: i64 = 0
    while remaining > 0:
        taken = pick(plan, plan.pending, remaining, run.chunk_bits, LANE_MASK, ANY, plan.of_stage)
        remaining = plan.left
        run.most_in_stage = taken if taken > run.most_in_stage else run.most_in_stage
        bits = fill_up(plan.bits, run.chunk_bits, everything)
        part = plan_parts(run, taken, part, bits)
        run.stage_ends[run.stages], run.stage_bits[run.stages] = part, bits
        run.stages += 1


@kernel
def room_for_sums(run: Backward) -> i1:
    """Make room for the sums of all groups, which are zero; whether there is any."""
    state = run.state
    chunks_bits = state.qubits - run.chunk_bits if run.chunk_bits < state.qubits else 0
    run.groups = 1
    if GPU == 0:
        run.groups = 1 << (chunks_bits if chunks_bits < GROUP_BITS else GROUP_BITS)
    moments = run.groups * (run.count + 1) * SUMS * 8
    run.moments = room(run.moments, run.moments_bytes, moments)
    if is_null(run.moments):
        run.moments_bytes = 0
        return False
    run.moments_bytes = moments if moments > run.moments_bytes else run.moments_bytes
    memset(run.moments, 0, moments)
    return True


@kernel
def room_for_steps(run: Backward) -> i1:
    """Make room for the steps of any stage; whether there is any."""
    count = run.most_in_stage + 1
    needed = count * (size_of(TileUndone) + size_of(Step))
    run.step_memory = room(run.step_memory, run.step_bytes, needed)
    if is_null(run.step_memory):
        run.step_bytes = 0
        return False
    run.step_bytes = needed if needed > run.step_bytes else run.step_bytes
    run.prepared = cast(run.step_memory, ptr[TileUndone])
    run.steps = cast(run.step_memory + count * (size_of(TileUndone) // 8), ptr[Step])
    return True


@kernel
def room_for_work(run: Backward) -> i1:
    """Make room for what each worker needs; whether there is any."""
    state = run.state
    chunk = BLOCK_BYTES << (run.chunk_bits - LANE_BITS) if run.chunk_bits < state.qubits else 0
    piece_bits = piece_bits_of(state, run.chunk_bits)
    piece = BLOCK_BYTES << (piece_bits - LANE_BITS) if piece_bits < run.chunk_bits else 0
    of_runs = (BLOCK_BYTES + size_of(vector)) << (piece_bits - LANE_BITS)
    partials = MOST_IN_TILE * SUMS * size_of(vector)
    run.worker_words = (2 * chunk + 2 * piece + of_runs + partials >> 3) + SUMS * LANES * run.most
    # One word at least: gates may cancel until nothing is to be done, and no memory looks like too
    # little of it.
    needed = 8 * (run.worker_words * workers_on(state, run.groups) + 1)
    run.work = room(run.work, run.work_bytes, needed)
    if is_null(run.work):
        run.work_bytes = 0
        return False
    run.work_bytes = needed if needed > run.work_bytes else run.work_bytes
    return True


@kernel
def plan_backward(run: Backward) -> i1:
    """Plan what undoes all fused operations, and make room for it; whether there is any."""
    if not room_for_lists(run):
        return False
    plan_stages(run)
    return room_for_sums(run) and room_for_steps(run) and room_for_work(run)
