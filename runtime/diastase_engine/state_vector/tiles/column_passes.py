"""Passes with matrices that have one column, and weights: what is left after a measurement.

Every matrix on a measured bit has a column of zeros. Divided by one element of the other column, it
leaves half of the amplitudes as they are, and the weights of both halves are multiples of one sum.
The collapse that follows can multiply by that number (`apply_columns`). In the lanes nothing is
won by that, but each amplitude is a multiple of one other (`apply_lane_columns`).
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK
from diastase_engine.state_vector.state.small_matrices import are_zero, is_real
from diastase_engine.state_vector.tiles.sweeps import (
    COLUMNS,
    PARTNERS,
    Sweep,
    lane_coefficients,
    next_block,
    spread,
)
from diastase_engine.state_vector.tiles.weight_sums import add, squares

SMALL = 2.0**-10
"""Of the squared size of the number, beside the other one of its column."""
LEAST, MOST = 2.0**-40, 2.0**40
"""Of its squared size."""


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
def column_in_lanes(run: Sweep, value: i64, lane_mask: i64, lane_value: i64) -> None:
    """One pass with a target in the lanes: each is a multiple of itself, or of its partner."""
    run.value = value
    lanes = lanes_match(lane_mask, lane_value)
    others = lanes ^ lanes_match(0, 0)
    operation = run.operation
    one = lanes_match(0, 1 - column_of(operation.matched)) & lanes
    if lane_mask != 0 or lane_value != 0:
        one = one | (lanes_match(0, 1 - column_of(operation.otherwise)) & others)
    is_real_too = is_real(operation)
    for target in static(range(LANE_BITS)):
        if operation.target == target:
            itself = lanes_match(1 << target, 0) ^ one
            if is_real_too:
                walk_lanes(run, lanes, itself, target, True)
            else:
                walk_lanes(run, lanes, itself, target, False)


@inline
def walk_lanes(run: Sweep, lanes: lane_set, itself: lane_set, target: int, real: bool) -> None:
    """Make such a pass, and weights."""
    c = lane_coefficients(run.operation, lanes, target)
    a, b = select(itself, c[0], c[2]), select(itself, c[1], c[3])
    amplitudes = run.state.amplitudes
    parts = (run.bit | run.selector) & ~run.fixed
    every = run.fixed | parts
    for part in range(1 << count_ones(parts)):
        value = run.value | spread(part, parts)
        total = broadcast_wide(0.0)
        block: i64 = 0
        for _ in range(run.state.blocks >> count_ones(every)):
            p = 2 * (block | value)
            x, y = amplitudes[p], amplitudes[p + 1]
            x = select(itself, x, shuffle(x, PARTNERS[target]))
            y = select(itself, y, shuffle(y, PARTNERS[target]))
            if real:
                amplitudes[p], amplitudes[p + 1] = a * x, a * y
            else:
                amplitudes[p], amplitudes[p + 1] = a * x - b * y, a * y + b * x
            total += squares(x, y)
            block = next_block(block, every)
        add(run, value, total * squares(a, b))


@kernel
def apply_lane_columns(run: Sweep) -> i1:
    """Apply an operation after a measurement of a bit of the lanes; false where it is none."""
    operation = run.operation
    if operation.target >= LANE_BITS or column_of(operation.matched) < 0:
        return False
    if operation.mask != 0 and column_of(operation.otherwise) < 0:
        return False
    in_lanes, value = operation.mask & LANE_MASK, operation.value >> LANE_BITS
    column_in_lanes(run, value, in_lanes, operation.value & LANE_MASK)
    if run.fixed != 0:
        column_in_lanes(run, value ^ run.fixed, 0, 1)
    return True
