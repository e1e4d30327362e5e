"""What a sweep back sums up for derivatives: in registers, then in vectors, then in numbers.

A pass adds its products to registers, lane by lane and in double precision, and these to the
vectors of its operation; they are folded into numbers when a worker is done with a part of a chunk.
`records` says what is summed. With a block target every lane has what its name says. With
a lane target the lanes of the zero and of the one are apart: there

    BY_X     l w - m z, which is `conj(adjoint)` times the state's partner, its imaginary part
    BY_Y     l z + m w, its real part, to be counted negative in the lanes of the zero
    BY_ZERO  `Im conj(adjoint) state`, in all lanes

Where a selector is a lane, the vectors of the side that matches have both.

A diagonal operation is undone here (`diagonal_rows`): its sums are of single amplitudes, BY_ZERO
and BY_ONE; with a lane target, both are in BY_ZERO. Of several that follow each other, phases and
sums are made apart from the amplitudes (`diagonal_runs`).
"""

from collections.abc import Sequence
from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    Pass,
    Undone,
)
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, SINGLE
from diastase_engine.state_vector.tiles.sweeps import next_block


@inline
def load_sums(memory: ptr[wide]) -> Any:
    """The sums so far, in registers."""
    sums = registers(wide, SIDE_SUMS)
    for k in static(range(SIDE_SUMS)):
        sums[k] = memory[k]
    return sums


@inline
def store_sums(sums: Any, memory: ptr[wide]) -> None:
    """Put sums back; LLVM leaves out what has not changed."""
    for k in static(range(SIDE_SUMS)):
        memory[k] = sums[k]


@inline
def add_difference(sums: Any, k: int, a: vector, b: vector, c: vector, d: vector) -> None:
    """Add `a b - c d`."""
    if SINGLE == 1:
        sums[k] = sums[k] + widen(a * b - c * d)
    else:
        sums[k] = sums[k] + widen(a * b) - widen(c * d)


@inline
def add_imaginary(sums: Any, k: int, l: vector, m: vector, x: vector, y: vector) -> None:  # noqa: E741
    """Add `Im conj(l + im) (x + iy)`."""
    add_difference(sums, k, l, y, m, x)


@inline
def add_pair(sums: Any, which: Sequence[int], p: list[vector], s: list[vector]) -> None:
    """Add what a block of zeros and one of ones give: `p` of the adjoint, `s` of the state."""
    if BY_ZERO in which:
        add_imaginary(sums, BY_ZERO, p[0], p[1], s[0], s[1])
    if BY_ONE in which:
        add_imaginary(sums, BY_ONE, p[2], p[3], s[2], s[3])
    # One chain of additions for each sum, however many products: its length is what takes time.
    if BY_X in which:
        crossed = p[0] * s[3] - p[1] * s[2] + p[2] * s[1] - p[3] * s[0]
        sums[BY_X] = sums[BY_X] + widen(crossed)
    if BY_Y in which:
        turned = p[2] * s[0] + p[3] * s[1] - p[0] * s[2] - p[1] * s[3]
        sums[BY_Y] = sums[BY_Y] + widen(turned)


@inline
def add_lanes(sums: Any, which: Sequence[int], p: list[vector], s: list[vector]) -> None:
    """Add what a block gives with a target in its lanes: state, and state shuffled, in `s`."""
    if BY_ZERO in which:
        add_imaginary(sums, BY_ZERO, p[0], p[1], s[0], s[1])
    if BY_X in which:
        add_imaginary(sums, BY_X, p[0], p[1], s[2], s[3])
    if BY_Y in which:
        if SINGLE == 1:
            sums[BY_Y] = sums[BY_Y] + widen(p[0] * s[2] + p[1] * s[3])
        else:
            sums[BY_Y] = sums[BY_Y] + widen(p[0] * s[2]) + widen(p[1] * s[3])


@inline
def sum_in(numbers: wide, mask: i64, value: i64) -> f64:
    """The sum of the lanes that match."""
    return horizontal_sum(select(lanes_match(mask, value), numbers, broadcast_wide(0.0)))


@kernel
def fold_lanes(sums: ptr[wide], target: i64, mask: i64, value: i64, moments: ptr[f64]) -> None:
    """Add the lanes that match, to the numbers of a side."""
    if target >= LANE_BITS:
        for k in static(range(SIDE_SUMS)):
            moments[k] = moments[k] + sum_in(sums[k], mask, value)
        return
    bit = 1 << target
    both, ones = mask | bit, value | bit
    y = sums[BY_Y]
    moments[BY_X] = moments[BY_X] + sum_in(sums[BY_X], mask, value)
    moments[BY_Y] = moments[BY_Y] + sum_in(y, both, ones) - sum_in(y, both, value)
    moments[BY_ZERO] = moments[BY_ZERO] + sum_in(sums[BY_ZERO], both, value)
    moments[BY_ONE] = moments[BY_ONE] + sum_in(sums[BY_ZERO], both, ones)


@kernel
def fold_operation(operation: Undone, sums: ptr[wide], moments: ptr[f64]) -> None:
    """Add the vectors of an operation to its numbers."""
    mask, value = operation.mask & LANE_MASK, operation.value & LANE_MASK
    target = operation.target
    if operation.wants_otherwise != 0 and operation.mask != 0:
        fold_lanes(sums, target, 0, 0, moments)
    if operation.wants_matched != 0:
        fold_lanes(sums + SIDE_SUMS, target, mask, value, moments + SIDE_SUMS)
    # With several bits in the mask nothing depends on the other side.
    if operation.wants_otherwise != 0 and mask != 0:
        fold_lanes(sums + SIDE_SUMS, target, mask, mask ^ value, moments)


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
        a, b = select(in_second, c, a), select(in_second, d, b)
    diagonal_blocks(run, a, b, wanted)


@kernel
def diagonal_blocks(run: Pass, a: vector, b: vector, wanted: i1) -> None:
    """Multiply blocks by `a + ib`, lane by lane."""
    value, fixed = run.value, run.fixed
    state, adjoint = run.state, run.adjoint
    place = BY_ZERO + run.row
    sums = registers(wide, 1)
    sums[0] = run.sums[place]
    block: i64 = 0
    while block < run.blocks:
        p = 2 * (block | value)
        x, y, l, m = state[p], state[p + 1], adjoint[p], adjoint[p + 1]  # noqa: E741
        add_imaginary(sums, 0, l, m, x, y)
        state[p], state[p + 1] = x * a - y * b, x * b + y * a
        adjoint[p], adjoint[p + 1] = l * a - m * b, l * b + m * a
        block = next_block(block, fixed)
    if wanted:
        run.sums[place] = sums[0]


@kernel
def diagonal_rows(run: Pass, base: i64, wanted: i1) -> None:
    """Undo a diagonal operation on the blocks of both rows."""
    target = run.operation.target
    run.row = 0
    if target < LANE_BITS:
        diagonal_pass(run, wanted)
        return
    bit = 1 << (target - LANE_BITS)
    if bit >= run.blocks:
        run.row = 1 if base & bit != 0 else 0
        diagonal_pass(run, wanted)
        return
    fixed, value = run.fixed, run.value
    run.fixed = fixed | bit
    diagonal_pass(run, wanted)
    run.row, run.value = 1, value | bit
    diagonal_pass(run, wanted)
