"""Operations waiting to be applied, fused as they arrive.

A gate costs a sweep over all amplitudes, two fused gates cost one; so `push` merges a new operation
into a waiting one where it can (`fusion`), and `flush` applies what is left. Operations
with several mask bits are the identity where the mask does not match, and merge with their like
only. A test runs random circuits with and without fusion.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.launches import run_on_device
from diastase_engine.state_vector.device.residence import GPU, ON_HOST, copy_back, fetch, if_gpu
from diastase_engine.state_vector.device.sums import normalise_there
from diastase_engine.state_vector.operations.captured import capture_operation
from diastase_engine.state_vector.operations.fusion import multiply_last, note, settle
from diastase_engine.state_vector.operations.parity_operations import turned
from diastase_engine.state_vector.plan.plan import run_planned
from diastase_engine.state_vector.plan.stages import apply_operation
from diastase_engine.state_vector.queue.norm import normalise
from diastase_engine.state_vector.state.checks import are_numbers, fill_with_nan
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    QUEUE_CAPACITY,
    Operation,
    State,
    memcpy,
)
from diastase_engine.state_vector.state.small_matrices import IDENTITY, copy_matrix, write
from diastase_engine.state_vector.tiles.ratios import (
    apply_divided,
    bears,
    is_usual,
    multiply_operation,
)


@kernel
def forget_waiting(state: State) -> None:
    """Empty the queue without applying it."""
    state.waiting = 0
    for bit in range(state.qubits):
        state.last_change[bit] = -1
        state.last_read[bit] = -1
    # A state without qubits has a phase, kept as an operation on bit 0.
    state.last_change[0] = -1
    state.last_read[0] = -1


run_there, fetched = if_gpu(run_on_device), if_gpu(fetch)
normalised_there, copied_back = if_gpu(normalise_there), if_gpu(copy_back)


@kernel
def flush(state: State) -> None:
    """Apply all waiting operations; what the caller then does may change any amplitude."""
    apply_waiting(state)
    if GPU == 1:
        fetched(state)


@kernel
def flush_to_read(state: State) -> None:
    """The same for who changes nothing."""
    apply_waiting(state)
    if GPU == 1:
        copied_back(state)


@kernel
def overwrite(state: State) -> None:
    """Let the amplitudes, all of which are to be given other values, be on the host."""
    if GPU == 1:
        if state.qubits < LANE_BITS:
            fetched(state)  # with the lanes that stay zero
        state.residence = ON_HOST


@kernel
def apply_waiting(state: State) -> None:
    """Apply all waiting operations wherever the amplitudes are; see `device.residence`."""
    if state.waiting != 0:
        apply_all(state)
        forget_waiting(state)
    state.support = -1
    give_norm(state)


@kernel
def apply_all(state: State) -> None:
    """Apply the waiting operations, which stay in the queue."""
    if GPU == 1:
        if run_there(state):
            return
        fetched(state)
        if state.context.code != 0:
            return
    if not run_planned(state):
        apply_first(state, state.waiting)


@kernel
def give_norm(state: State) -> None:
    """Normalise a state, all of whose operations are applied, if one of them wants it."""
    if state.has_any_norm != 0:
        state.has_any_norm = 0
        if GPU == 1:
            normalised_there(state)
        else:
            normalise(state)


@kernel
def flush_first(state: State, count: i64) -> None:
    """Apply the first `count` waiting operations, one by one; the others wait on."""
    apply_first(state, count)
    forget_first(state, count)


@kernel
def apply_first(state: State, count: i64) -> None:
    """Apply the first `count` waiting operations, which stay in the queue.

    They may be divided by numbers (`ratios`), all of which go into the last one that can bear them.
    """
    bearer: i64 = count - 1
    while bearer >= 0 and not can_bear(state.operations[bearer]):
        bearer -= 1
    factor = stack_array(f64, 2)
    factor[0], factor[1] = 1.0, 0.0
    for k in range(count):
        operation = state.operations[k]
        if operation.is_live != 0:
            if (k == bearer or not is_usual(factor)) and bears(operation):
                multiply_operation(operation, factor)
                apply_operation(state, operation)
                factor[0], factor[1] = 1.0, 0.0
            elif k >= bearer or not apply_divided(state, operation, factor):
                apply_operation(state, operation)
            state.applied += 1
            state.stages += 1


@kernel
def can_bear(operation: Operation) -> i1:
    """Whether a waiting operation can be multiplied by a number."""
    return operation.is_live != 0 and bears(operation)


@kernel
def forget_first(state: State, count: i64) -> None:
    """Take the first `count` operations, which have been applied, out of the queue."""
    waiting = state.waiting
    forget_waiting(state)
    if count > 0:
        state.support = -1
    for k in range(count, waiting):
        if state.operations[k].is_live != 0:
            operation = state.operations[state.waiting]
            if state.waiting != k:
                memcpy(
                    cast(operation, ptr[f64]), cast(state.operations[k], ptr[f64]),
                    size_of(Operation),
                )  # fmt: skip
            note(state, operation, state.waiting)
            state.waiting += 1


@kernel
def spoil(state: State) -> None:
    """Make all amplitudes NaN, for good."""
    state.gates += 1
    if state.spoilt == 0:
        forget_waiting(state)
        overwrite(state)
        fill_with_nan(state)
        state.support, state.spoilt = -1, 1


@kernel
def push(
    state: State, target: i64, mask: i64, value: i64, otherwise: ptr[f64], matched: ptr[f64]
) -> None:
    """Queue an operation (see `records.Operation`), merged into a waiting one where possible."""
    if state.spoilt != 0 or not are_numbers(matched, otherwise):
        if is_null(state.capture):
            spoil(state)
        else:
            capture_operation(state, target, mask, value, otherwise, matched)
        return
    if state.waiting == QUEUE_CAPACITY:
        apply_waiting(state)
    operation = state.operations[state.waiting]
    operation.target, operation.mask, operation.is_live = target, mask, 1
    operation.flips, operation.word, operation.first = 0, 0, null(ptr[f64])
    if value == 0 and mask != 0 and mask & (mask - 1) == 0:
        # Selected by a zero: the same with the matrices exchanged. So equal masks mean more often
        # equal values.
        operation.value = mask
        copy_matrix(matched, operation.otherwise)
        copy_matrix(otherwise, operation.matched)
    else:
        operation.value = value
        if mask != 0:
            copy_matrix(otherwise, operation.otherwise)
        copy_matrix(matched, operation.matched)
    state.gates += 1
    settle(state)


@kernel
def push_even_odd(state: State, first: i64, second: i64, even: ptr[f64], odd: ptr[f64]) -> None:
    """Queue an operation that keeps the parity of two bits; see `parity_operations`."""
    if state.spoilt != 0 or not are_numbers(even, odd):
        spoil(state)
        return
    if state.waiting == QUEUE_CAPACITY:
        apply_waiting(state)
    operation = state.operations[state.waiting]
    target = first if first > second else second
    flips = 1 << (first + second - target)
    operation.target, operation.mask, operation.value = target, flips, flips
    operation.flips, operation.word, operation.is_live = flips, 0, 1
    operation.first = null(ptr[f64])
    copy_matrix(even, operation.otherwise)
    if target == first:
        copy_matrix(odd, operation.matched)
    else:
        turned(odd, operation.matched)
    state.gates += 1
    settle(state)


@kernel
def push_word(
    state: State, word: i64, signs: i64, controls: i64, value: i64, c: f64, s: f64
) -> None:
    """Queue c - i s P, a rotation about a Pauli word that is not diagonal; see `tiles.words`."""
    if state.spoilt != 0 or not c * s * 0.0 == 0.0:
        spoil(state)
        return
    if state.waiting == QUEUE_CAPACITY:
        apply_waiting(state)
    operation = state.operations[state.waiting]
    operation.target, operation.mask, operation.value = count_trailing_zeros(word), controls, value
    operation.flips, operation.word, operation.signs, operation.is_live = 0, word, signs, 1
    operation.first = null(ptr[f64])
    operation.matched[0], operation.matched[1] = c, s
    state.gates += 1
    settle(state)


@kernel
def push_single(state: State, target: i64, mask: i64, value: i64, matrix: ptr[f64]) -> None:
    """Queue a controlled matrix: the identity where the mask does not match."""
    if mask == 0:
        is_usual_push = state.spoilt == 0 and are_numbers(matrix, matrix)
        if is_usual_push and multiply_last(state, target, matrix):
            state.gates += 1
        else:
            push(state, target, 0, 0, matrix, matrix)
        return
    identity = stack_array(f64, 8)
    write(IDENTITY, identity)
    push(state, target, mask, value, identity, matrix)


@kernel
def push_selected(
    state: State,
    target: i64,
    selector: i64,
    controls: i64,
    value: i64,
    otherwise: ptr[f64],
    matched: ptr[f64],
) -> None:
    """Queue `matched` where bit `selector` is one and `otherwise` where it is zero.

    `controls` restrict both; the selector must not be among them.
    """
    if controls == 0:
        push(state, target, 1 << selector, 1 << selector, otherwise, matched)
        return
    mask = controls | (1 << selector)
    push_single(state, target, mask, value, otherwise)
    push_single(state, target, mask, value | (1 << selector), matched)
