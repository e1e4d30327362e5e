"""An operation applied, and in the same walk the weights of a bit's two values added up.

A measurement needs the weights of the state that the operations before it leave. The walk that
applies the last of these has every amplitude in a register, so it can add them up as well.

Weights are kept apart by up to two bits, the measured one and a *selector* (`joint_weights`). Where
these are block bits, a pass is made in parts, one for each of their values, so that all blocks of
a part (or all first and all second blocks of its pairs) count for the same sum. Where they are lane
bits, the lanes of the sums are told apart at the end.

Matrices with a column of zeros have passes of their own (`column_passes`).
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, Operation, State
from diastase_engine.state_vector.tiles.column_passes import apply_columns, apply_lane_columns
from diastase_engine.state_vector.tiles.sweeps import (
    PARTNERS,
    Sweep,
    block_coefficients,
    lane_coefficients,
    make_pass,
    next_block,
    spread,
)
from diastase_engine.state_vector.tiles.weight_sums import SUMS, add, squares


@inline
def weighed_blocks(
    run: Sweep, lanes: lane_set, fixed: i64, first: i64, last: i64, rule: Any
) -> None:
    """`block_pass` of everything, with weights."""
    operation = run.operation
    a = block_coefficients(operation, lanes)
    other = 1 << (operation.target - LANE_BITS)
    amplitudes = run.state.amplitudes
    parts = (run.bit | run.selector) & ~fixed
    every = fixed | parts
    for part in range(1 << count_ones(parts)):
        value = run.value | spread(part, parts)
        zero, one = broadcast_wide(0.0), broadcast_wide(0.0)
        block: i64 = 0
        for _ in range((last - first) >> count_ones(parts)):
            p = 2 * (block | value)
            q = p + 2 * other
            x, y, z, w = rule(a, amplitudes[p], amplitudes[p + 1], amplitudes[q], amplitudes[q + 1])
            amplitudes[p], amplitudes[p + 1], amplitudes[q], amplitudes[q + 1] = x, y, z, w
            zero += squares(x, y)
            one += squares(z, w)
            block = next_block(block, every)
        add(run, value, zero)
        add(run, value | other, one)


@inline
def weighed_lanes(
    run: Sweep, lanes: lane_set, first: i64, last: i64, target: int, rule: Any
) -> None:
    """`lane_pass` of everything, with weights."""
    a = lane_coefficients(run.operation, lanes, target)
    amplitudes = run.state.amplitudes
    parts = (run.bit | run.selector) & ~run.fixed
    every = run.fixed | parts
    for part in range(1 << count_ones(parts)):
        value = run.value | spread(part, parts)
        total = broadcast_wide(0.0)
        block: i64 = 0
        for _ in range((last - first) >> count_ones(parts)):
            p = 2 * (block | value)
            x, y = amplitudes[p], amplitudes[p + 1]
            z, w = shuffle(x, PARTNERS[target]), shuffle(y, PARTNERS[target])
            x, y = rule(a, x, y, z, w)
            amplitudes[p], amplitudes[p + 1] = x, y
            total += squares(x, y)
            block = next_block(block, every)
        add(run, value, total)


@kernel
def weighed_pass(run: Sweep, value: i64, lane_mask: i64, lane_value: i64) -> None:
    """One pass over a small state, as `sweep` makes it."""
    run.value, run.lane_mask, run.lane_value = value, lane_mask, lane_value
    halved = 1 if run.operation.target >= LANE_BITS else 0
    count = run.state.blocks >> (count_ones(run.fixed) + halved)
    make_pass(run, 0, count, weighed_blocks, weighed_lanes)


@kernel
def can_weigh(operation: Operation) -> i1:
    """Whether the passes of an operation, none of them left out, reach all amplitudes."""
    return operation.word | operation.flips == 0 and operation.mask & (operation.mask - 1) == 0


@kernel
def apply_and_weigh(
    state: State, operation: Operation, bit: i64, selector: i64, sums: ptr[wide], number: ptr[f64]
) -> None:
    """Apply an operation that `can_weigh` to a small state, and write `SUMS` weights.

    The state is then to be multiplied by `number`, which remains 1 if it is 0 at first.
    """
    for k in static(range(SUMS)):
        sums[k] = broadcast_wide(0.0)
    run = stack_record(Sweep)
    run.state, run.operation, run.sums = state, operation, sums
    run.bit, run.selector = (1 << bit) >> LANE_BITS, selector >> LANE_BITS
    run.fixed = operation.mask >> LANE_BITS
    if number[0] != 0.0 and apply_columns(run, number):
        return
    number[0], number[1] = 1.0, 0.0
    if apply_lane_columns(run):
        return
    in_lanes = operation.mask & LANE_MASK
    weighed_pass(run, operation.value >> LANE_BITS, in_lanes, operation.value & LANE_MASK)
    if run.fixed != 0:
        # No lane matches, so every lane takes `otherwise`.
        weighed_pass(run, (operation.value >> LANE_BITS) ^ run.fixed, 0, 1)
