"""An operation applied, and in the same walk the weights of a bit's two values added up.

A measurement needs the weights of the state that the operations before it leave. The walk that
applies the last of these has every amplitude in a register, so it can add them up as well.

Weights are kept apart by up to two bits, the measured one and a *selector* (`joint_weights`). Where
these are block bits, a pass is made in parts, one for each of their values, so that all blocks of
a part (or all first and all second blocks of its pairs) count for the same sum. Where they are lane
bits, the lanes of the sums are told apart at the end.

After a measurement every matrix on its bit has a column of zeros. Divided by one element of the
other column, it leaves half of the amplitudes as they are, and the weights of both halves are
multiples of one sum. The collapse that follows can multiply by that number (`divide_column`).
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, Operation, State
from diastase_engine.state_vector.state.small_matrices import are_zero
from diastase_engine.state_vector.tiles.sweeps import (
    COLUMNS,
    PARTNERS,
    Sweep,
    block_coefficients,
    lane_coefficients,
    make_pass,
    next_block,
    spread,
)

SUMS = 4
"""For each value of the selector and of the bit."""
SMALL = 2.0**-10
"""Of the squared size of the number, beside the other one of its column."""
LEAST, MOST = 2.0**-40, 2.0**40
"""Of its squared size."""


@inline
def squares(x: vector, y: vector) -> wide:
    """Squared magnitudes of a block."""
    u, v = widen(x), widen(y)
    return u * u + v * v


@inline
def add(run: Sweep, block: i64, weight: wide) -> None:
    """Add a weight to the sum that a block counts for."""
    number: i64 = 1 if block & run.bit != 0 else 0
    if block & run.selector != 0:
        number += 2
    run.sums[number] = run.sums[number] + weight


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


class Column(Record):
    """A matrix with one column, divided by the number at `row`: the other row has a factor."""

    column: i64
    row: i64
    real: f64
    imaginary: f64


@inline
def squared(z: ptr[f64]) -> f64:
    """|z|^2."""
    return z[0] * z[0] + z[1] * z[1]


@kernel
def column_of(matrix: ptr[f64]) -> i64:
    """Which column alone is not zero, or -1."""
    if are_zero(matrix, COLUMNS[1]):
        return 0
    return 1 if are_zero(matrix, COLUMNS[0]) else -1


@kernel
def divide_column(matrix: ptr[f64], number: ptr[f64], result: Column) -> i1:
    """Divide a matrix that has one column, and this number in it; false where that is not so."""
    column = column_of(matrix)
    if column < 0:
        return False
    upper, lower = matrix + 2 * column, matrix + (4 + 2 * column)
    result.column, result.row = column, 0
    z = lower
    if upper[0] != number[0] or upper[1] != number[1]:
        if lower[0] != number[0] or lower[1] != number[1]:
            return False
        result.row = 1
        z = upper
    inverse = 1.0 / squared(number)
    result.real = (z[0] * number[0] + z[1] * number[1]) * inverse
    result.imaginary = (z[1] * number[0] - z[0] * number[1]) * inverse
    return True


@kernel
def choose_number(matrix: ptr[f64], number: ptr[f64]) -> i1:
    """Choose an element of the one column, which leaves half of the amplitudes if it can."""
    column = column_of(matrix)
    if column < 0:
        return False
    kept, other = matrix + 6 * column, matrix + (4 - 2 * column)
    if squared(kept) < SMALL * squared(other):
        kept = other
    number[0], number[1] = kept[0], kept[1]
    return LEAST <= squared(number) and squared(number) <= MOST


@inline
def walk_column(run: Sweep, matrix: Column, fixed: i64, is_real: bool, is_kept: bool) -> None:
    """Make a pass with such a matrix, and weights."""
    other = 1 << (run.operation.target - LANE_BITS)
    source = run.state.amplitudes + 2 * other * matrix.column
    simple = run.state.amplitudes + 2 * other * matrix.row
    multiplied = run.state.amplitudes + 2 * other * (1 - matrix.row)
    a, b = broadcast(matrix.real), broadcast(matrix.imaginary)
    size = matrix.real * matrix.real + matrix.imaginary * matrix.imaginary
    parts = (run.bit | run.selector) & ~fixed
    every = fixed | parts
    for part in range(1 << count_ones(parts)):
        value = run.value | spread(part, parts)
        total = broadcast_wide(0.0)
        block: i64 = 0
        for _ in range(run.state.blocks >> count_ones(every)):
            p = 2 * (block | value)
            x, y = source[p], source[p + 1]
            if not is_kept:
                simple[p], simple[p + 1] = x, y
            if is_real:
                multiplied[p], multiplied[p + 1] = a * x, a * y
            else:
                multiplied[p], multiplied[p + 1] = a * x - b * y, a * y + b * x
            total += squares(x, y)
            block = next_block(block, every)
        add(run, value | (other * matrix.row), total)
        add(run, value | (other * (1 - matrix.row)), total * broadcast_wide(size))


@kernel
def column_pass(run: Sweep, value: i64, matrix: Column) -> None:
    """One pass with such a matrix."""
    run.value = value
    fixed = run.fixed | (1 << (run.operation.target - LANE_BITS))
    is_kept, is_real = matrix.row == matrix.column, matrix.imaginary == 0.0
    if is_kept and is_real:
        walk_column(run, matrix, fixed, True, True)
    elif is_kept:
        walk_column(run, matrix, fixed, False, True)
    elif is_real:
        walk_column(run, matrix, fixed, True, False)
    else:
        walk_column(run, matrix, fixed, False, False)


@kernel
def apply_columns(run: Sweep, number: ptr[f64]) -> i1:
    """Apply an operation after a measurement, divided by a number; false where it is none."""
    operation = run.operation
    if operation.target < LANE_BITS or operation.mask & LANE_MASK != 0:
        return False
    if not choose_number(operation.matched if operation.mask == 0 else operation.otherwise, number):
        return False
    matched, otherwise = stack_record(Column), stack_record(Column)
    if not divide_column(operation.matched, number, matched):
        return False
    if operation.mask != 0 and not divide_column(operation.otherwise, number, otherwise):
        return False
    value = operation.value >> LANE_BITS
    column_pass(run, value, matched)
    if run.fixed != 0:
        column_pass(run, value ^ run.fixed, otherwise)
    return True


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
    in_lanes = operation.mask & LANE_MASK
    weighed_pass(run, operation.value >> LANE_BITS, in_lanes, operation.value & LANE_MASK)
    if run.fixed != 0:
        # No lane matches, so every lane takes `otherwise`.
        weighed_pass(run, (operation.value >> LANE_BITS) ^ run.fixed, 0, 1)
