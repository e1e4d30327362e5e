"""Operations divided by a number, whose matrices then take half of the multiplications.

A matrix is written as a number `g` times a *simple* row with a one, and another with a factor `k`,

    g * [[1, r], [k s, k]]        or this with its rows, or its columns, exchanged, or both

where `r` and `s` are both real, or both imaginary, and `k` is any number: RY or RX with any
diagonal operations after it, and a CNOT before or after. A pair of amplitudes takes eight
multiplications instead of sixteen. The numbers `g` are collected, and given to an operation that
needs all multiplications anyway (`queue`): the state is what it should be when all are applied.

Both matrices of an operation have one `g`, an element of `otherwise`, if there is one. A pass whose
matrix is not of this form multiplies by that matrix divided by `g`. What is smaller than its own
rounding counts as zero, as in `parity_operations`.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    SINGLE,
    Operation,
    State,
)
from diastase_engine.state_vector.state.small_matrices import (
    EVERYWHERE,
    is_identity,
    is_real,
    multiply_numbers,
    scale,
    size,
)
from diastase_engine.state_vector.tiles.ratio_passes import (
    IMAGINARY,
    NO_FORM,
    REAL,
    Ratios,
    ratio_pass,
)
from diastase_engine.state_vector.tiles.sweeps import sweep

ROUNDING = 2.0**-51
SMALL, LARGE = 2.0**-10, 2.0**10
"""Of the squared size of `g`, and of `k`."""
LEAST = derived(lambda single: 2.0**-80 if single else 2.0**-600, SINGLE)
MOST = 2.0**40
"""Of the squared size of all `g` together: amplitudes stay far from what cannot be stored."""
FEWEST_BLOCKS = 32
"""Smaller states take less time than to find out all this."""


@inline
def is_between(number: f64, least: float, most: float) -> i1:
    """Whether a number, if it is one, lies between two."""
    return least <= number and number <= most


@inline
def squared(z: ptr[f64]) -> f64:
    """|z|^2."""
    return z[0] * z[0] + z[1] * z[1]


@kernel
def divide(z: ptr[f64], w: ptr[f64], quotient: ptr[f64]) -> None:
    """`quotient = z / w`, without a part that is but rounding."""
    inverse = 1.0 / squared(w)
    for part in static(range(2)):
        first = z[part] * w[0]
        second = z[1] * w[1] if part == 0 else 0.0 - z[0] * w[1]
        total = first + second
        is_nothing = size(total) <= ROUNDING * (size(first) + size(second))
        quotient[part] = select(is_nothing, 0.0, total * inverse)


@kernel
def find_ratios(matrix: ptr[f64], g: ptr[f64], ratios: Ratios) -> None:
    """Write a matrix in this form, if it has it."""
    ratios.form = NO_FORM
    place: i64 = 4
    for k in static((3, 2, 1, 0)):
        if matrix[2 * k] == g[0] and matrix[2 * k + 1] == g[1]:
            place = k
    if place == 4:
        return
    row, column = place >> 1, place & 1
    ratios.row, ratios.column = row, column
    one, beside = matrix + 2 * place, matrix + (2 * place ^ 2)
    below, across = matrix + (2 * place ^ 4), matrix + (2 * place ^ 6)
    if not is_between(squared(across), SMALL * squared(g), LARGE * squared(g)):
        return
    quotients = stack_array(f64, 6)
    divide(beside, one, quotients)
    divide(below, across, quotients + 2)
    divide(across, g, quotients + 4)
    ratios.real, ratios.imaginary = quotients[4], quotients[5]
    if quotients[1] == 0.0 and quotients[3] == 0.0:
        ratios.form = REAL
        ratios.first, ratios.second = quotients[0], quotients[2]
    elif quotients[0] == 0.0 and quotients[2] == 0.0:
        ratios.form = IMAGINARY
        ratios.first, ratios.second = quotients[1], quotients[3]


@kernel
def find_exchanged(operation: Operation, otherwise: Ratios, matched: Ratios) -> i1:
    """Write the form of `matched` where it is `otherwise` with its rows or columns exchanged."""
    one, other = load_unaligned(operation.matched, 0), load_unaligned(operation.otherwise, 0)
    rows = equal_lanes(one, shuffle(other, [4, 5, 6, 7, 0, 1, 2, 3])) == EVERYWHERE
    if not (rows or equal_lanes(one, shuffle(other, [2, 3, 0, 1, 6, 7, 4, 5])) == EVERYWHERE):
        return False
    matched.form = otherwise.form
    matched.row = otherwise.row ^ to_integer(rows)
    matched.column = otherwise.column ^ to_integer(not rows)
    matched.first, matched.second = otherwise.first, otherwise.second
    matched.real, matched.imaginary = otherwise.real, otherwise.imaginary
    return True


@kernel
def fits(operation: Operation, matched: Ratios, otherwise: Ratios) -> i1:
    """Whether a pass whose lanes use both matrices can be made in their form."""
    if matched.form == NO_FORM or matched.form != otherwise.form:
        return False
    if operation.target < LANE_BITS:
        return True
    return matched.row == otherwise.row and matched.column == otherwise.column


@kernel
def can_divide(operation: Operation) -> i1:
    """Whether an operation acts on all amplitudes, and would take all multiplications."""
    if operation.word | operation.flips != 0 or operation.mask & (operation.mask - 1) != 0:
        return False
    if is_real(operation):
        return False
    if operation.mask == 0:
        return True
    return not (is_identity(operation.matched) or is_identity(operation.otherwise))


@kernel
def one_pass(
    state: State,
    operation: Operation,
    is_of_form: i1,
    value: i64,
    lane_mask: i64,
    lane_value: i64,
    matched: Ratios,
    otherwise: Ratios,
) -> None:
    """Make a pass in its form, or as usual."""
    mask = operation.mask >> LANE_BITS
    if is_of_form:
        lanes = lane_mask
        ratio_pass(state, operation.target, mask, value, lanes, lane_value, matched, otherwise)
    else:
        sweep(state, operation, mask, value, lane_mask, lane_value)


@kernel
def apply_divided(state: State, operation: Operation, factor: ptr[f64]) -> i1:
    """Apply an operation divided by a number, which is multiplied into `factor`.

    False, and nothing is done, where that wins nothing.
    """
    if state.blocks < FEWEST_BLOCKS or not can_divide(operation):
        return False
    g = operation.matched if operation.mask == 0 else operation.otherwise
    if squared(g) < squared(g + 2):
        g = g + 2
    number = stack_array(f64, 2)
    number[0], number[1] = g[0], g[1]
    if not is_between(squared(number), SMALL, LARGE):
        return False
    matched, otherwise = stack_record(Ratios), stack_record(Ratios)
    if operation.mask == 0:
        find_ratios(operation.matched, number, matched)
    else:
        find_ratios(operation.otherwise, number, otherwise)
        if not find_exchanged(operation, otherwise, matched):
            find_ratios(operation.matched, number, matched)
    if not make_passes(state, operation, number, matched, otherwise):
        return False
    multiply_numbers(factor, number)
    return True


@kernel
def make_passes(
    state: State, operation: Operation, number: ptr[f64], matched: Ratios, otherwise: Ratios
) -> i1:
    """Make the passes of an operation; false, and none is made, where none has the form."""
    mask, in_lanes = operation.mask >> LANE_BITS, operation.mask & LANE_MASK
    first = fits(operation, matched, otherwise) if in_lanes != 0 else matched.form != NO_FORM
    second = mask != 0 and otherwise.form != NO_FORM
    if not (first or second):
        return False
    if not (first and (second or mask == 0)):
        divide_matrices(operation, number)
    value, in_lane_value = operation.value >> LANE_BITS, operation.value & LANE_MASK
    one_pass(state, operation, first, value, in_lanes, in_lane_value, matched, otherwise)
    if mask != 0:
        one_pass(state, operation, second, value ^ mask, 0, 1, matched, otherwise)
    return True


@kernel
def is_usual(factor: ptr[f64]) -> i1:
    """Whether amplitudes divided by a number can be stored, with some more such numbers."""
    return is_between(squared(factor), LEAST, MOST)


@kernel
def divide_matrices(operation: Operation, g: ptr[f64]) -> None:
    """Divide an operation by a number."""
    inverse = stack_array(f64, 2)
    weight = squared(g)
    inverse[0], inverse[1] = g[0] / weight, 0.0 - g[1] / weight
    scale(operation.matched, inverse)
    if operation.mask != 0:
        scale(operation.otherwise, inverse)


@kernel
def bears(operation: Operation) -> i1:
    """Whether an operation can be multiplied by a number."""
    return operation.word == 0 and operation.mask & (operation.mask - 1) == 0


@kernel
def multiply_operation(operation: Operation, factor: ptr[f64]) -> None:
    """Multiply an operation that `bears` by a number."""
    scale(operation.matched, factor)
    if operation.mask != 0:
        scale(operation.otherwise, factor)
