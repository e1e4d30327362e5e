"""What is undone together: stages over chunks of both registers, last stage first.

Stages are those of `schedule`, but for chunks of which two fit where the forward run has one. Their
size does not depend on the number of threads, nor does the division of the chunks into groups;
each group sums up moments of its own, and these are added in their order.
"""

from diastase_mlir.kernels.language import (
    cast,
    code_of,
    count_trailing_zeros,
    derived,
    f64,
    i1,
    i64,
    is_null,
    kernel,
    ptr,
    size_of,
    stack_array,
    vector,
)
from diastase_mlir.kernels.state_vector.backward_passes import Pass, undo
from diastase_mlir.kernels.state_vector.backward_records import MOMENTS, Backward
from diastase_mlir.kernels.state_vector.c_functions import memcpy, memset
from diastase_mlir.kernels.state_vector.parallel import (
    PARALLEL_QUBITS,
    run_parallel,
    workers_on,
)
from diastase_mlir.kernels.state_vector.plan_memory import room
from diastase_mlir.kernels.state_vector.plan_records import CHUNK_BITS, Plan
from diastase_mlir.kernels.state_vector.records import (
    BLOCK_BYTES,
    LANE_BITS,
    LANE_MASK,
    State,
)
from diastase_mlir.kernels.state_vector.schedule import fill_up, pick, set_places
from diastase_mlir.kernels.state_vector.stages import run_length
from diastase_mlir.kernels.state_vector.sweeps import next_block, spread

PAIR_BITS = derived(lambda chunk_bits: chunk_bits - 2, CHUNK_BITS)
"""Size of chunks: both fit into a quarter of the cache, as was measured to be best."""
SHARED_BITS = 3
"""A state that threads may share has so many bits more than its chunks, at least."""
GROUP_BITS = 6
_PLAN_BYTES = (size_of(Plan) + 63) // 64 * 64


@kernel
def pair_bits_of(state: State) -> i64:
    """How large chunks are."""
    bits: i64 = PAIR_BITS
    if state.chunk_bits != 0:
        bits = state.chunk_bits if state.chunk_bits > LANE_BITS else LANE_BITS + 1
    elif state.qubits >= PARALLEL_QUBITS and bits > state.qubits - SHARED_BITS:
        bits = state.qubits - SHARED_BITS
    smallest = state.qubits if state.qubits > LANE_BITS else LANE_BITS
    return bits if bits < state.qubits else smallest


@kernel
def room_for_backward(run: Backward) -> i1:
    """Make room for the plan and for moments; whether there is any."""
    count, state = run.count, run.state
    needed = _PLAN_BYTES + 8 * 8 * (count + 1)
    run.plan_memory = room(run.plan_memory, run.plan_bytes, needed)
    if is_null(run.plan_memory):
        run.plan_bytes = 0
        return False
    run.plan_bytes = needed if needed > run.plan_bytes else run.plan_bytes
    run.chunk_bits = pair_bits_of(state)
    chunks_bits = state.qubits - run.chunk_bits if run.chunk_bits < state.qubits else 0
    run.groups = 1 << (chunks_bits if chunks_bits < GROUP_BITS else GROUP_BITS)
    moments = run.groups * (count + 1) * MOMENTS * 8
    run.moments = room(run.moments, run.moments_bytes, moments)
    if is_null(run.moments):
        run.moments_bytes = 0
        return False
    run.moments_bytes = moments if moments > run.moments_bytes else run.moments_bytes
    memset(run.moments, 0, moments)
    if run.chunk_bits >= state.qubits:
        return True
    chunk = BLOCK_BYTES << (run.chunk_bits - LANE_BITS)
    buffers = 2 * chunk * workers_on(state, run.groups)
    memory = room(cast(run.buffers, ptr[f64]), run.buffers_bytes, buffers)
    run.buffers = cast(memory, ptr[vector])
    if is_null(memory):
        run.buffers_bytes = 0
        return False
    run.buffers_bytes = buffers if buffers > run.buffers_bytes else run.buffers_bytes
    return True


@kernel
def plan_stages(run: Backward) -> None:
    """Divide the operations into stages, in the order of the forward run."""
    count = run.count
    plan = cast(run.plan_memory, Plan)
    lists = cast(run.plan_memory + _PLAN_BYTES // 8, ptr[i64])
    run.plan = plan
    plan.targets, plan.selectors = lists, lists + count
    plan.pending, run.order = lists + 2 * count, lists + 3 * count
    run.ends, run.stage_bits = lists + 4 * count, lists + 5 * count
    for k in range(count):
        operation = run.undone[k]
        plan.targets[k], plan.selectors[k] = operation.changes, operation.reads
        plan.pending[k] = k
    everything = (1 << run.state.qubits) - 1
    remaining: i64 = count
    done: i64 = 0
    run.stages = 0
    while remaining > 0:
        taken = pick(
            plan, plan.pending, remaining, run.chunk_bits, LANE_MASK, run.order + done
        )  # fmt: skip
        remaining = plan.left
        done += taken
        run.ends[run.stages] = done
        run.stage_bits[run.stages] = fill_up(plan.bits, run.chunk_bits, everything | LANE_MASK)
        run.stages += 1


@kernel
def place_operations(run: Backward, first: i64, last: i64, bits: i64) -> None:
    """Say which places the bits of a stage's operations have."""
    plan = run.plan
    plan.place[0] = 0  # Also where there are no qubits, but a phase.
    set_places(run.state, plan, bits)
    for k in range(first, last):
        operation = run.undone[run.order[k]]
        mask: i64 = 0
        value: i64 = 0
        for bit in range(run.state.qubits):
            mask |= ((operation.mask >> bit) & 1) << plan.place[bit]
            value |= ((operation.value >> bit) & 1) << plan.place[bit]
        operation.mask, operation.value = mask, value
        operation.target = plan.place[operation.target]


@kernel
def undo_chunk(
    run: Backward, state: ptr[vector], adjoint: ptr[vector], blocks: i64, base: i64, group: i64
) -> None:
    """Undo all operations of the stage on a chunk."""
    memory = stack_array(i64, size_of(Pass) // 8)
    work = cast(memory, Pass)
    work.state, work.adjoint, work.blocks = state, adjoint, blocks
    first = run.ends[run.stage - 1] if run.stage > 0 else 0
    k: i64 = run.ends[run.stage] - 1
    while k >= first:
        index = run.order[k]
        work.operation = run.undone[index]
        work.moments = run.moments + (group * run.count + index) * MOMENTS
        undo(work, base)
        k -= 1


@kernel
def copy_chunk(
    chunk: ptr[vector], amplitudes: ptr[vector], bits: i64, blocks: i64, fetching: i1
) -> None:
    """Copy the blocks of a chunk from where the state has them to one another, or back."""
    length = run_length(bits)
    far: i64 = 0
    near: i64 = 0
    while near < blocks:
        here, there = cast(chunk + 2 * near, ptr[f64]), cast(amplitudes + 2 * far, ptr[f64])
        if fetching:
            memcpy(here, there, length * BLOCK_BYTES)
        else:
            memcpy(there, here, length * BLOCK_BYTES)
        near += length
        far = next_block(far | (length - 1), ~bits)


@kernel
def undo_groups(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Undo the stage on some groups of chunks; `argument` is a `Backward`."""
    run = cast(argument, Backward)
    bits = run.stage_bits[run.stage] >> LANE_BITS
    blocks = 1 << (run.chunk_bits - LANE_BITS)
    each = 1 << (run.state.qubits - run.chunk_bits - count_trailing_zeros(run.groups))
    buffer = run.buffers + 4 * blocks * worker
    for group in range(first, last):
        for chunk in range(group * each, (group + 1) * each):
            start = spread(chunk, ~bits)
            state, adjoint = run.state.amplitudes + 2 * start, run.adjoint.amplitudes + 2 * start
            base = chunk * blocks
            if run_length(bits) >= blocks:
                undo_chunk(run, state, adjoint, blocks, base, group)
            else:
                copy_chunk(buffer, state, bits, blocks, True)
                copy_chunk(buffer + 2 * blocks, adjoint, bits, blocks, True)
                undo_chunk(run, buffer, buffer + 2 * blocks, blocks, base, group)
                copy_chunk(buffer, state, bits, blocks, False)
                copy_chunk(buffer + 2 * blocks, adjoint, bits, blocks, False)


@kernel
def run_backward(run: Backward) -> None:
    """Undo all fused operations."""
    state = run.state
    stage: i64 = run.stages - 1
    while stage >= 0:
        run.stage = stage
        first = run.ends[stage - 1] if stage > 0 else 0
        place_operations(run, first, run.ends[stage], run.stage_bits[stage])
        if run.chunk_bits >= state.qubits:
            undo_chunk(run, state.amplitudes, run.adjoint.amplitudes, state.blocks, 0, 0)
        elif state.qubits < PARALLEL_QUBITS:
            undo_groups(cast(run, ptr[f64]), 0, run.groups, 0)
        else:
            run_parallel(code_of(undo_groups), cast(run, ptr[f64]), run.groups, 1)
        stage -= 1
