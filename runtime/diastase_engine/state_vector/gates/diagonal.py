"""Any diagonal matrix on some wires, with controls: each amplitude times its element.

On few wires it is operations of the queue: a diagonal on the last wire for each setting of the
others (one operation serves both settings of one other wire). A larger one is applied at once: by
a GPU where there is one (`device.diagonals`), and on the host a block at a time, as the row of an
amplitude is that of its block and that of its lane.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.device.diagonals import diagonal_there
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.measure.outcomes import lane_places
from diastase_engine.state_vector.queue.queue import (
    apply_waiting,
    flush,
    push_selected,
    push_single,
    spoil,
)
from diastase_engine.state_vector.queue.tape import DIAGONAL, keep_array
from diastase_engine.state_vector.state.checks import (
    all_are_numbers,
    bits_of,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    MAX_QUBITS,
    State,
)
from diastase_engine.state_vector.state.small_matrices import write
from diastase_engine.state_vector.tiles.sweeps import place_of

multiplied_there = if_gpu(diagonal_there)

MOST_QUEUED = 3
"""Wires of a diagonal matrix that is queued, as four operations at most."""


@inline
def write_pair(elements: ptr[f64], matrix: ptr[f64]) -> None:
    """Store a diagonal matrix on one bit."""
    write([elements[0], elements[1], 0.0, 0.0, 0.0, 0.0, elements[2], elements[3]], matrix)


@kernel
def push_diagonal(
    state: State, n_targets: i64, bits: ptr[i64], controls: i64, value: i64, elements: ptr[f64]
) -> None:
    """Queue a diagonal matrix on at most `MOST_QUEUED` bits."""
    matrix = stack_array(f64, 8)
    target = bits[n_targets - 1]
    if n_targets == 2:
        otherwise = stack_array(f64, 8)
        write_pair(elements, otherwise)
        write_pair(elements + 4, matrix)
        push_selected(state, target, bits[0], controls, value, otherwise, matrix)
        return
    mask: i64 = controls
    for k in range(n_targets - 1):
        mask |= 1 << bits[k]
    for row in range(1 << (n_targets - 1)):
        setting: i64 = value
        for k in range(n_targets - 1):
            setting |= ((row >> (n_targets - 2 - k)) & 1) << bits[k]
        write_pair(elements + 4 * row, matrix)
        push_single(state, target, mask, setting, matrix)


@inline
def gather(
    elements: ptr[f64], base: i64, lanes: ptr[i64], matching: i64, factors: ptr[stored]
) -> None:
    """Write the elements of the lanes of a block, 1 where the controls do not match."""
    for lane in static(range(LANES)):
        place = 2 * (base | lanes[lane])
        if (matching >> lane) & 1 == 1:
            factors[lane], factors[LANES + lane] = elements[place], elements[place + 1]
        else:
            factors[lane], factors[LANES + lane] = 1.0, 0.0


@kernel
def multiply_blocks(
    state: State, count: i64, bits: ptr[i64], mask: i64, value: i64, elements: ptr[f64]
) -> None:
    """Multiply every amplitude whose controls match."""
    lanes = lane_places(count, bits)
    matching: i64 = 0
    for lane in static(range(LANES)):
        if (lane ^ value) & mask & LANE_MASK == 0:
            matching |= 1 << lane
    factors = stack_array(vector, 2)
    for block in range(state.blocks):
        index = block << LANE_BITS
        if (index ^ value) & mask & ~LANE_MASK == 0:
            numbers = cast(factors, ptr[stored])
            gather(elements, place_of(index, count, bits), lanes, matching, numbers)
            a, b = factors[0], factors[1]
            x, y = state.amplitudes[2 * block], state.amplitudes[2 * block + 1]
            state.amplitudes[2 * block] = x * a - y * b
            state.amplitudes[2 * block + 1] = x * b + y * a


@kernel
def diagonal(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    elements: ptr[f64],
) -> None:
    """Apply a diagonal matrix to target wires, the first one most significant, with controls."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    if mask_of(context, state, site, n_targets, targets, mask) < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    if not is_null(state.tape):
        keep_array(context, state, site, DIAGONAL, n_targets, targets, mask, value, elements)
    if not all_are_numbers(2 << n_targets, elements):
        spoil(state)
        return
    bits = stack_array(i64, MAX_QUBITS)
    bits_of(state, n_targets, targets, bits)
    if 0 < n_targets and n_targets <= MOST_QUEUED:
        push_diagonal(state, n_targets, bits, mask, value, elements)
        return
    if GPU == 1:
        apply_waiting(state)
        multiplied_there(state, n_targets, bits, mask, value, elements)
        return
    flush(state)
    multiply_blocks(state, n_targets, bits, mask, value, elements)
