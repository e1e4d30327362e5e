"""Sums N[i, j] of a[i] r[j] over all groups of some index bits, for two vectors a and r.

On a digit they are added up in vectors: products of the blocks of a with those of r, whose lanes
are exchanged where the digit's bits are lanes (`operations.passes`). On anything else one by one.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.apply import flush
from diastase_engine.density_matrix.operations.groups import fill_offsets, is_over, next_group
from diastase_engine.density_matrix.operations.passes import Pass, divide_bits, exchange_lanes
from diastase_engine.density_matrix.state.digits import index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.parallel import is_interrupted
from diastase_engine.state_vector.state.records import LANE_BITS, LANES, State, free, memset


@inline
def add_products(run: Pass, losses: ptr[vector], rows: int, sums: ptr[wide]) -> None:
    """Sums for a (static) number of blocks in a group: for each two, and each exchange of lanes."""
    settings = 4 // rows
    numbers, mask = run.state.amplitudes, run.mask
    totals = registers(wide, 4 * rows)
    for k in static(range(4 * rows)):
        totals[k] = broadcast_wide(0.0)
    high = index_bits(run.state) - LANE_BITS
    vectors = 1 << high if high > 0 else 1
    group: i64 = 0
    for _ in range(vectors >> count_ones(mask)):
        for column in static(range(rows)):
            for j in static(range(settings)):
                source = registers(vector, 1)
                source[0] = numbers[group + run.offsets[column]]
                for i in static(range(2)):
                    if j >> i & 1 == 1:
                        source[0] = exchange_lanes(source[0], run.lane_bits[i])
                for row in static(range(rows)):
                    loss = widen(losses[group + run.offsets[row]])
                    place = 4 * row + settings * column + j
                    totals[place] = totals[place] + loss * widen(source[0])
        group = ((group | mask) + 1) & ~mask
    for k in static(range(4 * rows)):
        sums[k] = totals[k]


@kernel
def digit_moments(state: State, adjoint: State, bits: ptr[i64], out: ptr[f64]) -> None:
    """Add N for two bits."""
    run = stack_record(Pass)
    run.state = state
    divide_bits(run, 2, bits)
    sums = stack_array(wide, 16)
    for lanes in static(range(3)):
        if run.lanes == lanes:
            add_products(run, adjoint.amplitudes, 4 >> lanes, sums)
    numbers = cast(sums, ptr[f64])
    settings = 1 << run.lanes
    for row in range(run.rows):
        for column in range(run.rows):
            for j in range(settings):
                for lane in range(LANES):
                    i = run.of_block[row] | run.of_lane[lane]
                    k = run.of_block[column] | run.of_lane[lane ^ run.exchanges[j]]
                    number = numbers[LANES * (4 * row + settings * column + j) + lane]
                    out[4 * i + k] = out[4 * i + k] + number


@kernel
def moments(
    context: CallContext,
    state: State,
    adjoint: State,
    site: i64,
    count: i64,
    bits: ptr[i64],
    out: ptr[f64],
) -> None:
    """Write N for some index bits, row-major."""
    size = 1 << count
    memset(out, 0, 8 * size * size)
    flush(state)
    flush(adjoint)
    if count == 2:
        if not is_interrupted(state):
            digit_moments(state, adjoint, bits, out)
        return
    memory = allocate(context, site, 16 * size)
    if is_null(memory):
        return
    offsets, before = cast(memory, ptr[i64]), memory + size
    mask = fill_offsets(count, bits, offsets)
    numbers, losses = cast(state.amplitudes, ptr[stored]), cast(adjoint.amplitudes, ptr[stored])
    group: i64 = 0
    for number in range(1 << (index_bits(state) - count)):
        if is_over(state, number):
            break
        for column in range(size):
            before[column] = numbers[group + offsets[column]]
        for row in range(size):
            loss, line = losses[group + offsets[row]], out + row * size
            for column in range(size):
                line[column] = line[column] + loss * before[column]
        group = next_group(group, mask)
    free(memory)
