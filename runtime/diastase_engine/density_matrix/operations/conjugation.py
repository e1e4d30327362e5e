"""Conjugation by a gate: rho becomes U rho U^+, for any complex matrix U on some wires.

U is what `Factor` says: a matrix, a diagonal or a rotation about a word, on targets, where the
controls match, and the identity elsewhere. On a square (`hermitian`) it is applied to the rows of
matrix elements, and its complex conjugate to their columns.

On few wires it becomes a transfer matrix, else each group of the wires in question is turned into a
square and back, which takes memory for one of them: as much as the state twice where it is on all.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.apply import apply_transfer, flush
from diastase_engine.density_matrix.operations.groups import fill_offsets, is_over, next_group
from diastase_engine.density_matrix.operations.hermitian import to_elements, to_words
from diastase_engine.density_matrix.state.digits import MAX_WIRES, digits_of, index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.records import State, free

MATRIX, DIAGONAL, ROTATION = range(3)
MOST_TRANSFERRED = 2
"""Wires on which a gate becomes a transfer matrix."""


class Factor(Record):
    """What rows and columns are multiplied by."""

    kind: i64
    targets: i64
    """Number of targets, the last of the wires."""
    wires: i64
    """Number of controls and targets."""
    value: i64
    """Of the controls, the first one most significant."""
    numbers: ptr[f64]
    """Of a matrix or diagonal: complex, row-major. Of a rotation: cosine and sine."""
    flips: i64
    """Of a rotation: targets that are X or Y, as bits of a row's number."""
    signs: i64
    """Likewise: those that are Y or Z."""
    adjoint: i64
    """1 where the adjoint of all this is meant."""


@inline
def spread(number: i64, count: i64) -> i64:
    """The bits of a number, each moved to the upper bit of its digit."""
    place: i64 = 0
    for bit in range(count):
        place |= ((number >> bit) & 1) << (2 * bit + 1)
    return place


@inline
def multiply_rows(
    factor: Factor, square: ptr[f64], before: ptr[f64], start: i64, shift: i64, conjugated: f64
) -> None:
    """Multiply the numbers of one setting of all other bits, by U or (-1) its conjugate."""
    size = 1 << factor.targets
    sign = -conjugated if factor.adjoint != 0 else conjugated
    numbers = factor.numbers
    for row in range(size):
        place = 2 * (start | (spread(row, factor.targets) >> shift))
        before[2 * row], before[2 * row + 1] = square[place], square[place + 1]
    for row in range(size):
        real: f64 = 0.0
        imaginary: f64 = 0.0
        if factor.kind == MATRIX:
            line = numbers + (2 * row if factor.adjoint != 0 else 2 * row * size)
            step = 2 * size if factor.adjoint != 0 else 2
            for column in range(size):
                a, b = line[step * column], sign * line[step * column + 1]
                x, y = before[2 * column], before[2 * column + 1]
                real += a * x - b * y
                imaginary += a * y + b * x
        elif factor.kind == DIAGONAL:
            a, b = numbers[2 * row], sign * numbers[2 * row + 1]
            x, y = before[2 * row], before[2 * row + 1]
            real, imaginary = a * x - b * y, a * y + b * x
        else:
            # c - i s P; P is i^q (-1)^(signs), with q the number of Ys: q + 3 quarter turns.
            other = row ^ factor.flips
            quarter = 3 * count_ones(factor.flips & factor.signs) + 2 * count_ones(
                row & factor.signs
            )
            turns = (quarter + 3) & 3
            s = -numbers[1] if factor.adjoint != 0 else numbers[1]
            a: f64 = 0.0
            b: f64 = 0.0
            if turns & 1 == 0:
                a = s if turns == 0 else -s
            else:
                b = s if turns == 1 else -s
            b = b * conjugated
            x, y = before[2 * other], before[2 * other + 1]
            real = numbers[0] * before[2 * row] + a * x - b * y
            imaginary = numbers[0] * before[2 * row + 1] + a * y + b * x
        place = 2 * (start | (spread(row, factor.targets) >> shift))
        square[place], square[place + 1] = real, imaginary


@inline
def multiply_side(factor: Factor, square: ptr[f64], before: ptr[f64], shift: int) -> None:
    """Multiply the rows of matrix elements, or (1) their columns by the complex conjugate."""
    wires, targets = factor.wires, factor.targets
    mask = spread((1 << wires) - 1, wires) >> shift
    value = spread(factor.value << targets, wires) >> shift
    group: i64 = value
    for _ in range(1 << wires):  # all settings of the other halves of the digits
        multiply_rows(factor, square, before, group, shift, 1.0 - 2.0 * shift)
        group = next_group(group, mask) | value


@kernel
def multiply_square(factor: Factor, square: ptr[f64], before: ptr[f64]) -> None:
    """U square U^+, for matrix elements; `before` is room for the numbers of a row of U."""
    multiply_side(factor, square, before, 0)
    multiply_side(factor, square, before, 1)


@kernel
def multiply_left(factor: Factor, square: ptr[f64], before: ptr[f64]) -> None:
    """U square, likewise."""
    multiply_side(factor, square, before, 0)


@kernel
def write_transfer(factor: Factor, transfer: ptr[f64]) -> None:
    """Write the real matrix of a factor on at most `MOST_TRANSFERRED` wires."""
    square, before = stack_array(f64, 2 << (2 * MOST_TRANSFERRED)), stack_array(f64, 8)
    size = 1 << (2 * factor.wires)
    for column in range(size):
        for k in range(2 * size):
            square[k] = 0.0
        square[2 * column] = 1.0
        to_elements(square, factor.wires)
        multiply_square(factor, square, before)
        to_words(square, factor.wires)
        for row in range(size):
            transfer[row * size + column] = square[2 * row]


@kernel
def conjugate(
    context: CallContext, state: State, site: i64, wires: ptr[i64], factor: Factor
) -> None:
    """Conjugate by a factor on checked wires, controls first."""
    if factor.wires <= MOST_TRANSFERRED:
        transfer = stack_array(f64, 1 << (4 * MOST_TRANSFERRED))
        write_transfer(factor, transfer)
        apply_transfer(context, state, site, factor.wires, wires, transfer)
    else:
        conjugate_groups(context, state, site, wires, factor)


@kernel
def conjugate_groups(
    context: CallContext, state: State, site: i64, wires: ptr[i64], factor: Factor
) -> None:
    """The same by squares."""
    count = 2 * factor.wires
    size = 1 << count
    memory = allocate(context, site, 8 * (3 * size + (2 << factor.targets)))
    if is_null(memory):
        return
    flush(state)
    state.gates += 1
    offsets, square, before = cast(memory, ptr[i64]), memory + size, memory + 3 * size
    bits = stack_array(i64, 2 * MAX_WIRES)
    digits_of(state, factor.wires, wires, bits)
    mask = fill_offsets(count, bits, offsets)
    numbers = cast(state.amplitudes, ptr[stored])
    group: i64 = 0
    for number in range(1 << (index_bits(state) - count)):
        if is_over(state, number):
            break
        for row in range(size):
            square[2 * row], square[2 * row + 1] = numbers[group + offsets[row]], 0.0
        to_elements(square, factor.wires)
        multiply_square(factor, square, before)
        to_words(square, factor.wires)
        for row in range(size):
            numbers[group + offsets[row]] = square[2 * row]
        group = next_group(group, mask)
    free(memory)
