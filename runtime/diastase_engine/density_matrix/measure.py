"""Probabilities, elements, outcomes and samples of density matrices.

A probability is a sum of components that have only I and Z, with signs: a Walsh-Hadamard transform
of as many of them as there are outcomes.
"""

from diastase_engine.call_context import IMPOSSIBLE_POSTSELECTION, CallContext, fail
from diastase_engine.density_matrix.pauli_basis import to_matrix, word_of_element
from diastase_engine.density_matrix.queue import flush, push_one
from diastase_engine.density_matrix.records import ONE_WIRE, State, components
from diastase_engine.language import *
from diastase_engine.state_vector.measure import samples
from diastase_engine.state_vector.measure.outcome_scripts import scripted_outcome
from diastase_engine.state_vector.measure.outcomes import draw
from diastase_engine.state_vector.queue.memory import allocate, state_create, state_release
from diastase_engine.state_vector.state.checks import (
    bit_of,
    cannot_run,
    is_drawable,
    mask_of,
)
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    MAX_QUBITS,
    SINGLE,
    free,
    memset,
)

ROUNDING = derived(lambda single: 1e-6 if single else 1e-14, SINGLE)
"""Probabilities, sums of numbers up to 1, that are smaller are rounding errors."""


@kernel
def all_wires(state: State, count: i64, wires: ptr[i64], chosen: ptr[i64]) -> i64:
    """Write these wires, or all where there are none; return how many there are."""
    if count == 0:
        for wire in range(state.qubits):
            chosen[wire] = wire
        return state.qubits
    for k in range(count):
        chosen[k] = wires[k]
    return count


@kernel
def word_at(state: State, count: i64, wires: ptr[i64], x: i64, z: i64) -> i64:
    """The component of a word, given by masks in which the last wire is bit 0."""
    found: i64 = 0
    for k in range(count):
        bit = state.bit_of_wire[wires[count - 1 - k]]
        found |= ((x >> k) & 1) << bit
        found |= ((z >> k) & 1) << (bit + 1)
    return found


@kernel
def write_probabilities(state: State, count: i64, wires: ptr[i64], out: ptr[f64]) -> None:
    """Write probabilities of the outcomes on some wires, the first one most significant."""
    for k in range(1 << count):
        out[k] = components(state)[word_at(state, count, wires, 0, k)]
    for bit in range(count):
        step = 1 << bit
        for k in range(1 << count):
            if k & step == 0:
                a, b = out[k], out[k + step]
                out[k], out[k + step] = 0.5 * (a + b), 0.5 * (a - b)


@kernel
def probabilities(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Probabilities of the outcomes on some wires in their order; of all wires where none."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    flush(state)
    chosen = stack_array(i64, MAX_QUBITS)
    write_probabilities(state, all_wires(state, n_wires, wires, chosen), chosen, out)


@kernel
def elements_of(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64]
) -> ptr[f64]:
    """The elements of the reduced density matrix where `to_matrix` leaves them, or null."""
    memory = allocate(context, site, 16 << (2 * count))
    if is_null(memory):
        return memory
    for word in range(1 << (2 * count)):
        index: i64 = 0
        for k in range(count):
            index |= ((word >> (2 * k)) & 3) << state.bit_of_wire[wires[count - 1 - k]]
        memory[2 * word], memory[2 * word + 1] = components(state)[index], 0.0
    to_matrix(count, memory)
    return memory


@kernel
def density_matrix(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Write the density matrix of some wires, row-major, the others traced out."""
    if cannot_run(context, state) or mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    flush(state)
    memory = elements_of(context, state, site, n_wires, wires)
    if is_null(memory):
        return
    size = 1 << n_wires
    for row in range(size):
        for column in range(size):
            place = 2 * word_of_element(row, column, n_wires)
            target = 2 * (row * size + column)
            out[target], out[target + 1] = memory[place], memory[place + 1]
    free(memory)


@kernel
def amplitudes(context: CallContext, state: State, out: ptr[stored]) -> None:
    """The density matrix of all wires, row-major, wire 0 most significant."""
    if cannot_run(context, state):
        return
    flush(state)
    wires = stack_array(i64, MAX_QUBITS)
    count = all_wires(state, 0, wires, wires)
    memory = elements_of(context, state, -1, count, wires)
    if is_null(memory):
        return
    size = 1 << count
    for row in range(size):
        for column in range(size):
            place = 2 * word_of_element(row, column, count)
            target = 2 * (row * size + column)
            out[target], out[target + 1] = memory[place], memory[place + 1]
    free(memory)


@kernel
def push_collapse(state: State, bit: i64, outcome: i64, reset: i64, weight: f64) -> None:
    """Queue the projection on an outcome, normalised; `reset` then moves it to 0."""
    matrix = stack_array(f64, ONE_WIRE)
    memset(matrix, 0, 8 * ONE_WIRE)
    sign = 1.0 - 2.0 * to_float(outcome)
    scale = 0.5 / weight
    after = 1.0 if reset != 0 else sign
    # Rows and columns 0 and 2 are I and Z.
    matrix[0], matrix[2] = scale, sign * scale
    matrix[8], matrix[10] = after * scale, after * sign * scale
    push_one(state, bit, matrix)


@kernel
def measure(
    context: CallContext, state: State, site: i64, wire: i64, reset: i64, postselect: i64
) -> i64:
    """Measure a wire in the computational basis: the outcome, and the state collapses."""
    if cannot_run(context, state):
        return 0
    bit = bit_of(context, state, site, wire)
    if bit < 0:
        return 0
    flush(state)
    weights = stack_array(f64, 2)
    total, difference = components(state)[0], components(state)[2 << bit]
    outcome: i64 = 0
    if not is_drawable(context, site, total + difference):
        return outcome
    # What rounding leaves of an impossible outcome may be negative.
    weights[0] = 0.5 * (total + difference) if total + difference > 0.0 else 0.0
    weights[1] = 0.5 * (total - difference) if total - difference > 0.0 else 0.0
    if not is_null(state.script):
        outcome = scripted_outcome(context, state, site, wire, weights, postselect)
    elif postselect < 0:
        outcome = draw(context, weights)
    else:
        outcome = postselect & 1
        if not weights[outcome] > ROUNDING * (weights[0] + weights[1]):
            fail(context, IMPOSSIBLE_POSTSELECTION, site, wire, outcome)
            return outcome
    push_collapse(state, bit, outcome, reset, weights[outcome])
    return outcome


@kernel
def sample(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    shots: i64,
    out: ptr[i64],
) -> None:
    """Draw outcomes on some wires, which may repeat; of all wires where none are given."""
    if shots > 0:
        memset(cast(out, ptr[f64]), 0, 8 * shots)
    if cannot_run(context, state):
        return
    flush(state)
    # A state vector with the same probabilities.
    pure = state_create(context, site, state.qubits)
    if is_null(pure):
        return
    memory = allocate(context, site, 8 << state.qubits)
    if not is_null(memory):
        chosen = stack_array(i64, MAX_QUBITS)
        write_probabilities(state, all_wires(state, 0, chosen, chosen), chosen, memory)
        numbers = cast(pure.amplitudes, ptr[stored])
        for k in range(1 << state.qubits):
            target = 2 * LANES * (k >> LANE_BITS) + (k & LANE_MASK)
            # NaN stays what it is, and is refused where it is drawn from.
            numbers[target] = 0.0 if memory[k] < ROUNDING else square_root(memory[k])
        pure.support = -1
        free(memory)
        samples.sample(context, pure, site, n_wires, wires, shots, out)
    state_release(context, pure)
