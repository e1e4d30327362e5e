"""States as vectors: sums and inner products, for observables that have no direct form.

SWAP renames the wires of one state only, so two states may order their amplitudes differently;
both are brought into the user's order before they meet.
"""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.linear_algebra import (
    add_multiple_there,
    clear_there,
    product_there,
)
from diastase_engine.state_vector.device.residence import GPU, bring, if_gpu
from diastase_engine.state_vector.gates.decompositions import exchange_bits
from diastase_engine.state_vector.queue.queue import (
    apply_waiting,
    flush,
    flush_to_read,
    forget_waiting,
    overwrite,
)
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.parallel import clear
from diastase_engine.state_vector.state.records import BLOCK_BYTES, State

cleared_there, added_there = if_gpu(clear_there), if_gpu(add_multiple_there)
multiplied_there = if_gpu(product_there)


@kernel
def restore_order(state: State) -> None:
    """Let operations move amplitudes so that wire 0 is the most significant bit."""
    for wire in range(state.qubits):
        bit, wanted = state.bit_of_wire[wire], state.qubits - 1 - wire
        if bit != wanted:
            exchange_bits(state, bit, wanted)


@kernel
def are_in_order(context: CallContext, first: State, second: State, site: i64) -> i1:
    """Let operations bring two states into the same order; false where that cannot be."""
    if cannot_run(context, first) or is_null(second):
        return False
    if first.qubits != second.qubits:
        fail(context, SIZE_MISMATCH, site, second.qubits, first.qubits)
        return False
    restore_order(first)
    restore_order(second)
    return True


@kernel
def can_meet_unmoved(context: CallContext, first: State, second: State, site: i64) -> i1:
    """Bring two states into the same order, wherever they are; false where that cannot be."""
    if not are_in_order(context, first, second, site):
        return False
    apply_waiting(first)
    apply_waiting(second)
    return context.code == 0


@kernel
def can_meet(context: CallContext, first: State, second: State, site: i64) -> i1:
    """Bring two states into the same order, to be changed; false where that cannot be."""
    if not are_in_order(context, first, second, site):
        return False
    flush(first)
    flush(second)
    return True


@kernel
def can_meet_there(context: CallContext, first: State, second: State, site: i64) -> i1:
    """Have two states on the GPU in the same order; false where that cannot be.

    Who then changes one of them there says so (`change_there`). They may be the same state.
    """
    return can_meet_unmoved(context, first, second, site) and bring(first) and bring(second)


both_there = if_gpu(can_meet_there)


@kernel
def state_zero(context: CallContext, state: State) -> None:
    """Set all amplitudes to zero."""
    if cannot_run(context, state):
        return
    forget_waiting(state)
    state.spoilt = 0
    if GPU == 1:
        cleared_there(state)
        return
    overwrite(state)
    clear(cast(state.amplitudes, ptr[f64]), state.blocks * BLOCK_BYTES)


@kernel
def state_scale_add(
    context: CallContext, target: State, source: State, site: i64, factor: ptr[f64]
) -> None:
    """`target += factor source`, the factor as real and imaginary part."""
    if GPU == 1:
        if both_there(context, target, source, site):
            added_there(target, source, factor)
        return
    if not can_meet(context, target, source, site):
        return
    a, b = broadcast(factor[0]), broadcast(factor[1])
    for block in range(target.blocks):
        x, y = source.amplitudes[2 * block], source.amplitudes[2 * block + 1]
        target.amplitudes[2 * block] = target.amplitudes[2 * block] + a * x - b * y
        target.amplitudes[2 * block + 1] = target.amplitudes[2 * block + 1] + a * y + b * x


@kernel
def inner_product(context: CallContext, bra: State, ket: State, site: i64, out: ptr[f64]) -> None:
    """Write <bra|ket>, zero after an error."""
    out[0], out[1] = 0.0, 0.0
    if GPU == 1:
        if both_there(context, bra, ket, site):
            multiplied_there(bra, ket, out)
        return
    if not are_in_order(context, bra, ket, site):
        return
    flush_to_read(bra)
    flush_to_read(ket)
    real = broadcast_wide(0.0)
    imaginary = broadcast_wide(0.0)
    for block in range(bra.blocks):
        x, y = bra.amplitudes[2 * block], bra.amplitudes[2 * block + 1]
        u, w = ket.amplitudes[2 * block], ket.amplitudes[2 * block + 1]
        real += widen(x * u + y * w)
        imaginary += widen(x * w - y * u)
    out[0], out[1] = horizontal_sum(real), horizontal_sum(imaginary)
