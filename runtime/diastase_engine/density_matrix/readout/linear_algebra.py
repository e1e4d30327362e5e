"""Density matrices as vectors: copies, halves, sums and inner products."""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.density_matrix.operations.apply import flush
from diastase_engine.density_matrix.state.digits import index_bits
from diastase_engine.density_matrix.state.memory import allocate_mixed, copy_into
from diastase_engine.language import *
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import BLOCK_BYTES, State, memset


@kernel
def state_copy(context: CallContext, state: State, site: i64) -> State:
    """Make a second state equal to the first, or null."""
    if cannot_run(context, state):
        return null(State)
    flush(state)
    copy = allocate_mixed(context, site, state.qubits, state.derivatives)
    if not is_null(copy):
        copy_into(copy, state)
    return copy


@kernel
def half(context: CallContext, state: State, site: i64, which: i64) -> State:
    """Make a state of the numbers in which the first derivative wire is `which`, or null."""
    if cannot_run(context, state):
        return null(State)
    if state.derivatives < 1 or which < 0 or which > 1:
        fail(context, SIZE_MISMATCH, site, state.derivatives, 1)
        return null(State)
    flush(state)
    rest = state.derivatives - 1
    part = allocate_mixed(context, site, state.qubits, rest)
    if is_null(part):
        return part
    memset(cast(part.amplitudes, ptr[f64]), 0, BLOCK_BYTES)
    part.spoilt = state.spoilt
    numbers, kept = cast(part.amplitudes, ptr[stored]), cast(state.amplitudes, ptr[stored])
    low = (1 << rest) - 1
    for index in range(1 << index_bits(part)):
        numbers[index] = kept[((index & ~low) << 1) | (which << rest) | (index & low)]
    return part


@kernel
def can_meet(context: CallContext, first: State, second: State, site: i64) -> i1:
    """Apply what waits for two states; false where they do not fit or after an error."""
    if cannot_run(context, first) or is_null(second):
        return False
    if first.qubits != second.qubits or first.derivatives != second.derivatives:
        fail(context, SIZE_MISMATCH, site, second.qubits, first.qubits)
        return False
    flush(first)
    flush(second)
    return True


@kernel
def state_scale_add(
    context: CallContext, target: State, source: State, site: i64, factor: ptr[f64]
) -> None:
    """`target += factor source`, the real part of the factor."""
    if not can_meet(context, target, source, site):
        return
    scale = broadcast(factor[0])
    for k in range(2 * target.blocks):
        target.amplitudes[k] = target.amplitudes[k] + scale * source.amplitudes[k]


@kernel
def inner_product(context: CallContext, bra: State, ket: State, site: i64, out: ptr[f64]) -> None:
    """Write the sum of all products, as a complex number; zero after an error."""
    out[0], out[1] = 0.0, 0.0
    if not can_meet(context, bra, ket, site):
        return
    total = broadcast_wide(0.0)
    for k in range(2 * bra.blocks):
        total += widen(bra.amplitudes[k]) * widen(ket.amplitudes[k])
    out[0] = horizontal_sum(total)


@kernel
def work_done(context: CallContext, state: State, done: ptr[i64]) -> None:
    """Write how many operations were pushed and, all being applied, how many were left; walks."""
    if cannot_run(context, state):
        return
    flush(state)
    done[0], done[1], done[2] = state.gates, state.applied, state.stages
