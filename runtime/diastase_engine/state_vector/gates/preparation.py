"""Amplitudes written: into wires that are in |0...0>, or all of them."""

from diastase_engine.call_context import CallContext
from diastase_engine.language import cast, f64, i64, is_null, kernel, ptr, stored
from diastase_engine.state_vector.queue.queue import flush, forget_waiting
from diastase_engine.state_vector.queue.tape import PREPARE, keep_array
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, LANES, State
from diastase_engine.state_vector.state.wires import mask_of


@kernel
def place_of(state: State, n_wires: i64, wires: ptr[i64], index: i64, rest: i64) -> i64:
    """Return `rest` with the bits of `index` on checked wires, the first one most significant."""
    place: i64 = rest
    for position in range(n_wires):
        if (index >> (n_wires - 1 - position)) & 1 == 1:
            place |= 1 << state.bit_of_wire[wires[position]]
    return place


@kernel
def prepare(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    amplitudes: ptr[f64],
) -> None:
    """Multiply each amplitude whose wires are zero into those of all their values.

    Amplitudes whose wires are not zero, of which there must be none, are overwritten.
    """
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_wires, wires, 0)
    if mask < 0:
        return
    if not is_null(state.tape):
        keep_array(context, state, site, PREPARE, n_wires, wires, 0, 0, amplitudes)
    flush(state)
    numbers = cast(state.amplitudes, ptr[stored])
    for rest in range(1 << state.qubits):
        origin = 2 * LANES * (rest >> LANE_BITS) + (rest & LANE_MASK)
        x, y = numbers[origin], numbers[origin + LANES]
        if rest & mask == 0 and (x != 0.0 or y != 0.0):
            for index in range(1 << n_wires):
                place = place_of(state, n_wires, wires, index, rest)
                target = 2 * LANES * (place >> LANE_BITS) + (place & LANE_MASK)
                a, b = amplitudes[2 * index], amplitudes[2 * index + 1]
                numbers[target] = x * a - y * b
                numbers[target + LANES] = x * b + y * a


@kernel
def set_amplitudes(context: CallContext, state: State, amplitudes: ptr[f64]) -> None:
    """Give a state these amplitudes, wire 0 most significant, whatever they were."""
    if cannot_run(context, state):
        return
    forget_waiting(state)
    state.support, state.spoilt = -1, 0
    for wire in range(state.qubits):
        state.bit_of_wire[wire] = state.qubits - 1 - wire
    numbers = cast(state.amplitudes, ptr[stored])
    for index in range(1 << state.qubits):
        target = 2 * LANES * (index >> LANE_BITS) + (index & LANE_MASK)
        numbers[target] = amplitudes[2 * index]
        numbers[target + LANES] = amplitudes[2 * index + 1]
