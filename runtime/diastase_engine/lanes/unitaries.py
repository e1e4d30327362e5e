"""Any matrix on a few wires, with controls: the same in all lanes, or one for each lane.

On one wire it is a pending matrix as any gate's. On more it is applied at once: for a group of
lanes the matrix is written as vectors, and multiplied with the amplitudes of each setting of the
other bits.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.lanes.algebra import GENERAL
from diastase_engine.lanes.pending import apply_fresh, settle, write_fresh
from diastase_engine.lanes.records import WIDTH, Lanes, active_of, group_of, lanes_of, same
from diastase_engine.lanes.sweeps import spoil_lane
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, fetch, if_gpu
from diastase_engine.state_vector.gates.dense import MAX_TARGETS
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import (
    all_are_numbers,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import State, free
from diastase_engine.state_vector.tiles.sweeps import next_block

fetched = if_gpu(fetch)


class Dense(Record):
    """A matrix on some bits, for the lanes of one group at a time."""

    state: State
    size: i64
    """Rows of the matrix, 2^k."""
    fixed: i64
    """Target and control bits."""
    value: i64
    offsets: ptr[i64]
    """The target bits of each row."""
    matrix: ptr[v8]
    before: ptr[v8]
    after: ptr[v8]
    numbers: ptr[f64]
    """The caller's matrices."""
    step: i64
    """Numbers from the matrix of a lane to that of the next."""


@kernel
def spoil_lanes(state: State, numbers: ptr[f64], size: i64, step: i64) -> None:
    """Make lanes that are active NaN where a matrix is no number."""
    lanes = lanes_of(state)
    is_good = all_are_numbers(2 * size * size, numbers)
    for lane in range(lanes.lanes):
        if step != 0:
            is_good = all_are_numbers(2 * size * size, numbers + step * lane)
        if lanes.active[lane] != 0 and not is_good:
            spoil_lane(state, lane)


@inline
def lane_elements(numbers: ptr[f64], step: i64, place: i64) -> v8:
    """A number of the matrices of eight lanes."""
    return pack([
        numbers[place], numbers[place + step], numbers[place + 2 * step],
        numbers[place + 3 * step], numbers[place + 4 * step], numbers[place + 5 * step],
        numbers[place + 6 * step], numbers[place + 7 * step],
    ])  # fmt: skip


@kernel
def write_one_wire(lanes: Lanes, numbers: ptr[f64], step: i64) -> None:
    """Write 2x2 matrices as fresh ones."""
    for group in range(lanes.groups):
        own = numbers + WIDTH * group * step
        matrix = [
            lane_elements(own, step, 0), lane_elements(own, step, 1),
            lane_elements(own, step, 2), lane_elements(own, step, 3),
            lane_elements(own, step, 4), lane_elements(own, step, 5),
            lane_elements(own, step, 6), lane_elements(own, step, 7),
        ]  # fmt: skip
        write_fresh(lanes, group, 0, matrix, GENERAL)


@kernel
def write_group(dense: Dense, group: i64) -> None:
    """Write the matrices of a group; the identity in lanes not active."""
    lanes = lanes_of(dense.state)
    active = active_of(lanes, group)
    own = dense.numbers + WIDTH * group * dense.step
    for row in range(dense.size):
        for column in range(dense.size):
            place = 2 * (row * dense.size + column)
            diagonal = same(1.0 if row == column else 0.0)
            zero = same(0.0)
            real = lane_elements(own, dense.step, place)
            imaginary = lane_elements(own, dense.step, place + 1)
            dense.matrix[place] = select(active, real, diagonal)
            dense.matrix[place + 1] = select(active, imaginary, zero)


@kernel
def multiply_group(dense: Dense) -> None:
    """`after = matrix @ before`."""
    for row in range(dense.size):
        real = same(0.0)
        imaginary = same(0.0)
        for column in range(dense.size):
            place = 2 * (row * dense.size + column)
            a, b = dense.matrix[place], dense.matrix[place + 1]
            x, y = dense.before[2 * column], dense.before[2 * column + 1]
            real = real + a * x - b * y
            imaginary = imaginary + a * y + b * x
        dense.after[2 * row], dense.after[2 * row + 1] = real, imaginary


@kernel
def apply_group(dense: Dense, group: i64) -> None:
    """Multiply the amplitudes of a group."""
    state = dense.state
    places = lanes_of(state).places
    amplitudes = group_of(state, group)
    write_group(dense, group)
    index: i64 = 0
    for _ in range(1 << (state.qubits - count_ones(dense.fixed))):
        base = index | dense.value
        for row in range(dense.size):
            place = places[base | dense.offsets[row]]
            dense.before[2 * row], dense.before[2 * row + 1] = (
                amplitudes[place], amplitudes[place + 1]
            )  # fmt: skip
        multiply_group(dense)
        for row in range(dense.size):
            place = places[base | dense.offsets[row]]
            amplitudes[place], amplitudes[place + 1] = (
                dense.after[2 * row],
                dense.after[2 * row + 1],
            )
        index = next_block(index, dense.fixed)


@kernel
def apply_dense(
    context: CallContext, site: i64, dense: Dense, n_targets: i64, targets: ptr[i64]
) -> None:
    """Apply matrices on several wires."""
    state = dense.state
    if n_targets > MAX_TARGETS:
        fail(context, OUT_OF_MEMORY, site, -1, 0)
        return
    size = dense.size
    vectors = 2 * size * size + 4 * size
    memory = allocate(context, site, 8 * (WIDTH * vectors + size))
    if is_null(memory):
        return
    dense.matrix = cast(memory, ptr[v8])
    dense.before = dense.matrix + 2 * size * size
    dense.after = dense.before + 2 * size
    dense.offsets = cast(memory + WIDTH * vectors, ptr[i64])
    for row in range(size):
        dense.offsets[row] = 0
        for k in range(n_targets):
            bit = ((row >> (n_targets - 1 - k)) & 1) << state.bit_of_wire[targets[k]]
            dense.offsets[row] = dense.offsets[row] | bit
    if GPU == 1:
        fetched(state)
    for group in range(lanes_of(state).groups):
        apply_group(dense, group)
    free(memory)


@kernel
def unitary(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    mapped: i64,
    matrix: ptr[f64],
) -> None:
    """Apply any matrix (unitary or not, row-major) to target wires, with controls."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    fixed = mask_of(context, state, site, n_targets, targets, mask)
    lanes = lanes_of(state)
    if fixed < 0 or lanes.active_lanes == 0:
        return
    state.gates += lanes.active_lanes
    value = control_value(state, n_controls, controls, control_values)
    step = 2 << (2 * n_targets) if mapped != 0 else 0
    spoil_lanes(state, matrix, 1 << n_targets, step)
    if n_targets == 1:
        write_one_wire(lanes, matrix, step)
        target = state.bit_of_wire[targets[0]]
        apply_fresh(state, GENERAL, False, target, mask, value, 0)
        if mask == 0:
            lanes.any_norm |= 1 << target
        return
    settle(state, mask, fixed & ~mask)
    dense = stack_record(Dense)
    dense.state, dense.size, dense.fixed, dense.value = state, 1 << n_targets, fixed, value
    dense.numbers, dense.step = matrix, step
    apply_dense(context, site, dense, n_targets, targets)
