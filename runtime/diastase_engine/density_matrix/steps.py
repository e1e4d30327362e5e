"""What is on a tape as the steps of a sweep back: rows on one wire that follow each other are one.

A *step* is a matrix on a few index bits, or what has none that is small enough; it knows its rows,
and where the wires were when it was executed. The numbers of rows, in the order of the tape, are
those of `first_of`, `derivative_of` and `after` in `Steps`.
"""

from typing import Annotated

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.gates import SUPEROPERATOR, SWAP
from diastase_engine.density_matrix.given import Given, transfer_of, wires_of
from diastase_engine.density_matrix.preparations import REPLACE
from diastase_engine.density_matrix.queue import multiply_single
from diastase_engine.density_matrix.records import ONE_WIRE, State
from diastase_engine.density_matrix.superoperators import (
    MOST_MATRIX_BITS,
    inner_matrix,
    places_of,
)
from diastase_engine.density_matrix.transfer import MOST_BITS
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import (
    DERIVATIVES,
    HEAD,
    KIND,
    MASK,
    NUMBERS,
    PHASE,
    PREPARE,
    VALUE,
    WIRES,
    Tape,
)
from diastase_engine.state_vector.state.records import MAX_QUBITS

MATRIX, UNITARY_STEP, TRANSFER, STATE = range(4)
"""A small matrix; a unitary on many wires; a transfer matrix on many bits; a preparation."""


class Step(Record):
    """One step."""

    kind: i64
    count: i64
    """Its index bits, if it has a matrix."""
    bits: Annotated[ptr[i64], MOST_MATRIX_BITS]
    matrix: ptr[f64]
    """Where it is small."""
    row: i64
    """The number of its first row; `last` is that of its last one."""
    last: i64
    wants: i64
    """Whether some row has derivatives."""
    bit_of_wire: Annotated[ptr[i64], MAX_QUBITS]


class Steps(Record):
    """All steps, and the rows that they are of."""

    steps: ptr[Step]
    count: i64
    rows: ptr[i64]
    """The tape."""
    first_of: ptr[i64]
    """Where a row begins, in words."""
    derivative_of: ptr[i64]
    """The place of its first derivative among all."""
    after: ptr[i64]
    """The number of the next row of the same step, or -1."""
    memory: ptr[f64]


@inline
def words_of(row: ptr[i64]) -> i64:
    """How long a row is."""
    return HEAD + row[WIRES] + row[NUMBERS] + 1


@kernel
def given_of(row: ptr[i64], given: Given) -> None:
    """A row as an operation."""
    given.kind, given.n_wires, given.wires = row[KIND], row[WIRES], row + HEAD
    given.controls, given.values = row[MASK], row[VALUE]
    given.count, given.numbers = row[NUMBERS], numbers_of(row)


@inline
def numbers_of(row: ptr[i64]) -> ptr[f64]:
    """The numbers of a row."""
    return cast(row + HEAD + row[WIRES], ptr[f64])


@inline
def row_of(steps: Steps, number: i64) -> ptr[i64]:
    """A row by its number."""
    return steps.rows + steps.first_of[number]


@kernel
def matrix_bits(state: State, row: ptr[i64]) -> i64:
    """How many index bits a row's transfer matrix has; those of a preparation are none."""
    if row[KIND] == PREPARE or row[KIND] == REPLACE or row[KIND] == PHASE:
        return 0
    if row[KIND] != SUPEROPERATOR:
        return 2 * (row[WIRES] + count_ones(row[MASK]))
    found: i64 = 0
    for k in range(row[WIRES]):
        found += 2 if row[HEAD + k] < state.qubits else 1
    return found


@kernel
def find_steps(context: CallContext, state: State, site: i64, tape: Tape, steps: Steps) -> i1:
    """Find all steps of a tape; the memory of `steps` is to be freed. False after an error."""
    count: i64 = 0
    numbers: i64 = 0
    word: i64 = 0
    while word < tape.used:
        row = tape.rows + word
        bits = matrix_bits(state, row)
        numbers += 1 << (2 * bits) if bits <= MOST_BITS else 0
        word += words_of(row)
        count += 1
    size = count * (24 + size_of(Step)) + 8 * numbers + 64
    steps.memory = allocate(context, site, size)
    if is_null(steps.memory):
        return False
    steps.rows, steps.count = tape.rows, 0
    steps.first_of = cast(steps.memory, ptr[i64])
    steps.derivative_of, steps.after = steps.first_of + count, steps.first_of + 2 * count
    steps.steps = cast(steps.first_of + 3 * count, ptr[Step])
    matrices = cast(steps.steps + count, ptr[f64])
    open_steps = stack_array(i64, MAX_QUBITS)
    for wire in range(state.qubits):
        open_steps[wire] = -1
        state.bit_of_wire[wire] = 2 * (state.qubits - 1 - wire)
    word = 0
    derivative: i64 = 0
    for number in range(count):
        row = tape.rows + word
        steps.first_of[number], steps.derivative_of[number] = word, derivative
        steps.after[number] = -1
        matrices = add_row(context, state, site, steps, number, open_steps, matrices)
        word += words_of(row)
        derivative += row[DERIVATIVES]
    return context.code == 0


@kernel
def single_wire(state: State, row: ptr[i64], bits: i64) -> i64:
    """The wire of a row that is on one wire alone, or -1."""
    if bits != 2 or row[WIRES] != 1 or row[HEAD] >= state.qubits:
        return -1
    return row[HEAD]


@kernel
def add_row(
    context: CallContext, state: State, site: i64, steps: Steps, number: i64,
    open_steps: ptr[i64], matrices: ptr[f64],
) -> ptr[f64]:  # fmt: skip
    """Add a row to its step, or a step; return where the next matrix may be."""
    row = row_of(steps, number)
    if row[KIND] == PHASE:
        return matrices
    if row[KIND] == SWAP and row[MASK] == 0:
        exchange(state.bit_of_wire, row[HEAD], row[HEAD + 1])
        exchange(open_steps, row[HEAD], row[HEAD + 1])
        return matrices
    bits = matrix_bits(state, row)
    wire = single_wire(state, row, bits)
    if wire >= 0 and open_steps[wire] >= 0:
        add_to_step(context, state, site, steps, number, steps.steps[open_steps[wire]])
        return matrices
    step = steps.steps[steps.count]
    step.row, step.last, step.count, step.kind = number, number, bits, kind_of(row, bits)
    step.wants = 1 if row[DERIVATIVES] > 0 else 0
    for k in range(state.qubits + state.derivative_wires):
        step.bit_of_wire[k] = state.bit_of_wire[k]
    close_steps(state, row, open_steps)
    steps.count += 1
    if step.kind == MATRIX or step.kind == TRANSFER:
        bits_of_row(context, state, site, row, step.bits)
    if step.kind != MATRIX:
        return matrices
    if wire >= 0:
        open_steps[wire] = steps.count - 1
    step.matrix = matrices
    matrix_of_row(context, state, site, row, bits, step.matrix)
    return matrices + (1 << (2 * bits))


@kernel
def add_to_step(
    context: CallContext, state: State, site: i64, steps: Steps, number: i64, step: Step
) -> None:
    """Add a row on one wire to the step of those before it."""
    row = row_of(steps, number)
    matrix = stack_array(f64, ONE_WIRE)
    matrix_of_row(context, state, site, row, 2, matrix)
    multiply_single(matrix, step.matrix)
    steps.after[step.last] = number
    step.last = number
    step.wants = step.wants | (1 if row[DERIVATIVES] > 0 else 0)


@kernel
def close_steps(state: State, row: ptr[i64], open_steps: ptr[i64]) -> None:
    """Nothing more belongs to the steps on the wires of a row."""
    for k in range(row[WIRES]):
        if row[HEAD + k] < state.qubits:
            open_steps[row[HEAD + k]] = -1
    for k in range(state.qubits):
        if (row[MASK] >> k) & 1 == 1:
            open_steps[k] = -1


@kernel
def kind_of(row: ptr[i64], bits: i64) -> i64:
    """The kind of a row's step."""
    if row[KIND] == PREPARE or row[KIND] == REPLACE:
        return STATE
    if bits <= MOST_BITS:
        return MATRIX
    return TRANSFER if row[KIND] == SUPEROPERATOR else UNITARY_STEP


@kernel
def exchange(numbers: ptr[i64], first: i64, second: i64) -> None:
    """Exchange two numbers."""
    kept = numbers[first]
    numbers[first] = numbers[second]
    numbers[second] = kept


@kernel
def bits_of_row(
    context: CallContext, state: State, site: i64, row: ptr[i64], bits: ptr[i64]
) -> None:
    """Write the index bits of a row's matrix: of all its wires, controls first."""
    wires = stack_array(i64, MAX_QUBITS)
    given = stack_record(Given)
    given_of(row, given)
    places_of(context, state, site, wires_of(given, wires), wires, bits)


@kernel
def matrix_of_row(
    context: CallContext, state: State, site: i64, row: ptr[i64], bits: i64, matrix: ptr[f64]
) -> None:
    """Write the transfer matrix of a row, in our order of digits."""
    if row[KIND] == SUPEROPERATOR:
        inner_matrix(state, row[WIRES], row + HEAD, bits, numbers_of(row), matrix)
        return
    given = stack_record(Given)
    given_of(row, given)
    transfer_of(context, site, given, bits >> 1, matrix)
