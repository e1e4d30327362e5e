"""Rows of a tape: done again, and told apart by how they are undone.

Conjugation by a unitary is undone by its adjoint, weak Pauli noise by dividing, as long as the
rounding errors, which grow by it, do not matter (`mark_breaks`). Whatever else is on a tape is a
*break*: the state before it has to be known.
"""

from math import inf

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.gates.arrays import (
    apply_superoperator,
    put_amplitudes,
    put_matrix,
)
from diastase_engine.density_matrix.gates.factors import numbers_of, place_factor
from diastase_engine.density_matrix.gates.gate_factors import write_gate
from diastase_engine.density_matrix.gates.kept import REPLACE, SUPEROPERATOR
from diastase_engine.density_matrix.operations import conjugation
from diastase_engine.density_matrix.operations.conjugation import Factor, conjugate
from diastase_engine.density_matrix.state.digits import MAX_INDEX_BITS, MAX_WIRES
from diastase_engine.density_matrix.state.digits import bits_of_wires as bits_of_digits
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.tape_replay import bits_of_wires
from diastase_engine.state_vector.gates.gates import MOST_PARAMETERS
from diastase_engine.state_vector.queue.tape import (
    DIAGONAL,
    HEAD,
    KIND,
    MASK,
    NUMBERS,
    PHASE,
    PREPARE,
    UNITARY,
    VALUE,
    WIRES,
)
from diastase_engine.state_vector.state.checks import all_are_numbers
from diastase_engine.state_vector.state.records import SINGLE, State

ROUNDING = 1e-12
MOST_GROWTH = derived(lambda single: 10.0 if single else 1000.0, SINGLE)
"""Of rounding errors, between two breaks."""
MOST_CHECKED = 4
"""Wires of a matrix that is worth finding out whether it is unitary."""


@inline
def numbers_in(row: ptr[i64]) -> ptr[f64]:
    """The numbers of a row."""
    return cast(row + HEAD + row[WIRES], ptr[f64])


@inline
def is_near(number: f64, wanted: f64) -> i1:
    """Whether they are equal but for rounding."""
    return number - wanted < ROUNDING and wanted - number < ROUNDING


@kernel
def is_unitary(wires: i64, matrix: ptr[f64]) -> i1:
    """Whether a complex matrix is unitary, as far as that is looked at."""
    if wires > MOST_CHECKED:
        return False
    size = 1 << wires
    for first in range(size):
        for second in range(first + 1):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            for k in range(size):
                a, b = matrix[2 * (first * size + k)], matrix[2 * (first * size + k) + 1]
                x, y = matrix[2 * (second * size + k)], matrix[2 * (second * size + k) + 1]
                real += a * x + b * y
                imaginary += b * x - a * y
            wanted = 1.0 if first == second else 0.0
            if not is_near(real, wanted) or not is_near(imaginary, 0.0):
                return False
    return True


@kernel
def is_break(row: ptr[i64]) -> i1:
    """Whether a row is one."""
    kind, numbers = row[KIND], numbers_in(row)
    if kind == UNITARY:
        return not is_unitary(row[WIRES], numbers)
    if kind == DIAGONAL:
        for k in range(1 << row[WIRES]):
            x, y = numbers[2 * k], numbers[2 * k + 1]
            if not is_near(x * x + y * y, 1.0):
                return True
        return False
    return (kind == SUPEROPERATOR and row[VALUE] != 0) or kind == PREPARE or kind == REPLACE


@kernel
def growth_of(count: i64, matrix: ptr[f64]) -> f64:
    """By how much errors grow where a matrix of so many bits is undone; 0 if it is not diagonal."""
    size = 1 << count
    least: f64 = inf
    most: f64 = 0.0
    for row in range(size):
        for column in range(size):
            number = matrix[row * size + column]
            if row != column and number != 0.0:
                return 0.0
        number = matrix[row * (size + 1)]
        magnitude = number if number > 0.0 else -number
        least = magnitude if magnitude < least else least
        most = magnitude if magnitude > most else most
    if not (least > 0.0 and most < inf):
        return 0.0
    return most / least


@kernel
def mark_breaks(context: CallContext, state: State, site: i64, rows: ptr[i64], end: i64) -> None:
    """Write into the rows of superoperators which of them are breaks."""
    bits = stack_array(i64, MAX_INDEX_BITS)
    grown: f64 = 1.0
    place: i64 = 0
    while place < end:
        row = rows + place
        if row[KIND] == SUPEROPERATOR:
            count = bits_of_digits(context, state, site, row[WIRES], row + HEAD, bits)
            growth = growth_of(count, numbers_in(row))
            grown = grown * growth
            row[VALUE] = 0
            if not (growth > 0.0 and grown < MOST_GROWTH):
                row[VALUE] = 1
                grown = 1.0
        place += words_of(row)


@inline
def words_of(row: ptr[i64]) -> i64:
    """The length of a row."""
    return HEAD + row[WIRES] + row[NUMBERS] + 1


@kernel
def is_conjugation(row: ptr[i64]) -> i1:
    """Whether a row is a gate or a complex array on rows and columns."""
    kind = row[KIND]
    return kind != PHASE and kind != SUPEROPERATOR and kind != PREPARE and kind != REPLACE


@kernel
def write_parameters(row: ptr[i64], p: ptr[f64]) -> None:
    """Copy a gate's parameters; those that it does not have are zero."""
    for k in static(range(MOST_PARAMETERS)):
        p[k] = numbers_in(row)[k] if k < row[NUMBERS] else 0.0


@kernel
def read_factor(state: State, row: ptr[i64], p: ptr[f64], factor: Factor, wires: ptr[i64]) -> None:
    """Fill a factor and write its wires; a gate of these parameters goes into its numbers."""
    controls, value = bits_of_wires(state, row[MASK]), bits_of_wires(state, row[VALUE])
    targets = row + HEAD
    factor.flips, factor.signs = 0, 0
    if row[KIND] == UNITARY or row[KIND] == DIAGONAL:
        factor.kind = conjugation.MATRIX if row[KIND] == UNITARY else conjugation.DIAGONAL
        factor.numbers = numbers_in(row)
        place_factor(state, row[WIRES], targets, controls, value, factor, wires)
        return
    own = write_gate(row[KIND], row[WIRES], p, factor)
    if own == 1:
        bit = 1 << state.bit_of_wire[targets[0]]
        controls, value = controls | bit, value | bit
    place_factor(state, row[WIRES] - own, targets + own, controls, value, factor, wires)


@kernel
def conjugate_checked(
    context: CallContext, state: State, site: i64, wires: ptr[i64], factor: Factor
) -> None:
    """Conjugate by a factor; one that is not finite spoils the state."""
    if all_are_numbers(numbers_of(factor), factor.numbers):
        conjugate(context, state, site, wires, factor)
    else:
        spoil(state)


@kernel
def replay(
    context: CallContext, state: State, site: i64, row: ptr[i64], factor: Factor, room: ptr[f64]
) -> None:
    """Do again what a row says; the factor and the room for its numbers are scratch."""
    kind, numbers, wires = row[KIND], numbers_in(row), row + HEAD
    if kind == SUPEROPERATOR:
        apply_superoperator(context, state, site, row[WIRES], wires, numbers)
    elif kind == PREPARE:
        put_amplitudes(context, state, site, row[WIRES], wires, numbers)
    elif kind == REPLACE:
        put_matrix(context, state, site, row[WIRES], wires, numbers)
    elif kind != PHASE:
        p, placed = stack_array(f64, MOST_PARAMETERS), stack_array(i64, MAX_WIRES)
        write_parameters(row, p)
        factor.numbers = room
        read_factor(state, row, p, factor, placed)
        conjugate_checked(context, state, site, placed, factor)
