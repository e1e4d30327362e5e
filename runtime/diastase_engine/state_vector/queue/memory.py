"""States made and released; scratch memory.

Linux grants more memory than there is and kills the process when it is used, so a state that
cannot fit into the machine's physical memory is refused by its size, before asking the system.
Other programs' memory is not counted: what they could give up is not knowable from here.

States that are alive are linked to their call's context. A call that is abandoned, as memory for
something else ran out, cannot release them; the runtime then does.
"""

import os

from diastase_engine.call_context import (
    NEGATIVE_QUBITS,
    OUT_OF_MEMORY,
    TOO_MANY_QUBITS,
    CallContext,
    fail,
)
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import (
    GPU,
    ON_HOST,
    begin_on_device,
    copy_there,
    if_gpu,
    release_there,
)
from diastase_engine.state_vector.queue.queue import apply_waiting, forget_waiting
from diastase_engine.state_vector.queue.tape import release_tape
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.parallel import clear, write_bulk
from diastase_engine.state_vector.state.records import (
    ALIGNMENT,
    BLOCK_BYTES,
    LANE_BITS,
    MADV_HUGEPAGE,
    MAX_QUBITS,
    QUEUE_CAPACITY,
    Operation,
    State,
    aligned_alloc,
    free,
    madvise,
)

sysconf = external("sysconf", [i32], i64)

HUGE_PAGE = 1 << 21
"""Large states ask for pages of this size: there are fewer to be made and to be found."""
_PAGES = os.sysconf_names["SC_PHYS_PAGES"]
_PAGE_SIZE = os.sysconf_names["SC_PAGE_SIZE"]
_HANDLE_BYTES = (size_of(State) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
_QUEUE_BYTES = QUEUE_CAPACITY * size_of(Operation)
begun_there, copied_there = if_gpu(begin_on_device), if_gpu(copy_there)
released_there = if_gpu(release_there)


@kernel
def allocate(context: CallContext, site: i64, size: i64) -> ptr[f64]:
    """Aligned memory (`size` is rounded up), or an error and null."""
    alignment = HUGE_PAGE if size >= 2 * HUGE_PAGE else ALIGNMENT
    rounded = (size + alignment - 1) & ~(alignment - 1)
    most: i64 = context.memory
    if most == 0:
        most = sysconf(_PAGES) * sysconf(_PAGE_SIZE)
    if rounded < most:
        memory = aligned_alloc(alignment, rounded)
        if not is_null(memory):
            if MADV_HUGEPAGE >= 0 and alignment == HUGE_PAGE:
                madvise(memory, rounded, MADV_HUGEPAGE)
            return memory
    fail(context, OUT_OF_MEMORY, site, rounded, 0)
    return null(ptr[f64])


@kernel
def allocate_state(context: CallContext, site: i64, qubits: i64) -> State:
    """Allocate a handle with its queue and unset amplitudes, or an error and null."""
    blocks = 1 << (qubits - LANE_BITS) if qubits > LANE_BITS else 1
    return allocate_blocks(context, site, qubits, blocks)


@kernel
def allocate_blocks(context: CallContext, site: i64, qubits: i64, blocks: i64) -> State:
    """The same with so many blocks of numbers, whatever they are."""
    handle = aligned_alloc(ALIGNMENT, _HANDLE_BYTES + _QUEUE_BYTES)
    if is_null(handle):
        fail(context, OUT_OF_MEMORY, site, _HANDLE_BYTES + _QUEUE_BYTES, 0)
        return null(State)
    amplitudes = allocate(context, site, blocks * BLOCK_BYTES)
    if is_null(amplitudes):
        free(handle)
        return null(State)
    state = cast(handle, State)
    state.operations = cast(handle + _HANDLE_BYTES // 8, ptr[Operation])
    begin_state(context, state, qubits, blocks, amplitudes)
    return state


@kernel
def begin_state(
    context: CallContext, state: State, qubits: i64, blocks: i64, amplitudes: ptr[f64]
) -> None:
    """Set all of a state but its queue and what it names its bits, and link it."""
    state.qubits = qubits
    state.blocks = blocks
    state.amplitudes = cast(amplitudes, ptr[vector])
    state.derivatives, state.slots = 0, 0
    state.script = null(ptr[f64])
    state.tape = null(ptr[f64])
    state.capture = null(ptr[f64])
    state.chunk_bits = 0
    state.plan = null(ptr[f64])
    state.plan_bytes = 0
    state.buffer = null(ptr[f64])
    state.buffer_bytes = 0
    state.device, state.device_plan, state.device_plan_bytes = 0, 0, 0
    state.residence, state.site = ON_HOST, -1
    state.support = -1
    state.spoilt, state.has_any_norm = 0, 0
    state.gates, state.applied, state.stages = 0, 0, 0
    forget_waiting(state)
    link(context, state)


@kernel
def link(context: CallContext, state: State) -> None:
    """Put a state first among those that are alive."""
    state.context = context
    state.next = context.states
    state.previous = null(ptr[f64])
    if not is_null(state.next):
        cast(state.next, State).previous = cast(state, ptr[f64])
    context.states = cast(state, ptr[f64])


@kernel
def unlink(context: CallContext, state: State) -> None:
    """Take a state out of those that are alive."""
    if is_null(state.previous):
        context.states = state.next
    else:
        cast(state.previous, State).next = state.next
    if not is_null(state.next):
        cast(state.next, State).previous = state.previous


@kernel
def state_create(context: CallContext, site: i64, qubits: i64) -> State:
    """Make a state |0...0>, or an error and null."""
    if context.code != 0:
        return null(State)
    if qubits < 0:
        fail(context, NEGATIVE_QUBITS, site, qubits, 0)
        return null(State)
    if qubits >= MAX_QUBITS:
        fail(context, TOO_MANY_QUBITS, site, qubits, 0)
        return null(State)
    state = allocate_state(context, site, qubits)
    if is_null(state):
        return state
    for wire in range(qubits):
        state.bit_of_wire[wire] = qubits - 1 - wire
    state.support = 0
    if GPU == 1:
        state.site = site
        begun_there(state)
        return state
    clear(cast(state.amplitudes, ptr[f64]), state.blocks * BLOCK_BYTES)
    cast(state.amplitudes, ptr[stored])[0] = 1.0
    return state


@kernel
def state_release(context: CallContext, state: State) -> None:
    """Give the memory back, also after an error: nothing may leak."""
    if is_null(state):
        return
    unlink(context, state)
    free(state.plan)
    free(state.buffer)
    release_tape(state)
    if GPU == 1:
        released_there(state)
    context.gates += state.gates
    context.operations += state.applied
    context.stages += state.stages
    free(cast(state.amplitudes, ptr[f64]))
    free(cast(state, ptr[f64]))


@kernel
def state_copy(context: CallContext, state: State, site: i64) -> State:
    """Make a second state equal to the first, or null."""
    if cannot_run(context, state):
        return null(State)
    apply_waiting(state)
    copy = allocate_state(context, site, state.qubits)
    if is_null(copy):
        return copy
    for wire in range(state.qubits):
        copy.bit_of_wire[wire] = state.bit_of_wire[wire]
    if GPU == 1:
        copy.site = site
        if state.residence != ON_HOST:
            copied_there(copy, state)
            return copy
    write_bulk(
        cast(copy.amplitudes, ptr[f64]),
        cast(state.amplitudes, ptr[f64]),
        state.blocks * BLOCK_BYTES,
    )
    return copy


@kernel
def num_qubits(context: CallContext, state: State) -> i64:
    """Return number of wires of a state."""
    if is_null(state):
        return 0
    return state.qubits


@kernel
def work_done(context: CallContext, state: State, done: ptr[i64]) -> None:
    """Write how many operations were pushed and, all being applied, how many were left; walks."""
    if cannot_run(context, state):
        return
    apply_waiting(state)
    done[0], done[1], done[2] = state.gates, state.applied, state.stages
