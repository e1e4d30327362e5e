"""Operations that are given by arrays, undone on a state and its adjoint, one at a time.

An operation M is undone by its inverse on the state and by its adjoint matrix on the adjoint; it
need not be unitary. The derivatives by the elements of an array are, with A the adjoint after the
operation and S the state before it:

    unitary    C[a][b] = sum conj(A[a]) S[b]      diagonal   C[a] = sum conj(A[a]) S[a]
    prepare    C[a] = sum conj(A[a]) rest         where S after it is `amplitudes x rest`

by the real part of an element Re C, by its imaginary part -Im C.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.records import Backward
from diastase_engine.state_vector.adjoint.tape_replay import bits_of_wires
from diastase_engine.state_vector.gates.dense import position, unitary
from diastase_engine.state_vector.gates.diagonal import diagonal
from diastase_engine.state_vector.gates.operators import gather, next_group, offsets_of
from diastase_engine.state_vector.observables.linear_algebra import can_meet
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.queue import apply_waiting, spoil
from diastase_engine.state_vector.queue.tape import (
    DERIVATIVES,
    DIAGONAL,
    HEAD,
    KIND,
    MASK,
    NUMBERS,
    PREPARE,
    UNITARY,
    VALUE,
    WIRES,
)
from diastase_engine.state_vector.state.checks import mask_of
from diastase_engine.state_vector.state.records import LANES, MAX_QUBITS, State, free


@kernel
def is_unitary(size: i64, matrix: ptr[f64]) -> i1:
    """Whether the rows are orthonormal, up to rounding."""
    for row in range(size):
        for other in range(row + 1):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            for k in range(size):
                a, b = matrix[2 * (row * size + k)], matrix[2 * (row * size + k) + 1]
                x, y = matrix[2 * (other * size + k)], matrix[2 * (other * size + k) + 1]
                real += a * x + b * y
                imaginary += b * x - a * y
            if row == other:
                real -= 1.0
            if not real * real + imaginary * imaginary < 1e-28:
                return False
    return True


@kernel
def write_adjoint(size: i64, matrix: ptr[f64], result: ptr[f64]) -> None:
    """Write the adjoint matrix."""
    for row in range(size):
        for column in range(size):
            source, target = 2 * (row * size + column), 2 * (column * size + row)
            result[target], result[target + 1] = matrix[source], -matrix[source + 1]


@kernel
def invert(size: i64, matrix: ptr[f64], result: ptr[f64]) -> i1:
    """Gauss and Jordan, with pivots; the matrix is lost. False where there is no inverse."""
    for k in range(2 * size * size):
        result[k] = 0.0
    for k in range(size):
        result[2 * (k * size + k)] = 1.0
    for column in range(size):
        pivot: i64 = column
        largest: f64 = 0.0
        for row in range(column, size):
            a, b = matrix[2 * (row * size + column)], matrix[2 * (row * size + column) + 1]
            weight = a * a + b * b
            if weight > largest:
                largest = weight
                pivot = row
        if not largest > 0.0:
            return False
        exchange_rows(size, matrix, column, pivot)
        exchange_rows(size, result, column, pivot)
        a, b = matrix[2 * (column * size + column)], matrix[2 * (column * size + column) + 1]
        x, y = a / largest, -(b / largest)
        scale_row(size, matrix, column, x, y)
        scale_row(size, result, column, x, y)
        for row in range(size):
            if row != column:
                a = matrix[2 * (row * size + column)]
                b = matrix[2 * (row * size + column) + 1]
                subtract_row(size, matrix, row, column, a, b)
                subtract_row(size, result, row, column, a, b)
    return True


@kernel
def exchange_rows(size: i64, matrix: ptr[f64], one: i64, other: i64) -> None:
    """Exchange two rows."""
    for k in range(2 * size):
        first, second = 2 * size * one + k, 2 * size * other + k
        matrix[first], matrix[second] = matrix[second], matrix[first]


@kernel
def scale_row(size: i64, matrix: ptr[f64], row: i64, x: f64, y: f64) -> None:
    """Multiply a row by `x + iy`."""
    for k in range(size):
        place = 2 * (row * size + k)
        a, b = matrix[place], matrix[place + 1]
        matrix[place], matrix[place + 1] = a * x - b * y, a * y + b * x


@kernel
def subtract_row(size: i64, matrix: ptr[f64], row: i64, other: i64, x: f64, y: f64) -> None:
    """Subtract `x + iy` times another row from a row."""
    for k in range(size):
        place, source = 2 * (row * size + k), 2 * (other * size + k)
        a, b = matrix[source], matrix[source + 1]
        matrix[place] = matrix[place] - (a * x - b * y)
        matrix[place + 1] = matrix[place + 1] - (a * y + b * x)


@kernel
def is_undone_alone(row: ptr[i64]) -> i1:
    """Whether a row cannot be fused with others."""
    kind = row[KIND]
    if kind == DIAGONAL or kind == PREPARE:
        return True
    if kind != UNITARY:
        return False
    if row[WIRES] != 1 or row[DERIVATIVES] != 0:
        return True
    return not is_unitary(2, cast(row + HEAD + 1, ptr[f64]))


@kernel
def add_products(
    run: Backward, row: ptr[i64], offsets: ptr[i64], after: ptr[f64], results: ptr[f64]
) -> None:
    """Write the derivatives by the elements of a unitary or diagonal array."""
    state, adjoint = run.state, run.adjoint
    size = 1 << row[WIRES]
    fixed = mask_of(run.context, state, run.site, row[WIRES], row + HEAD, 0)
    controls = bits_of_wires(state, row[MASK])
    value = position(bits_of_wires(state, row[VALUE]))
    before = cast(offsets, ptr[f64]) + size
    kind = row[KIND]
    fixed |= controls
    group: i64 = 0
    for _ in range(1 << (state.qubits - count_ones(fixed))):
        base = position(group) + value
        gather(cast(state.amplitudes, ptr[stored]), base, size, offsets, before)
        gather(cast(adjoint.amplitudes, ptr[stored]), base, size, offsets, after)
        for a in range(size):
            x, y = after[2 * a], after[2 * a + 1]
            if kind == UNITARY:
                line = results + 2 * size * a
                for b in range(size):
                    u, w = before[2 * b], before[2 * b + 1]
                    line[2 * b] = line[2 * b] + x * u + y * w
                    line[2 * b + 1] = line[2 * b + 1] - (x * w - y * u)
            else:
                u, w = before[2 * a], before[2 * a + 1]
                results[2 * a] = results[2 * a] + x * u + y * w
                results[2 * a + 1] = results[2 * a + 1] - (x * w - y * u)
        group = next_group(group, fixed)


@kernel
def list_controls(row: ptr[i64], wires: ptr[i64], values: ptr[i64]) -> i64:
    """Write the control wires of a row and their values; return how many there are."""
    count: i64 = 0
    rest: i64 = row[MASK]
    while rest != 0:
        wire = count_trailing_zeros(rest)
        wires[count], values[count] = wire, (row[VALUE] >> wire) & 1
        count += 1
        rest &= rest - 1
    return count


@kernel
def apply_array(run: Backward, state: State, row: ptr[i64], array: ptr[f64]) -> None:
    """Apply an array in the place of a row's own."""
    wires, values = stack_array(i64, MAX_QUBITS), stack_array(i64, MAX_QUBITS)
    count = list_controls(row, wires, values)
    targets, number = row + HEAD, row[WIRES]
    if row[KIND] == UNITARY:
        unitary(run.context, state, run.site, number, targets, count, wires, values, array)
    else:
        diagonal(run.context, state, run.site, number, targets, count, wires, values, array)
    apply_waiting(state)


@kernel
def invert_elements(count: i64, elements: ptr[f64], result: ptr[f64]) -> i1:
    """Write 1 / element for each."""
    for k in range(count):
        a, b = elements[2 * k], elements[2 * k + 1]
        weight = a * a + b * b
        if not weight > 0.0:
            return False
        result[2 * k], result[2 * k + 1] = a / weight, -(b / weight)
    return True


@kernel
def write_inverse(row: ptr[i64], array: ptr[f64], work: ptr[f64], result: ptr[f64]) -> i1:
    """Write the inverse of a row's array; false where there is none."""
    size = 1 << row[WIRES]
    if row[KIND] == DIAGONAL:
        return invert_elements(size, array, result)
    for k in range(row[NUMBERS]):
        work[k] = array[k]
    return invert(size, work, result)


@kernel
def undo_array(run: Backward, row: ptr[i64], results: ptr[f64]) -> None:
    """Undo one operation that is given by an array."""
    array = cast(row + HEAD + row[WIRES], ptr[f64])
    if row[KIND] == PREPARE:
        undo_preparation(run, row, array, results)
        return
    count = row[NUMBERS]
    memory = allocate(run.context, run.site, 16 * count)
    if is_null(memory):
        return
    state, adjoint = run.state, run.adjoint
    if write_inverse(row, array, memory + count, memory):
        apply_array(run, state, row, memory)
    else:
        spoil(state)
    if row[DERIVATIVES] != 0 and can_meet(run.context, state, adjoint, run.site):
        offsets = offsets_of(run.context, state, run.site, row[WIRES], row + HEAD)
        gathered = allocate(run.context, run.site, 16 << row[WIRES])
        if not is_null(offsets) and not is_null(gathered):
            add_products(run, row, offsets, gathered, results)
        free(cast(offsets, ptr[f64]))
        free(gathered)
    if row[KIND] == UNITARY:
        write_adjoint(1 << row[WIRES], array, memory)
    else:
        for k in range(1 << row[WIRES]):
            memory[2 * k], memory[2 * k + 1] = array[2 * k], -array[2 * k + 1]
    apply_array(run, adjoint, row, memory)
    free(memory)


@kernel
def undo_preparation(run: Backward, row: ptr[i64], array: ptr[f64], results: ptr[f64]) -> None:
    """Undo `prepare`: both registers keep what stands beside the amplitudes."""
    state, adjoint = run.state, run.adjoint
    if not can_meet(run.context, state, adjoint, run.site):
        return
    offsets = offsets_of(run.context, state, run.site, row[WIRES], row + HEAD)
    if is_null(offsets):
        return
    size = 1 << row[WIRES]
    weight: f64 = 0.0
    for k in range(2 * size):
        weight += array[k] * array[k]
    if not weight > 0.0:
        spoil(state)
        spoil(adjoint)
    mask = mask_of(run.context, state, run.site, row[WIRES], row + HEAD, 0)
    values = cast(offsets, ptr[f64]) + size
    group: i64 = 0
    for _ in range(1 << (state.qubits - row[WIRES])):
        base = position(group)
        numbers = cast(state.amplitudes, ptr[stored])
        gather(numbers, base, size, offsets, values)
        real: f64 = 0.0
        imaginary: f64 = 0.0
        for k in range(size):
            a, b = array[2 * k], array[2 * k + 1]
            x, y = values[2 * k], values[2 * k + 1]
            real += (a * x + b * y) / weight
            imaginary += (a * y - b * x) / weight
            numbers[base + offsets[k]] = 0.0
            numbers[base + offsets[k] + LANES] = 0.0
        numbers[base] = real
        numbers[base + LANES] = imaginary
        others = cast(adjoint.amplitudes, ptr[stored])
        gather(others, base, size, offsets, values)
        first: f64 = 0.0
        second: f64 = 0.0
        for k in range(size):
            a, b = array[2 * k], array[2 * k + 1]
            x, y = values[2 * k], values[2 * k + 1]
            first += a * x + b * y
            second += a * y - b * x
            if row[DERIVATIVES] != 0:
                results[2 * k] = results[2 * k] + x * real + y * imaginary
                results[2 * k + 1] = results[2 * k + 1] - (x * imaginary - y * real)
            others[base + offsets[k]] = 0.0
            others[base + offsets[k] + LANES] = 0.0
        others[base] = first
        others[base + LANES] = second
        group = next_group(group, mask)
    free(cast(offsets, ptr[f64]))
