"""The plan of a sweep back, run: chunk by chunk, piece by piece, the last stage first."""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.diagonal_runs import (
    make_phases,
    sort_runs,
    sum_run,
    undo_run,
)
from diastase_engine.state_vector.adjoint.passes import undo
from diastase_engine.state_vector.adjoint.plan import piece_bits_of
from diastase_engine.state_vector.adjoint.records import SUMS, Backward, Pass, Work
from diastase_engine.state_vector.adjoint.sums import fold_operation
from diastase_engine.state_vector.adjoint.tile_plan import plan_steps
from diastase_engine.state_vector.adjoint.tile_records import DIAGONAL_RUN, IN_TILE
from diastase_engine.state_vector.adjoint.tiles import undo_tiles
from diastase_engine.state_vector.plan.stages import run_length
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import (
    BLOCK_BYTES,
    LANE_BITS,
    LANES,
    MAX_QUBITS,
    memcpy,
    memset,
)
from diastase_engine.state_vector.tiles.sweeps import next_block, spread
from diastase_engine.threads.loops import run_parallel

_LONG = 16
"""From so many blocks on, what lies next to each other is copied by the C library."""


@kernel
def squeezed(bits: i64, within: i64) -> i64:
    """Of the bits of a mask, those that are bits of another one, numbered in it."""
    found: i64 = 0
    place: i64 = 0
    rest: i64 = within
    while rest != 0:
        found |= ((bits >> count_trailing_zeros(rest)) & 1) << place
        place += 1
        rest &= rest - 1
    return found


@kernel
def number_bits(bits: i64, first: i64, place: ptr[i64]) -> i64:
    """Number the bits of a mask from `first` on; return the next number."""
    number: i64 = first
    rest: i64 = bits
    while rest != 0:
        place[count_trailing_zeros(rest)] = number
        number += 1
        rest &= rest - 1
    return number


@kernel
def place_operations(run: Backward, stage: i64) -> None:
    """Say which places the bits of a stage's operations have: piece, chunk, then the others."""
    qubits = run.state.qubits
    place = stack_array(i64, MAX_QUBITS)
    place[0] = 0  # Also where there are no qubits, but a phase.
    bits = run.stage_bits[stage]
    run.step_count = 0
    run.first_part = run.stage_ends[stage - 1] if stage > 0 else 0
    first = run.ends[run.first_part - 1] if run.first_part > 0 else 0
    for part in range(run.first_part, run.stage_ends[stage]):
        own = run.part_bits[part]
        number = number_bits(own, 0, place)
        number = number_bits(bits & ~own, number, place)
        number_bits(((1 << qubits) - 1) & ~bits, number, place)
        run.part_bits[part] = squeezed(own, bits)
        for k in range(run.ends[part - 1] if part > 0 else 0, run.ends[part]):
            operation = run.undone[run.order[k]]
            mask: i64 = 0
            value: i64 = 0
            rest: i64 = operation.mask
            while rest != 0:
                bit = count_trailing_zeros(rest)
                mask |= 1 << place[bit]
                value |= ((operation.value >> bit) & 1) << place[bit]
                rest &= rest - 1
            operation.mask, operation.value = mask, value
            operation.target = place[operation.target]
        sort_runs(run, part, 1 << (count_ones(own) - LANE_BITS))
        plan_steps(run, first, part, own, place)


@kernel
def copy_blocks(near: ptr[vector], far: ptr[vector], bits: i64, blocks: i64, fetching: i1) -> None:
    """Copy blocks of these bits from where they are far apart to one another, or back."""
    length = run_length(bits)
    place: i64 = 0
    block: i64 = 0
    if length >= _LONG:
        while block < blocks:
            here, there = cast(near + 2 * block, ptr[f64]), cast(far + 2 * place, ptr[f64])
            if fetching:
                memcpy(here, there, length * BLOCK_BYTES)
            else:
                memcpy(there, here, length * BLOCK_BYTES)
            block += length
            place = next_block(place | (length - 1), ~bits)
    elif fetching:
        while block < blocks:
            near[2 * block], near[2 * block + 1] = far[2 * place], far[2 * place + 1]
            block += 1
            place = next_block(place, ~bits)
    else:
        while block < blocks:
            far[2 * place], far[2 * place + 1] = near[2 * block], near[2 * block + 1]
            block += 1
            place = next_block(place, ~bits)


@kernel
def undo_piece(
    work: Work, state: ptr[vector], adjoint: ptr[vector], blocks: i64, base: i64
) -> None:
    """Undo all operations of a part on a piece."""
    run = work.run
    each = stack_record(Pass)
    each.state, each.adjoint, each.blocks = state, adjoint, blocks
    first = run.ends[work.part - 1] if work.part > 0 else 0
    k: i64 = run.step_ends[work.part] - 1
    first_step = run.step_ends[work.part - 1] if work.part > run.first_part else 0
    while k >= first_step:
        step = run.steps[k]
        sums = work.sums + SUMS * (step.begin - first)
        if step.kind == IN_TILE:
            undo_tiles(work, step, sums, state, adjoint, blocks, base)
        elif step.kind == DIAGONAL_RUN:
            in_tile = k > first_step and run.steps[k - 1].has_run != 0
            if in_tile:
                make_phases(work, step, work.first, blocks, base)
                below = run.steps[k - 1]
                own = work.sums + SUMS * (below.begin - first)
                undo_tiles(work, below, own, state, adjoint, blocks, base)
                sum_run(work, step, work.first, blocks, base, sums)
                k -= 1
            else:
                undo_run(work, each, step, work.first, base, sums)
        else:
            each.operation = run.undone[run.order[step.begin]]
            each.all_sums = sums
            undo(each, base)
        k -= 1


@kernel
def undo_part(work: Work, state: ptr[vector], adjoint: ptr[vector], blocks: i64, base: i64) -> None:
    """Undo a part of a stage on a chunk, piece by piece; add up what that gives."""
    run = work.run
    bits = run.part_bits[work.part] >> LANE_BITS
    first = run.ends[work.part - 1] if work.part > 0 else 0
    count = run.ends[work.part] - first
    memset(cast(work.sums, ptr[f64]), 0, SUMS * 8 * LANES * count)
    size = 1 << count_ones(bits)
    start: i64 = 0
    done: i64 = 0
    while done < blocks:
        here, there = state + 2 * start, adjoint + 2 * start
        if run_length(bits) >= size:
            undo_piece(work, here, there, size, base + done)
        else:
            copy_blocks(work.piece, here, bits, size, True)
            copy_blocks(work.piece + 2 * size, there, bits, size, True)
            undo_piece(work, work.piece, work.piece + 2 * size, size, base + done)
            copy_blocks(work.piece, here, bits, size, False)
            copy_blocks(work.piece + 2 * size, there, bits, size, False)
        done += size
        start = next_block(start, bits)
    for k in range(count):
        index = run.order[first + k]
        moments = run.moments + (work.group * run.count + index) * SUMS
        fold_operation(run.undone[index], work.sums + SUMS * k, moments)


@kernel
def undo_chunk(
    work: Work, state: ptr[vector], adjoint: ptr[vector], blocks: i64, base: i64
) -> None:
    """Undo all operations of the stage on a chunk."""
    run = work.run
    first = run.stage_ends[run.stage - 1] if run.stage > 0 else 0
    part: i64 = run.stage_ends[run.stage] - 1
    while part >= first:
        work.part = part
        undo_part(work, state, adjoint, blocks, base)
        part -= 1


@kernel
def set_work(run: Backward, worker: i64, work: Work) -> None:
    """Say where a worker's memory is."""
    memory = run.work + run.worker_words * worker
    chunk = 1 << (run.chunk_bits - LANE_BITS) if run.chunk_bits < run.state.qubits else 0
    piece_bits = piece_bits_of(run.state, run.chunk_bits)
    piece = 1 << (piece_bits - LANE_BITS) if piece_bits < run.chunk_bits else 0
    work.run, work.group = run, 0
    work.first = run.ends[run.first_part - 1] if run.first_part > 0 else 0
    work.chunk = cast(memory, ptr[vector])
    work.piece = work.chunk + 4 * chunk
    work.phases = work.piece + 4 * piece
    work.values = work.phases + (2 << (piece_bits - LANE_BITS))
    work.sums = cast(work.values + (1 << (piece_bits - LANE_BITS)), ptr[wide])
    work.partials = cast(work.sums + SUMS * run.most, ptr[vector])


@kernel
def undo_groups(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Undo the stage on some groups of chunks; `argument` is a `Backward`."""
    run = cast(argument, Backward)
    work = stack_record(Work)
    set_work(run, worker, work)
    bits = run.stage_bits[run.stage] >> LANE_BITS
    blocks = 1 << (run.chunk_bits - LANE_BITS)
    each = 1 << (run.state.qubits - run.chunk_bits - count_trailing_zeros(run.groups))
    here, there = work.chunk, work.chunk + 2 * blocks
    for group in range(first, last):
        work.group = group
        for chunk in range(group * each, (group + 1) * each):
            start = spread(chunk, ~bits)
            state, adjoint = run.state.amplitudes + 2 * start, run.adjoint.amplitudes + 2 * start
            base = chunk * blocks
            if run_length(bits) >= blocks:
                undo_chunk(work, state, adjoint, blocks, base)
            else:
                copy_blocks(here, state, bits, blocks, True)
                copy_blocks(there, adjoint, bits, blocks, True)
                undo_chunk(work, here, there, blocks, base)
                copy_blocks(here, state, bits, blocks, False)
                copy_blocks(there, adjoint, bits, blocks, False)


@kernel
def undo_all_at_once(run: Backward) -> None:
    """Undo the stage on a state that is one chunk."""
    work = stack_record(Work)
    set_work(run, 0, work)
    undo_chunk(work, run.state.amplitudes, run.adjoint.amplitudes, run.state.blocks, 0)


@kernel
def run_backward(run: Backward) -> None:
    """Undo all fused operations."""
    state = run.state
    stage: i64 = run.stages - 1
    while stage >= 0:
        run.stage = stage
        place_operations(run, stage)
        if run.chunk_bits >= state.qubits:
            undo_all_at_once(run)
        elif state.qubits < PARALLEL_QUBITS:
            undo_groups(cast(run, ptr[f64]), 0, run.groups, 0)
        else:
            run_parallel(code_of(undo_groups), cast(run, ptr[f64]), run.groups, 1)
        stage -= 1
