"""Wires that get a state of their own: a density matrix, or the amplitudes of a pure one.

What was on these wires is traced out: of all components those remain that have I there, and each of
them times the components of the new state.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.observables import component_of, operator_words
from diastase_engine.density_matrix.queue import flush, spoil
from diastase_engine.density_matrix.records import State, components, index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import PREPARE, Tape, keep
from diastase_engine.state_vector.state.checks import all_are_numbers, cannot_run, mask_of
from diastase_engine.state_vector.state.records import free

REPLACE = (1 << 10) + 17
"""The kind of a row of a tape; `PREPARE` is that of state vectors."""


@kernel
def digits_of(state: State, count: i64, wires: ptr[i64]) -> i64:
    """The index bits of some wires, as a mask."""
    found: i64 = 0
    for k in range(count):
        found |= 3 << state.bit_of_wire[wires[k]]
    return found


@kernel
def put_words(state: State, count: i64, wires: ptr[i64], words: ptr[f64]) -> None:
    """Give wires a state of these (complex) components."""
    fixed = digits_of(state, count, wires)
    numbers = components(state)
    base: i64 = 0
    for _ in range((1 << index_bits(state)) >> (2 * count)):
        kept = numbers[base]
        for word in range(1 << (2 * count)):
            numbers[base | component_of(state, count, wires, word)] = kept * words[2 * word]
        base = ((base | fixed) + 1) & ~fixed


@kernel
def keep_state(
    context: CallContext, state: State, site: i64, kind: i64, n_wires: i64, wires: ptr[i64],
    count: i64, numbers: ptr[f64],
) -> None:  # fmt: skip
    """Keep a preparation on the tape, if there is one."""
    if is_null(state.tape):
        return
    tape = cast(state.tape, Tape)
    derivatives: i64 = count if tape.differentiated != 0 else 0
    tape.differentiated = 0
    keep(context, state, site, kind, n_wires, wires, 0, 0, count, numbers, derivatives)


@kernel
def put_matrix(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Give (checked) wires a density matrix."""
    if state.spoilt != 0:
        return
    if not all_are_numbers(2 << (2 * n_wires), matrix):
        spoil(state)
        return
    flush(state)
    words = operator_words(context, site, n_wires, matrix)
    if not is_null(words):
        put_words(state, n_wires, wires, words)
        free(words)


@kernel
def projector(size: i64, amplitudes: ptr[f64], matrix: ptr[f64]) -> None:
    """Write the density matrix of a pure state."""
    for row in range(size):
        a, b = amplitudes[2 * row], amplitudes[2 * row + 1]
        for column in range(size):
            c, d = amplitudes[2 * column], amplitudes[2 * column + 1]
            place = 2 * (row * size + column)
            matrix[place], matrix[place + 1] = a * c + b * d, b * c - a * d


@kernel
def put_amplitudes(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], numbers: ptr[f64]
) -> None:
    """Give (checked) wires a pure state."""
    size = 1 << n_wires
    matrix = allocate(context, site, 16 * size * size)
    if is_null(matrix):
        return
    projector(size, numbers, matrix)
    put_matrix(context, state, site, n_wires, wires, matrix)
    free(matrix)


@kernel
def replace(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Trace wires out, and give them a density matrix, row-major."""
    if cannot_run(context, state) or mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    keep_state(context, state, site, REPLACE, n_wires, wires, 2 << (2 * n_wires), matrix)
    put_matrix(context, state, site, n_wires, wires, matrix)


@kernel
def prepare(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64],
    amplitudes: ptr[f64],
) -> None:  # fmt: skip
    """Trace wires out, and give them these amplitudes, the first wire most significant."""
    if cannot_run(context, state) or mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    keep_state(context, state, site, PREPARE, n_wires, wires, 2 << n_wires, amplitudes)
    put_amplitudes(context, state, site, n_wires, wires, amplitudes)
