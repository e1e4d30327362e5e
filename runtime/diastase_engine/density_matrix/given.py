"""Unitary operations as they were given, and their transfer matrices.

A `Given` says what a row of a tape says (`queue.tape`): a gate by its code, or a matrix or a
diagonal; wires, controls as masks of wires, numbers. `matrix_of` finds its matrix: that of a gate
on one wire from its formula, any other by applying the gate to the columns of the identity, all of
them in one small state vector. `transfer_of` makes a transfer matrix of that.

What is on more than `MOST_WIRES` wires has too large a transfer matrix. It is applied to rows and
columns of the density matrix itself (`apply_large`), which is then a state vector of twice as many
wires: the second half of them are the columns', and get the complex conjugate.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.pauli_basis import to_matrix, to_words, transfer_of_unitary
from diastase_engine.density_matrix.records import State, components
from diastase_engine.language import *
from diastase_engine.state_vector.gates.dense import unitary
from diastase_engine.state_vector.gates.diagonal import diagonal
from diastase_engine.state_vector.gates.gates import (
    FIRST_ON_WIRES,
    MOST_PARAMETERS,
    apply_gate,
    apply_on_wires,
)
from diastase_engine.state_vector.gates.matrices import base_of_controlled, single_matrix
from diastase_engine.state_vector.measure.outcomes import amplitudes
from diastase_engine.state_vector.queue.memory import allocate, state_create, state_release
from diastase_engine.state_vector.queue.queue import flush
from diastase_engine.state_vector.queue.tape import DIAGONAL, UNITARY
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    MAX_QUBITS,
    free,
    memset,
)

MOST_WIRES = 3
"""Of operations that have a transfer matrix, controls included."""


class Given(Record):
    """An operation; wires are checked."""

    kind: i64
    n_wires: i64
    wires: ptr[i64]
    controls: i64
    values: i64
    """Those of the controls, as masks of wires, that must be one."""
    count: i64
    numbers: ptr[f64]


@kernel
def wires_of(given: Given, wires: ptr[i64]) -> i64:
    """Write all wires, controls first; return how many there are."""
    count: i64 = 0
    rest: i64 = given.controls
    while rest != 0:
        wires[count] = count_trailing_zeros(rest)
        rest &= rest - 1
        count += 1
    for k in range(given.n_wires):
        wires[count + k] = given.wires[k]
    return count + given.n_wires


@kernel
def apply_given(
    context: CallContext,
    state: State,
    site: i64,
    given: Given,
    wires: ptr[i64],
    controls: ptr[i64],
    values: ptr[i64],
) -> None:
    """Apply an operation to a state vector, on other wires than it was given for."""
    n_controls = count_ones(given.controls)
    if given.kind == UNITARY:
        unitary(
            context, state, site, given.n_wires, wires, n_controls, controls, values, given.numbers
        )
        return
    if given.kind == DIAGONAL:
        diagonal(
            context, state, site, given.n_wires, wires, n_controls, controls, values, given.numbers
        )
        return
    p = stack_array(f64, MOST_PARAMETERS)
    for k in static(range(MOST_PARAMETERS)):
        p[k] = 0.0
    for k in range(given.count):
        p[k] = given.numbers[k]
    mask: i64 = 0
    value: i64 = 0
    for k in range(n_controls):
        bit = 1 << state.bit_of_wire[controls[k]]
        mask |= bit
        value |= bit if values[k] != 0 else 0
    if given.kind >= FIRST_ON_WIRES:
        apply_on_wires(
            context, state, site, given.kind, given.n_wires, wires, mask, value, p[0]
        )  # fmt: skip
    else:
        last = wires[given.n_wires - 1]
        apply_gate(
            context, state, site, given.kind, mask, value, wires[0], last, p[0], p[1], p[2]
        )  # fmt: skip


@kernel
def control_values(given: Given, values: ptr[i64]) -> None:
    """Write the values of the controls, in the order of their wires."""
    count: i64 = 0
    rest: i64 = given.controls
    while rest != 0:
        values[count] = (given.values >> count_trailing_zeros(rest)) & 1
        rest &= rest - 1
        count += 1


@kernel
def one_wire_matrix(given: Given, p: ptr[f64], one: ptr[f64]) -> i1:
    """Write the matrix of a gate on one wire, or of what a gate on two wires controls."""
    if given.kind == UNITARY:
        for k in static(range(8)):
            one[k] = given.numbers[k]
        return given.n_wires == 1
    if given.kind > UNITARY:
        return False
    base: i64 = given.kind if given.n_wires == 1 else base_of_controlled(given.kind)
    return base >= 0 and single_matrix(base, p[0], p[1], p[2], one)


@kernel
def direct_matrix(given: Given, matrix: ptr[f64]) -> i1:
    """Write the matrix of a gate on one wire, or of one with one control; false for others."""
    controls = count_ones(given.controls)
    if given.n_wires + controls > 2:
        return False
    p, one = stack_array(f64, MOST_PARAMETERS), stack_array(f64, 8)
    for k in static(range(MOST_PARAMETERS)):
        p[k] = 0.0
    if given.kind < UNITARY:
        for k in range(given.count):
            p[k] = given.numbers[k]
    if given.n_wires == 2 and given.kind >= UNITARY:
        return False
    if not one_wire_matrix(given, p, one):
        return False
    if given.n_wires == 1 and controls == 0:
        for k in static(range(8)):
            matrix[k] = one[k]
        return True
    write_controlled(one, 0 if controls == 1 and given.values == 0 else 1, matrix)
    return True


@kernel
def write_controlled(one: ptr[f64], on: i64, matrix: ptr[f64]) -> None:
    """Write a matrix on two wires: another one where the first wire is `on`."""
    memset(matrix, 0, 256)
    for k in static(range(2)):
        place = 2 * (1 - on) + k
        matrix[2 * (4 * place + place)] = 1.0
        for column in static(range(2)):
            target = 2 * (4 * (2 * on + k) + 2 * on + column)
            matrix[target] = one[4 * k + 2 * column]
            matrix[target + 1] = one[4 * k + 2 * column + 1]


@kernel
def matrix_of(context: CallContext, site: i64, given: Given, count: i64, matrix: ptr[f64]) -> None:
    """Write the matrix on all wires of an operation, `count` of them, controls first."""
    if direct_matrix(given, matrix):
        return
    columns = state_create(context, site, 2 * count)
    if is_null(columns):
        return
    size = 1 << count
    numbers = cast(columns.amplitudes, ptr[stored])
    for k in range(size):
        place = k * size + k
        numbers[2 * LANES * (place >> LANE_BITS) + (place & LANE_MASK)] = 1.0
    columns.support = -1
    wires, values = stack_array(i64, MAX_QUBITS), stack_array(i64, MAX_QUBITS)
    for k in range(count):
        wires[k] = k
    control_values(given, values)
    controls = count_ones(given.controls)
    apply_given(context, columns, site, given, wires + controls, wires, values)
    found = allocate(context, site, 16 * size * size)
    if not is_null(found):
        amplitudes(context, columns, cast(found, ptr[stored]))
        for k in range(2 * size * size):
            matrix[k] = cast(found, ptr[stored])[k]
        free(found)
    state_release(context, columns)


@kernel
def transfer_of(context: CallContext, site: i64, given: Given, count: i64, out: ptr[f64]) -> None:
    """Write the transfer matrix of an operation on `count` wires, at most `MOST_WIRES`."""
    matrix = stack_array(f64, 2 << (2 * MOST_WIRES))
    scratch = stack_array(f64, 4 << (2 * MOST_WIRES))
    matrix_of(context, site, given, count, matrix)
    if context.code == 0:
        transfer_of_unitary(count, matrix, scratch, out)


# --- on the density matrix itself -----------------------------------------------------------------


@kernel
def conjugate(doubled: State) -> None:
    """Conjugate all amplitudes."""
    for block in range(doubled.blocks):
        doubled.amplitudes[2 * block + 1] = -doubled.amplitudes[2 * block + 1]


@kernel
def as_state_vector(context: CallContext, state: State, site: i64) -> State:
    """The density matrix as a state vector: rows' wires, columns' wires, derivative wires."""
    wires, derivatives = state.qubits, state.derivative_wires
    doubled = state_create(context, site, 2 * wires + derivatives)
    if is_null(doubled):
        return doubled
    count = 1 << (2 * wires)
    memory = allocate(context, site, 16 * count)
    if is_null(memory):
        state_release(context, doubled)
        return null(State)
    numbers = cast(doubled.amplitudes, ptr[stored])
    for part in range(1 << derivatives):
        for word in range(count):
            memory[2 * word] = components(state)[part * count + word]
            memory[2 * word + 1] = 0.0
        to_matrix(wires, memory)
        for word in range(count):
            place = place_of_element(state, word, part)
            target = 2 * LANES * (place >> LANE_BITS) + (place & LANE_MASK)
            numbers[target], numbers[target + LANES] = memory[2 * word], memory[2 * word + 1]
    free(memory)
    doubled.support = -1
    return doubled


@kernel
def place_of_element(state: State, word: i64, part: i64) -> i64:
    """Where an element of the density matrix lies in the state vector."""
    wires = state.qubits
    row: i64 = 0
    column: i64 = 0
    for wire in range(wires):
        bit = state.bit_of_wire[wire]
        row |= ((word >> (bit + 1)) & 1) << (wires - 1 - wire)
        column |= ((word >> bit) & 1) << (wires - 1 - wire)
    return (((row << wires) | column) << state.derivative_wires) | part


@kernel
def from_state_vector(context: CallContext, state: State, site: i64, doubled: State) -> None:
    """Take the components over from a state vector in the order of its wires."""
    wires, derivatives = state.qubits, state.derivative_wires
    count = 1 << (2 * wires)
    most = 16 * count << derivatives
    found = allocate(context, site, most)
    if is_null(found):
        return
    memory = allocate(context, site, 16 * count)
    if not is_null(memory):
        amplitudes(context, doubled, cast(found, ptr[stored]))
        numbers = cast(found, ptr[stored])
        for part in range(1 << derivatives):
            for word in range(count):
                place = place_of_element(state, word, part)
                memory[2 * word], memory[2 * word + 1] = numbers[2 * place], numbers[2 * place + 1]
            to_words(wires, memory)
            for word in range(count):
                components(state)[part * count + word] = memory[2 * word]
        free(memory)
    free(found)


@kernel
def apply_large(
    context: CallContext, state: State, site: i64, given: Given, wires: ptr[i64]
) -> None:
    """Apply an operation on many wires to a state in which nothing waits."""
    doubled = as_state_vector(context, state, site)
    if is_null(doubled):
        return
    own, values = stack_array(i64, MAX_QUBITS), stack_array(i64, MAX_QUBITS)
    control_values(given, values)
    controls = count_ones(given.controls)
    apply_given(context, doubled, site, given, wires + controls, wires, values)
    flush(doubled)
    conjugate(doubled)
    for k in range(controls + given.n_wires):
        own[k] = wires[k] + state.qubits
    apply_given(context, doubled, site, given, own + controls, own, values)
    flush(doubled)
    conjugate(doubled)
    from_state_vector(context, state, site, doubled)
    state_release(context, doubled)
