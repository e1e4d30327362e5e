"""Superoperators and prepared wires in the sweep back: derivatives, and the adjoint before them."""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.gates.arrays import apply_superoperator
from diastase_engine.density_matrix.operations.apply import flush
from diastase_engine.density_matrix.operations.groups import fill_offsets, is_over, next_group
from diastase_engine.density_matrix.operations.hermitian import (
    matrix_of_square,
    square_of_matrix,
)
from diastase_engine.density_matrix.state.digits import (
    MAX_INDEX_BITS,
    bits_of_wires,
    digits_of,
    index_bits,
)
from diastase_engine.density_matrix.sweep.moments import moments
from diastase_engine.density_matrix.sweep.rows import numbers_in
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import DERIVATIVES, HEAD, KIND, PREPARE, WIRES
from diastase_engine.state_vector.state.records import State, free, memset


@kernel
def undo_superoperator(
    context: CallContext,
    state: State,
    adjoint: State,
    site: i64,
    row: ptr[i64],
    broken: i64,
    results: ptr[f64],
) -> None:
    """Write the derivatives by the elements, if there are any; transpose it for the adjoint."""
    bits = stack_array(i64, MAX_INDEX_BITS)
    count = bits_of_wires(context, state, site, row[WIRES], row + HEAD, bits)
    if count < 0:
        return
    size = 1 << count
    transposed = allocate(context, site, 8 * size * size)
    if is_null(transposed):
        return
    if broken == 0:  # a diagonal
        for k in range(size * size):
            transposed[k] = 0.0
        for i in range(size):
            transposed[i * (size + 1)] = 1.0 / numbers_in(row)[i * (size + 1)]
        apply_superoperator(context, state, site, row[WIRES], row + HEAD, transposed)
    if row[DERIVATIVES] != 0:
        moments(context, state, adjoint, site, count, bits, results)
    for i in range(size):
        for j in range(size):
            transposed[j * size + i] = numbers_in(row)[i * size + j]
    apply_superoperator(context, adjoint, site, row[WIRES], row + HEAD, transposed)
    free(transposed)


@kernel
def add_traces(
    state: State, adjoint: State, mask: i64, size: i64, offsets: ptr[i64], out: ptr[f64]
) -> None:
    """Write for each row of a group the sum of the adjoint's numbers times those of its trace."""
    numbers, losses = cast(state.amplitudes, ptr[stored]), cast(adjoint.amplitudes, ptr[stored])
    group: i64 = 0
    for number in range((1 << index_bits(state)) >> count_ones(mask)):
        if is_over(state, number):
            break
        trace = numbers[group]
        for row in range(size):
            out[2 * row] = out[2 * row] + losses[group + offsets[row]] * trace
        group = next_group(group, mask)


@kernel
def take_out(
    adjoint: State, mask: i64, size: i64, offsets: ptr[i64], factor: f64, square: ptr[f64]
) -> None:
    """The adjoint before: of a group only its trace counts."""
    losses = cast(adjoint.amplitudes, ptr[stored])
    group: i64 = 0
    for number in range((1 << index_bits(adjoint)) >> count_ones(mask)):
        if is_over(adjoint, number):
            break
        total: f64 = 0.0
        for row in range(size):
            total += square[2 * row] * losses[group + offsets[row]]
            losses[group + offsets[row]] = 0.0
        losses[group] = factor * total
        group = next_group(group, mask)


@kernel
def undo_put(
    context: CallContext,
    state: State,
    adjoint: State,
    site: i64,
    row: ptr[i64],
    results: ptr[f64],
) -> None:
    """The same for a density matrix or amplitudes that were put in the place of wires."""
    wires = row[WIRES]
    size, dimension, given = 1 << (2 * wires), 1 << wires, numbers_in(row)
    memory = allocate(context, site, 8 * 5 * size)
    if is_null(memory):
        return
    flush(state)
    flush(adjoint)
    offsets, square, matrix = cast(memory, ptr[i64]), memory + size, memory + 3 * size
    bits = stack_array(i64, MAX_INDEX_BITS)
    digits_of(state, wires, row + HEAD, bits)
    mask = fill_offsets(2 * wires, bits, offsets)
    if row[DERIVATIVES] != 0:
        memset(square, 0, 16 * size)
        add_traces(state, adjoint, mask, size, offsets, square)
        matrix_of_square(square, wires, 1.0, matrix)
        for k in range(dimension if row[KIND] == PREPARE else size):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            if row[KIND] == PREPARE:  # 2 Re (v^+ A dv)
                for j in range(dimension):
                    a, b = given[2 * j], given[2 * j + 1]
                    x, y = matrix[2 * (j * dimension + k)], matrix[2 * (j * dimension + k) + 1]
                    real += 2.0 * (a * x + b * y)
                    imaginary += 2.0 * (a * y - b * x)
            else:  # Re Tr(dM A)
                place = 2 * (((k & (dimension - 1)) << wires) | (k >> wires))
                real, imaginary = matrix[place], matrix[place + 1]
            results[2 * k], results[2 * k + 1] = real, -imaginary
    if row[KIND] == PREPARE:
        for i in range(dimension):
            for j in range(dimension):
                a, b, x, y = given[2 * i], given[2 * i + 1], given[2 * j], given[2 * j + 1]
                place = 2 * (i * dimension + j)
                matrix[place], matrix[place + 1] = a * x + b * y, b * x - a * y
        square_of_matrix(matrix, wires, square)
    else:
        square_of_matrix(given, wires, square)
    take_out(adjoint, mask, size, offsets, to_float(dimension), square)
    free(memory)
