"""Derivatives by what one operation has, from the state r before it and the adjoint a after it.

`moments` are the sums N[i, j] of a[i] r[j] over all groups of the operation's wires: derivatives by
the elements of a real matrix. For conjugation by U the loss of a group is
`2^-w Re Tr(A U R U^+)`, for the operators A and R that the group's numbers stand for, so its change
is `2 Re Tr(dU X)` with X the sum of `2^-w R U^+ A`, of which only the elements are summed up that U
has. On few wires R and A are the columns of N, which are fewer than the groups.

All named gates are trigonometric polynomials of half of their parameters, with frequencies up to 2:
four shifted matrices give the exact derivative (`SHIFTS`).
"""

from math import pi
from math import sin as sine_of

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.gates.factors import numbers_of
from diastase_engine.density_matrix.gates.gate_factors import MOST_NUMBERS, write_gate
from diastase_engine.density_matrix.operations.apply import flush
from diastase_engine.density_matrix.operations.conjugation import (
    DIAGONAL,
    MATRIX,
    MOST_TRANSFERRED,
    Factor,
    multiply_left,
)
from diastase_engine.density_matrix.operations.groups import fill_offsets, is_over, next_group
from diastase_engine.density_matrix.operations.hermitian import place_of_element, to_elements
from diastase_engine.density_matrix.state.digits import MAX_INDEX_BITS, digits_of, index_bits
from diastase_engine.density_matrix.sweep.moments import moments
from diastase_engine.density_matrix.sweep.rows import write_parameters
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import MOST_PARAMETERS
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import DERIVATIVES, KIND, NUMBERS, UNITARY, WIRES
from diastase_engine.state_vector.queue.tape import DIAGONAL as DIAGONAL_ROW
from diastase_engine.state_vector.state.records import State, free, memset

_POINTS = [(2 * k + 1) * pi / 4 for k in range(4)]
SHIFTS = [(2 * x, (-1) ** k / (16 * sine_of(x / 2) ** 2)) for k, x in enumerate(_POINTS)]
"""By how much a parameter is shifted, and the weight."""


@kernel
def add_group(
    factor: Factor, state: ptr[f64], loss: ptr[f64], before: ptr[f64], sums: ptr[f64]
) -> None:
    """Add what two squares of coefficients give to X; they are overwritten."""
    wires, size = factor.wires, 1 << factor.targets
    to_elements(state, wires)
    to_elements(loss, wires)
    factor.adjoint = 1 - factor.adjoint
    multiply_left(factor, loss, before)
    factor.adjoint = 1 - factor.adjoint
    matching = factor.value << factor.targets
    scale = 1.0 / to_float(1 << wires)
    for row in range(size):
        for column in range(size):
            if factor.kind == MATRIX or row == column or row ^ column == factor.flips:
                real: f64 = 0.0
                imaginary: f64 = 0.0
                for k in range(1 << wires):
                    left = 2 * place_of_element(wires, matching | row, k)
                    right = 2 * place_of_element(wires, k, matching | column)
                    a, b, x, y = state[left], state[left + 1], loss[right], loss[right + 1]
                    real += a * x - b * y
                    imaginary += a * y + b * x
                add_element(factor, row, column, scale * real, scale * imaginary, sums)


@kernel
def add_element(
    factor: Factor, row: i64, column: i64, real: f64, imaginary: f64, sums: ptr[f64]
) -> None:
    """Add an element of X: to all of them, to the diagonal, or to the traces of X and P X."""
    if factor.kind == MATRIX:
        place = 2 * ((row << factor.targets) | column)
        sums[place], sums[place + 1] = sums[place] + real, sums[place + 1] + imaginary
        return
    if factor.kind == DIAGONAL:
        sums[2 * row], sums[2 * row + 1] = sums[2 * row] + real, sums[2 * row + 1] + imaginary
        return
    if row == column:
        sums[0], sums[1] = sums[0] + real, sums[1] + imaginary
    if row ^ column == factor.flips:
        # P[column, row] X[row, column]; see `conjugation.multiply_rows`.
        quarter = 3 * count_ones(factor.flips & factor.signs) + 2 * count_ones(
            column & factor.signs
        )
        turned = quarter & 1
        x: f64 = real if turned == 0 else -imaginary
        y: f64 = imaginary if turned == 0 else real
        if quarter & 2 != 0:
            x, y = -x, -y
        sums[2], sums[3] = sums[2] + x, sums[3] + y


@kernel
def sum_products(
    context: CallContext,
    state: State,
    adjoint: State,
    site: i64,
    wires: ptr[i64],
    factor: Factor,
    sums: ptr[f64],
) -> None:
    """Write X: as many numbers as a factor has, or the traces of X and P X."""
    count = 2 * factor.wires
    size = 1 << count
    is_small = factor.wires <= MOST_TRANSFERRED
    table: i64 = size * size if is_small else 0
    memory = allocate(context, site, 8 * (table + 5 * size + (2 << factor.targets)))
    if is_null(memory):
        return
    square, loss = memory + table, memory + (table + 2 * size)
    offsets, before = cast(memory + (table + 4 * size), ptr[i64]), memory + (table + 5 * size)
    bits = stack_array(i64, MAX_INDEX_BITS)
    digits_of(state, factor.wires, wires, bits)
    if is_small:
        moments(context, state, adjoint, site, count, bits, memory)
        for column in range(size):
            for k in range(2 * size):
                square[k], loss[k] = 0.0, 0.0
            square[2 * column] = 1.0
            for row in range(size):
                loss[2 * row] = memory[row * size + column]
            add_group(factor, square, loss, before, sums)
    else:
        flush(state)
        flush(adjoint)
        mask = fill_offsets(count, bits, offsets)
        numbers, losses = cast(state.amplitudes, ptr[stored]), cast(adjoint.amplitudes, ptr[stored])
        group: i64 = 0
        for number in range(1 << (index_bits(state) - count)):
            if is_over(state, number):
                break
            for row in range(size):
                square[2 * row], square[2 * row + 1] = numbers[group + offsets[row]], 0.0
                loss[2 * row], loss[2 * row + 1] = losses[group + offsets[row]], 0.0
            add_group(factor, square, loss, before, sums)
            group = next_group(group, mask)
    free(memory)


@kernel
def derivative_by_numbers(factor: Factor, change: ptr[f64], sums: ptr[f64]) -> f64:
    """The derivative where the numbers of a factor change like this: `2 Re Tr(dU X)`."""
    size = 1 << factor.targets
    total: f64 = 0.0
    if factor.kind == MATRIX:
        for row in range(size):
            for column in range(size):
                a, b = change[2 * (row * size + column)], change[2 * (row * size + column) + 1]
                x, y = sums[2 * (column * size + row)], sums[2 * (column * size + row) + 1]
                total += a * x - b * y
    else:  # a rotation: -i times what the sine changes by
        total = change[0] * sums[0] + change[1] * sums[3]
    return 2.0 * total


@kernel
def add_gate_derivatives(row: ptr[i64], factor: Factor, sums: ptr[f64], results: ptr[f64]) -> None:
    """Write the derivatives by the parameters of a named gate."""
    p, numbers = stack_array(f64, MOST_PARAMETERS), factor.numbers
    shifted, change = stack_array(f64, MOST_NUMBERS), stack_array(f64, MOST_NUMBERS)
    count = numbers_of(factor)
    factor.numbers = shifted
    for parameter in range(row[NUMBERS]):
        for k in range(count):
            change[k] = 0.0
        for shift in static(SHIFTS):
            write_parameters(row, p)
            p[parameter] = p[parameter] + shift[0]
            write_gate(row[KIND], row[WIRES], p, factor)
            for k in range(count):
                change[k] = change[k] + shift[1] * shifted[k]
        results[parameter] = derivative_by_numbers(factor, change, sums)
    factor.numbers = numbers


@kernel
def conjugation_derivatives(
    context: CallContext,
    state: State,
    adjoint: State,
    site: i64,
    row: ptr[i64],
    wires: ptr[i64],
    factor: Factor,
    results: ptr[f64],
) -> None:
    """Write the derivatives by all that a gate or a complex array has."""
    count: i64 = 4
    if row[KIND] == UNITARY or row[KIND] == DIAGONAL_ROW or numbers_of(factor) > count:
        count = numbers_of(factor)
    sums = allocate(context, site, 8 * count)
    if is_null(sums):
        return
    memset(sums, 0, 8 * count)
    sum_products(context, state, adjoint, site, wires, factor, sums)
    size = 1 << factor.targets
    if row[KIND] == UNITARY:
        for k in range(row[DERIVATIVES] >> 1):
            column = k & (size - 1)
            place = 2 * ((column << factor.targets) | (k >> factor.targets))
            results[2 * k], results[2 * k + 1] = 2.0 * sums[place], -2.0 * sums[place + 1]
    elif row[KIND] == DIAGONAL_ROW:
        for k in range(row[DERIVATIVES] >> 1):
            results[2 * k], results[2 * k + 1] = 2.0 * sums[2 * k], -2.0 * sums[2 * k + 1]
    else:
        add_gate_derivatives(row, factor, sums, results)
    free(sums)
