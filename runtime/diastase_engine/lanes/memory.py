"""Lane registers made, and which of their lanes are active.

The random numbers of a lane are those of one element of a batch (`call_context.seed_of_element`):
where the register is made in an element, its lanes are the elements that this one stands for;
elsewhere they are elements of a batch of their own. Registers that an element makes one after the
other begin far apart in the same streams.
"""

from diastase_engine.call_context import (
    NEGATIVE_QUBITS,
    OUT_OF_MEMORY,
    SIZE_MISMATCH,
    TOO_MANY_QUBITS,
    CallContext,
    fail,
)
from diastase_engine.lanes.device.launches import begin_there
from diastase_engine.lanes.records import (
    HANDLE_BYTES,
    MATRIX,
    MOST_LANES,
    WIDTH,
    Lanes,
    active_of,
    lanes_of,
    same,
)
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.queue.memory import allocate, begin_state
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import (
    ALIGNMENT,
    MAX_QUBITS,
    Operation,
    State,
    aligned_alloc,
    free,
    memset,
)

_BETWEEN_REGISTERS = 32
"""Bits of a counter: draws of a register before it meets the next one's."""


@kernel
def numbers_of(qubits: i64, groups: i64) -> i64:
    """How many 8-byte numbers the memory of a register has."""
    vectors = groups * ((2 << qubits) + (qubits + 2) * MATRIX + 6)
    return WIDTH * (vectors + 7 * groups) + (1 << qubits) + qubits + 1


@kernel
def divide(lanes: Lanes, qubits: i64, memory: ptr[f64]) -> None:
    """Give each field its part of the memory."""
    groups = lanes.groups
    rest: ptr[f64] = memory + ((groups << qubits) << 1) * WIDTH
    lanes.pending = cast(rest, ptr[v8])
    rest = rest + qubits * groups * MATRIX * WIDTH
    lanes.fresh = cast(rest, ptr[v8])
    rest = rest + 2 * groups * MATRIX * WIDTH
    lanes.weights = cast(rest, ptr[v8])
    rest = rest + 4 * groups * WIDTH
    lanes.phases = cast(rest, ptr[v8])
    rest = rest + 2 * groups * WIDTH
    lanes.angles = rest
    rest = rest + 3 * groups * WIDTH
    lanes.uniforms = rest
    rest = rest + groups * WIDTH
    lanes.active = cast(rest, ptr[i64])
    lanes.seeds = cast(rest + groups * WIDTH, ptr[i64])
    lanes.counters = cast(rest + 2 * groups * WIDTH, ptr[i64])
    lanes.places = cast(rest + 3 * groups * WIDTH, ptr[i64])
    lanes.forms = lanes.places + (1 << qubits)


@kernel
def choose_streams(context: CallContext, lanes: Lanes, first: i64) -> None:
    """Say of which elements the lanes have the random numbers: `first`, and those after it."""
    lanes.is_seeded, lanes.number = 0, first
    if is_null(context.outer):
        lanes.key, lanes.position, lanes.first_counter = context.seed, context.counter, 0
    else:
        lanes.key, lanes.position = cast(context.outer, CallContext).seed, context.position
        lanes.first_counter = context.counter << _BETWEEN_REGISTERS
    context.counter += 1


@kernel
def begin_amplitudes(state: State, groups: i64) -> None:
    """Make all lanes |0...0>."""
    size = 1 << state.qubits
    numbers = state.amplitudes
    memset(cast(numbers, ptr[f64]), 0, 16 * WIDTH * size * groups)
    for group in range(groups):
        cast(numbers, ptr[v8])[2 * size * group] = same(1.0)


begun_there = if_gpu(begin_there)


@kernel
def begin_lanes(context: CallContext, state: State, count: i64, first: i64) -> None:
    """Make all lanes |0...0>, and active."""
    lanes = lanes_of(state)
    lanes.lanes, lanes.groups = count, count >> 3
    memory = cast(state.amplitudes, ptr[f64])
    divide(lanes, state.qubits, memory)
    size = 1 << state.qubits
    if GPU == 1:
        begun_there(state)
    else:
        begin_amplitudes(state, lanes.groups)
    for group in range(lanes.groups):
        lanes.phases[2 * group], lanes.phases[2 * group + 1] = same(1.0), same(0.0)
    for index in range(size):
        lanes.places[index] = 2 * index
    for bit in range(state.qubits):
        lanes.forms[bit] = 0
    for lane in range(count):
        lanes.active[lane] = 1
    lanes.all_active, lanes.active_lanes, lanes.any_norm = 1, count, 0
    lanes.has_phase = 0
    choose_streams(context, lanes, first)


@kernel
def state_create(context: CallContext, site: i64, qubits: i64, count: i64, first: i64) -> State:
    """Make so many registers |0...0>, each a lane, or an error and null.

    They are those of the elements of a batch from `first` on, which decides what they draw.
    """
    if context.code != 0:
        return null(State)
    if qubits < 0:
        fail(context, NEGATIVE_QUBITS, site, qubits, 0)
        return null(State)
    # No wording of its own: the compiler chooses how many lanes there are.
    if count < WIDTH or count > MOST_LANES or count & (WIDTH - 1) != 0:
        fail(context, SIZE_MISMATCH, site, count, WIDTH)
        return null(State)
    if qubits >= MAX_QUBITS or count << qubits >= 1 << MAX_QUBITS:
        fail(context, TOO_MANY_QUBITS, site, qubits, 0)
        return null(State)
    handle = aligned_alloc(ALIGNMENT, HANDLE_BYTES)
    if is_null(handle):
        fail(context, OUT_OF_MEMORY, site, HANDLE_BYTES, 0)
        return null(State)
    amplitudes = allocate(context, site, 8 * numbers_of(qubits, count >> 3))
    if is_null(amplitudes):
        free(handle)
        return null(State)
    state = cast(handle, State)
    begin_state(context, state, qubits, (count >> 3) << qubits, amplitudes)
    state.operations = null(ptr[Operation])
    for wire in range(qubits):
        state.bit_of_wire[wire] = qubits - 1 - wire
    state.site = site
    begin_lanes(context, state, count, first)
    return state


@kernel
def activate(context: CallContext, state: State, mask: ptr[i64]) -> None:
    """Choose the lanes that gates and measurements change: those whose number is not 0."""
    if cannot_run(context, state):
        return
    lanes = lanes_of(state)
    everything: i64 = 1
    number: i64 = 0
    for group in range(lanes.groups):
        store_lanes(lanes.active, WIDTH * group, lanes_where(mask, WIDTH * group))
        if not all_lanes(active_of(lanes, group)):
            everything = 0
    for lane in range(lanes.lanes):
        number += lanes.active[lane]
    lanes.all_active, lanes.active_lanes = everything, number
