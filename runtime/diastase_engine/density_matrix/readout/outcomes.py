"""Probabilities, samples, and measurement with collapse.

Probabilities are sums of words of I and Z: what a Walsh-Hadamard transform makes of their numbers.
Rounding leaves 1e-16 of the trace where a probability is zero, so outcomes that are less likely
than `IMPOSSIBLE` count as impossible.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.apply import apply_transfer, flush
from diastase_engine.density_matrix.state.digits import MAX_WIRES, digit_shift
from diastase_engine.language import *
from diastase_engine.state_vector.measure.outcomes import choose_outcome
from diastase_engine.state_vector.measure.samples import can_sample, draw_outcomes
from diastase_engine.state_vector.queue.memory import allocate, allocate_state, state_release
from diastase_engine.state_vector.state.checks import bit_of, cannot_run, mask_of
from diastase_engine.state_vector.state.records import (
    BLOCK_BYTES,
    LANE_BITS,
    LANE_MASK,
    LANES,
    SINGLE,
    State,
    free,
    memset,
)
from diastase_runtime.abi import MAX_SAMPLED_WIRES

IMPOSSIBLE = derived(lambda single: 1e-6 if single else 1e-14, SINGLE)


@kernel
def transform(count: i64, values: ptr[f64]) -> None:
    """Walsh and Hadamard, in place: 2^count sums with the signs of Z on each wire."""
    for bit in range(count):
        stride = 1 << bit
        place: i64 = 0
        for _ in range(1 << (count - 1)):
            a, b = values[place], values[place | stride]
            values[place], values[place | stride] = a + b, a - b
            place = ((place | stride) + 1) & ~stride


@kernel
def place_of_signs(state: State, count: i64, wires: ptr[i64], signs: i64) -> i64:
    """Index of the word that is Z on some of these wires (first: most significant bit)."""
    place: i64 = 0
    for k in range(count):
        if (signs >> (count - 1 - k)) & 1 == 1:
            place |= 3 << digit_shift(state, wires[k])
    return place


@kernel
def write_probabilities(state: State, count: i64, wires: ptr[i64], out: ptr[f64]) -> None:
    """Probabilities of all outcomes of checked wires."""
    flush(state)
    numbers = cast(state.amplitudes, ptr[stored])
    scale = 1.0 / to_float(1 << count)
    for signs in range(1 << count):
        out[signs] = scale * numbers[place_of_signs(state, count, wires, signs)]
    transform(count, out)


@inline
def all_wires(state: State) -> ptr[i64]:
    """All wires, in order."""
    wires = stack_array(i64, MAX_WIRES)
    for wire in range(state.qubits):
        wires[wire] = wire
    return wires


@kernel
def probabilities(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Probabilities of the outcomes on some wires in their order; of all wires where none."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    if n_wires != 0:
        write_probabilities(state, n_wires, wires, out)
    else:
        write_probabilities(state, state.qubits, all_wires(state), out)


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
    """Draw outcomes on some wires; of all wires where none are given."""
    bits = stack_array(i64, MAX_SAMPLED_WIRES)
    if not can_sample(context, state, site, n_wires, wires, shots, shots, bits, out):
        return
    weights = allocate(context, site, 8 << state.qubits)
    if is_null(weights):
        return
    write_probabilities(state, state.qubits, all_wires(state), weights)
    pure = allocate_state(context, site, state.qubits)
    if not is_null(pure):
        write_roots(state, weights, pure)
        draw_outcomes(context, pure, site, n_wires, bits, shots, out)
        state_release(context, pure)
    free(weights)


@kernel
def write_roots(state: State, weights: ptr[f64], pure: State) -> None:
    """Make a state vector with these probabilities, in which negative ones are zero."""
    memset(cast(pure.amplitudes, ptr[f64]), 0, pure.blocks * BLOCK_BYTES)
    numbers = cast(pure.amplitudes, ptr[stored])
    for wire in range(state.qubits):
        pure.bit_of_wire[wire] = state.bit_of_wire[wire]
    for index in range(1 << state.qubits):
        place = 2 * LANES * (index >> LANE_BITS) + (index & LANE_MASK)
        weight = weights[index]
        if weight < 0.0:
            weight = 0.0
        numbers[place] = square_root(weight)


@kernel
def outcome_weights(state: State, wire: i64, weights: ptr[f64]) -> None:
    """Write the probabilities of 0 and 1."""
    numbers = cast(state.amplitudes, ptr[stored])
    trace, z = numbers[0], numbers[3 << digit_shift(state, wire)]
    for outcome in static(range(2)):
        weight: f64 = 0.5 * (trace + z) if outcome == 0 else 0.5 * (trace - z)
        if weight <= IMPOSSIBLE * trace:
            weight = 0.0
        weights[outcome] = weight


@kernel
def collapse(
    context: CallContext,
    state: State,
    site: i64,
    wire: i64,
    outcome: i64,
    reset: i64,
    weight: f64,
) -> None:
    """Project on an outcome, normalised; `reset` then moves it to 0."""
    matrix, wires = stack_array(f64, 16), stack_array(i64, 1)
    for k in static(range(16)):
        matrix[k] = 0.0
    sign = 1.0 if outcome == 0 else -1.0
    after = 1.0 if reset != 0 else sign
    part = 0.5 / weight
    matrix[0], matrix[3] = part, sign * part
    matrix[12], matrix[15] = after * part, after * sign * part
    wires[0] = wire
    apply_transfer(context, state, site, 1, wires, matrix)


@kernel
def measure(
    context: CallContext, state: State, site: i64, wire: i64, reset: i64, postselect: i64
) -> i64:
    """Measure a wire in the computational basis: the outcome, and the state collapses."""
    if cannot_run(context, state):
        return 0
    if bit_of(context, state, site, wire) < 0:
        return 0
    flush(state)
    weights = stack_array(f64, 2)
    outcome_weights(state, wire, weights)
    outcome = choose_outcome(context, state, site, wire, weights, postselect)
    if context.code != 0:
        return 0
    collapse(context, state, site, wire, outcome, reset, weights[outcome])
    return outcome
