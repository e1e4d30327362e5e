"""One fused operation undone on a state and its adjoint: the sweep back's inner loops.

Both lie in chunks of equal size. For each pair of amplitudes: the state before the operation is
the adjoint matrix times the state after it; `conj(adjoint) state`, with the adjoint as it is after
the operation, is added up; the adjoint is multiplied, too. All that a matrix takes part in is done
while its amplitudes are in registers. What is summed is summed in double precision, lane by lane.

Passes and lanes are those of `sweeps`; where no derivative depends on an operation, nothing is
summed.
"""

from typing import Any

from diastase_mlir.kernels.language import (
    Record,
    broadcast,
    broadcast_wide,
    cast,
    f64,
    horizontal_sum,
    i1,
    i64,
    inline,
    kernel,
    lane_set,
    lanes_match,
    ptr,
    registers,
    select,
    shuffle,
    stack_array,
    static,
    vector,
    wide,
    widen,
)
from diastase_mlir.kernels.state_vector.backward_records import Undone
from diastase_mlir.kernels.state_vector.records import LANE_BITS, LANE_MASK, LANES
from diastase_mlir.kernels.state_vector.sweeps import (
    PARTNERS,
    block_coefficients,
    lane_coefficients,
    multiply_lanes,
    multiply_lanes_real,
    multiply_pair,
    multiply_pair_real,
    next_block,
)


class Pass(Record):
    """A pass over some blocks of two chunks."""

    state: ptr[vector]
    adjoint: ptr[vector]
    operation: Undone
    moments: ptr[f64]
    fixed: i64
    value: i64
    """Block bits that do not change, and what they are."""
    blocks: i64
    """How many blocks a chunk has."""
    lane_mask: i64
    lane_value: i64
    row: i64
    """The row of a diagonal matrix, where its target is no lane."""


@inline
def add_products(sums: Any, place: int, l: vector, m: vector, x: vector, y: vector) -> None:  # noqa: E741
    """Add `conj(l + im) (x + iy)` to two sums."""
    sums[place] = sums[place] + widen(l * x + m * y)
    sums[place + 1] = sums[place + 1] + widen(l * y - m * x)


@inline
def clear_sums(sums: Any, count: int) -> None:
    """Begin to add up."""
    for k in static(range(count)):
        sums[k] = broadcast_wide(0.0)


@inline
def fold(run: Pass, sums: Any, count: int, places: Any) -> None:
    """Add sums to the moments: `places(lane)` lists where those of a lane belong."""
    memory = stack_array(wide, count)
    for k in static(range(count)):
        memory[k] = sums[k]
    numbers = cast(memory, ptr[f64])
    for lane in static(range(LANES)):
        moments = run.moments + (8 if lane & run.lane_mask == run.lane_value else 0)
        where = places(lane)
        for k in static(range(count)):
            moments[where[k]] = moments[where[k]] + numbers[k * LANES + lane]


@inline
def fold_equal(run: Pass, sums: Any) -> None:
    """The same for eight sums that are in order in every lane."""
    if run.lane_mask == 0:
        moments = run.moments + (8 if run.lane_value == 0 else 0)
        for k in static(range(8)):
            moments[k] = moments[k] + horizontal_sum(sums[k])
    else:
        fold(run, sums, 8, _in_order)


@inline
def _in_order(lane: int) -> list[int]:
    return [0, 1, 2, 3, 4, 5, 6, 7]


@inline
def block_pass(run: Pass, lanes: lane_set, rule: Any, wanted: bool) -> None:
    """Undo an operation whose target is a block bit: pairs of blocks."""
    operation, value = run.operation, run.value
    a = block_coefficients(operation, lanes)  # pyright: ignore[reportArgumentType]
    bit = 1 << (operation.target - LANE_BITS)
    stride = 2 * bit
    fixed = run.fixed | bit
    state, adjoint = run.state, run.adjoint
    sums = registers(wide, 8)
    if wanted:
        clear_sums(sums, 8)
    block: i64 = 0
    while block < run.blocks:
        p = 2 * (block | value)
        q = p + stride
        x, y, z, w = rule(a, state[p], state[p + 1], state[q], state[q + 1])
        state[p], state[p + 1], state[q], state[q + 1] = x, y, z, w
        l, m, n, o = adjoint[p], adjoint[p + 1], adjoint[q], adjoint[q + 1]  # noqa: E741
        if wanted:
            add_products(sums, 0, l, m, x, y)
            add_products(sums, 2, l, m, z, w)
            add_products(sums, 4, n, o, x, y)
            add_products(sums, 6, n, o, z, w)
        adjoint[p], adjoint[p + 1], adjoint[q], adjoint[q + 1] = rule(a, l, m, n, o)
        block = next_block(block, fixed)
    if wanted:
        fold_equal(run, sums)


@inline
def lane_pass(run: Pass, lanes: lane_set, target: int, rule: Any, wanted: bool) -> None:
    """Undo an operation whose target is the (static) lane bit `target`."""
    value, fixed = run.value, run.fixed
    a = lane_coefficients(run.operation, lanes, target)  # pyright: ignore[reportArgumentType]
    state, adjoint = run.state, run.adjoint
    sums = registers(wide, 4)
    if wanted:
        clear_sums(sums, 4)
    block: i64 = 0
    while block < run.blocks:
        p = 2 * (block | value)
        old, other = state[p], state[p + 1]
        x, y = rule(a, old, other, shuffle(old, PARTNERS[target]), shuffle(other, PARTNERS[target]))
        state[p], state[p + 1] = x, y
        l, m = adjoint[p], adjoint[p + 1]  # noqa: E741
        if wanted:
            add_products(sums, 0, l, m, x, y)
            partner, partner_too = shuffle(x, PARTNERS[target]), shuffle(y, PARTNERS[target])
            add_products(sums, 2, l, m, partner, partner_too)
        adjoint[p], adjoint[p + 1] = rule(
            a, l, m, shuffle(l, PARTNERS[target]), shuffle(m, PARTNERS[target])
        )
        block = next_block(block, fixed)
    if wanted:
        fold_lanes(run, sums, target)


@inline
def fold_lanes(run: Pass, sums: Any, target: int) -> None:
    """Add what was found at a lane target: the row of a moment is that of its lane."""
    memory = stack_array(wide, 4)
    for k in static(range(4)):
        memory[k] = sums[k]
    numbers = cast(memory, ptr[f64])
    for lane in static(range(LANES)):
        row = (lane >> target) & 1
        moments = run.moments + (8 if lane & run.lane_mask == run.lane_value else 0)
        for k in static(range(4)):
            column = row if k < 2 else 1 - row
            place = 4 * row + 2 * column + k % 2
            moments[place] = moments[place] + numbers[k * LANES + lane]


@kernel
def diagonal_pass(run: Pass, wanted: i1) -> None:
    """Undo a diagonal operation on blocks of one row, or with the target in the lanes."""
    operation = run.operation
    lanes = lanes_match(run.lane_mask, run.lane_value)
    in_lanes = operation.target < LANE_BITS
    first: i64 = 0 if in_lanes else 6 * run.row
    second: i64 = 6 if in_lanes else 6 * run.row
    target: i64 = 1 << operation.target if in_lanes else 0
    zero, one = operation.otherwise, operation.matched
    a = select(lanes, broadcast(one[first]), broadcast(zero[first]))
    b = select(lanes, broadcast(one[first + 1]), broadcast(zero[first + 1]))
    if in_lanes:
        c = select(lanes, broadcast(one[second]), broadcast(zero[second]))
        d = select(lanes, broadcast(one[second + 1]), broadcast(zero[second + 1]))
        in_second = lanes_match(target, target)
        diagonal_blocks(run, select(in_second, c, a), select(in_second, d, b), wanted)
    else:
        diagonal_blocks(run, a, b, wanted)


@kernel
def diagonal_blocks(run: Pass, a: vector, b: vector, wanted: i1) -> None:
    """Multiply blocks by `a + ib`, lane by lane."""
    operation, value, fixed = run.operation, run.value, run.fixed
    state, adjoint = run.state, run.adjoint
    sums = registers(wide, 2)
    clear_sums(sums, 2)
    block: i64 = 0
    while block < run.blocks:
        p = 2 * (block | value)
        old, other = state[p], state[p + 1]
        x, y = old * a - other * b, old * b + other * a
        state[p], state[p + 1] = x, y
        l, m = adjoint[p], adjoint[p + 1]  # noqa: E741
        add_products(sums, 0, l, m, x, y)
        adjoint[p], adjoint[p + 1] = l * a - m * b, l * b + m * a
        block = next_block(block, fixed)
    if not wanted:
        return
    memory = stack_array(wide, 2)
    memory[0], memory[1] = sums[0], sums[1]
    numbers = cast(memory, ptr[f64])
    for lane in static(range(LANES)):
        row: i64 = run.row
        if operation.target < LANE_BITS:
            row = (lane >> operation.target) & 1
        moments = run.moments + (8 if lane & run.lane_mask == run.lane_value else 0) + 6 * row
        moments[0] = moments[0] + numbers[lane]
        moments[1] = moments[1] + numbers[LANES + lane]


@inline
def mixing_pass(run: Pass, rule: Any, lane_rule: Any, wanted: bool) -> None:
    """Undo an operation that is not diagonal."""
    lanes = lanes_match(run.lane_mask, run.lane_value)
    target = run.operation.target
    if target >= LANE_BITS:
        block_pass(run, lanes, rule, wanted)
    for lane in static(range(LANE_BITS)):
        if target == lane:
            lane_pass(run, lanes, lane, lane_rule, wanted)


@kernel
def mixing_pass_general(run: Pass, wanted: i1) -> None:
    """The same for any matrix."""
    if wanted:
        mixing_pass(run, multiply_pair, multiply_lanes, True)
    else:
        mixing_pass(run, multiply_pair, multiply_lanes, False)


@kernel
def mixing_pass_real(run: Pass, wanted: i1) -> None:
    """The same for a real one."""
    if wanted:
        mixing_pass(run, multiply_pair_real, multiply_lanes_real, True)
    else:
        mixing_pass(run, multiply_pair_real, multiply_lanes_real, False)


@kernel
def make_pass(run: Pass, base: i64, wanted: i1) -> None:
    """Make a pass; `base` is the index of the chunk's first block, in places."""
    operation = run.operation
    if operation.changes != 0:
        if operation.is_real != 0:
            mixing_pass_real(run, wanted)
        else:
            mixing_pass_general(run, wanted)
        return
    run.row = 0
    if operation.target < LANE_BITS:
        diagonal_pass(run, wanted)
        return
    bit = 1 << (operation.target - LANE_BITS)
    if bit >= run.blocks:
        run.row = 1 if base & bit != 0 else 0
        diagonal_pass(run, wanted)
        return
    fixed, value = run.fixed, run.value
    run.fixed = fixed | bit
    diagonal_pass(run, wanted)
    run.row, run.value = 1, value | bit
    diagonal_pass(run, wanted)


@kernel
def undo(run: Pass, base: i64) -> None:
    """Undo an operation on a chunk: where its selectors match, and where they do not."""
    operation = run.operation
    inside = (run.blocks << LANE_BITS) - 1
    outside = operation.mask & ~inside
    wants_matched, wants_otherwise = operation.wants_matched != 0, operation.wants_otherwise != 0
    if outside & ((base << LANE_BITS) ^ operation.value) != 0:
        if operation.keeps_otherwise == 0 or wants_otherwise:
            run.fixed, run.value, run.lane_mask, run.lane_value = 0, 0, 0, 1
            make_pass(run, base, wants_otherwise)
        return
    mask = (operation.mask & inside) >> LANE_BITS
    value = (operation.value & inside) >> LANE_BITS
    lane_mask = operation.mask & LANE_MASK
    is_both = wants_matched or (lane_mask != 0 and wants_otherwise)
    if operation.keeps_matched == 0 or lane_mask != 0 or is_both:
        run.fixed, run.value = mask, value
        run.lane_mask, run.lane_value = lane_mask, operation.value & LANE_MASK
        make_pass(run, base, is_both)
    # With several bits in the mask, `otherwise` is the identity, and nothing depends on it.
    if mask != 0 and (operation.keeps_otherwise == 0 or wants_otherwise):
        run.fixed, run.value, run.lane_mask, run.lane_value = mask, value ^ mask, 0, 1
        make_pass(run, base, wants_otherwise)
