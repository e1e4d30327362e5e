"""Density matrices made and copied; halves of those with derivative wires.

They are released as state vectors are, and refused by their size as these are.
"""

from diastase_engine.call_context import NEGATIVE_QUBITS, TOO_MANY_QUBITS, CallContext, fail
from diastase_engine.density_matrix.queue import flush, forget_waiting
from diastase_engine.density_matrix.records import MAX_WIRES, State, components, index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate_state
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.parallel import clear, write_bulk
from diastase_engine.state_vector.state.records import BLOCK_BYTES, LANE_BITS


@kernel
def allocate_components(
    context: CallContext, site: i64, wires: i64, derivative_wires: i64
) -> State:
    """A handle with an empty queue and unset components, or an error and null."""
    bits = 2 * wires + derivative_wires
    # A vector of complex numbers has twice as many numbers as amplitudes.
    state = allocate_state(context, site, bits - 1)
    if is_null(state):
        return state
    state.qubits, state.derivative_wires = wires, derivative_wires
    for wire in range(wires):
        state.bit_of_wire[wire] = 2 * (wires - 1 - wire)
    for k in range(derivative_wires):
        state.bit_of_wire[wires + k] = bits - 1 - k
    forget_waiting(state)
    return state


@kernel
def zero_words(state: State) -> i64:
    """The index bits that are z bits of digits, as a mask."""
    found: i64 = 0
    for wire in range(state.qubits):
        found |= 2 << (2 * wire)
    return found


@kernel
def set_start(state: State) -> None:
    """Write |0...0><0...0|."""
    clear(cast(state.amplitudes, ptr[f64]), state.blocks * BLOCK_BYTES)
    fixed = ~zero_words(state)
    word: i64 = 0
    for _ in range(1 << state.qubits):
        components(state)[word] = 1.0
        word = ((word | fixed) + 1) & ~fixed


@kernel
def state_create(context: CallContext, site: i64, wires: i64, derivative_wires: i64) -> State:
    """Make |0...0><0...0|, or an error and null."""
    if context.code != 0:
        return null(State)
    if wires < 0:
        fail(context, NEGATIVE_QUBITS, site, wires, 0)
        return null(State)
    if wires >= MAX_WIRES or 2 * wires + derivative_wires >= 2 * MAX_WIRES:
        fail(context, TOO_MANY_QUBITS, site, wires, 0)
        return null(State)
    state = allocate_components(context, site, wires, derivative_wires)
    if is_null(state):
        return state
    set_start(state)
    return state


@kernel
def state_copy(context: CallContext, state: State, site: i64) -> State:
    """Make a second state equal to the first, or null."""
    if cannot_run(context, state):
        return null(State)
    flush(state)
    copy = allocate_components(context, site, state.qubits, state.derivative_wires)
    if is_null(copy):
        return copy
    for wire in range(state.qubits + state.derivative_wires):
        copy.bit_of_wire[wire] = state.bit_of_wire[wire]
    copy.spoilt = state.spoilt
    size = state.blocks * BLOCK_BYTES
    write_bulk(cast(copy.amplitudes, ptr[f64]), cast(state.amplitudes, ptr[f64]), size)
    return copy


@kernel
def half(context: CallContext, state: State, site: i64, which: i64) -> State:
    """A new state of the components in which the first derivative wire is `which`."""
    if cannot_run(context, state):
        return null(State)
    flush(state)
    copy = allocate_components(context, site, state.qubits, state.derivative_wires - 1)
    if is_null(copy):
        return copy
    for wire in range(state.qubits):
        copy.bit_of_wire[wire] = state.bit_of_wire[wire]
    copy.spoilt = state.spoilt
    bits = index_bits(copy)
    source = components(state) + (which << bits)
    if bits > LANE_BITS:
        size = copy.blocks * BLOCK_BYTES
        write_bulk(cast(copy.amplitudes, ptr[f64]), cast(source, ptr[f64]), size)
        return copy
    clear(cast(copy.amplitudes, ptr[f64]), copy.blocks * BLOCK_BYTES)
    for k in range(1 << bits):
        components(copy)[k] = source[k]
    return copy


@kernel
def state_zero(context: CallContext, state: State) -> None:
    """Set all components to zero."""
    if cannot_run(context, state):
        return
    forget_waiting(state)
    state.spoilt = 0
    clear(cast(state.amplitudes, ptr[f64]), state.blocks * BLOCK_BYTES)


@kernel
def num_qubits(context: CallContext, state: State) -> i64:
    """Return the number of wires of a state, without derivative wires."""
    if is_null(state):
        return 0
    return state.qubits


@kernel
def work_done(context: CallContext, state: State, done: ptr[i64]) -> None:
    """Write how many matrices were pushed and applied, and in how many walks."""
    if cannot_run(context, state):
        return
    flush(state)
    done[0], done[1], done[2] = state.gates, state.applied, state.stages
