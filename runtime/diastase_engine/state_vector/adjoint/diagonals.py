"""A diagonal operation undone on a state and its adjoint: blocks of the zero, blocks of the one.

Its sums are of single amplitudes (`sums`): BY_ZERO, BY_ONE; with a lane target, both are
in BY_ZERO.
"""

from diastase_engine.language import (
    broadcast,
    i1,
    i64,
    kernel,
    lanes_match,
    registers,
    select,
    vector,
    wide,
)
from diastase_engine.state_vector.adjoint.records import BY_ZERO, Pass
from diastase_engine.state_vector.adjoint.sums import add_imaginary
from diastase_engine.state_vector.state.records import LANE_BITS
from diastase_engine.state_vector.tiles.sweeps import next_block


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
