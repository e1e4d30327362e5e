"""Captured operations fused, as the queue fuses them, into those that are undone.

What may be merged is decided with generic parameters (`captured`), so it holds for
derivatives as well; the chain of each product tells what it is made of. Then the actual matrices
are multiplied.
"""

from diastase_engine.language import cast, f64, i1, i64, is_null, kernel, null, ptr, size_of
from diastase_engine.state_vector.adjoint.forms import is_wanted, set_form
from diastase_engine.state_vector.adjoint.records import Backward, Undone
from diastase_engine.state_vector.operations.captured import Capture
from diastase_engine.state_vector.operations.fusion import settle
from diastase_engine.state_vector.queue.queue import forget_waiting
from diastase_engine.state_vector.state.c_functions import realloc
from diastase_engine.state_vector.state.records import Operation, State
from diastase_engine.state_vector.state.small_matrices import copy_matrix


@kernel
def settle_factors(shadow: State, capture: Capture) -> None:
    """Put all factors through the queue's fusion."""
    for k in range(capture.count):
        factor = capture.factors[k]
        operation = shadow.operations[shadow.waiting]
        operation.target, operation.mask, operation.value = factor.target, factor.mask, factor.value
        operation.is_live, operation.flips = 1, 0
        copy_matrix(factor.generic_otherwise, operation.otherwise)
        copy_matrix(factor.generic_matched, operation.matched)
        factor.next, factor.previous = null(ptr[f64]), null(ptr[f64])
        operation.first = cast(factor, ptr[f64])
        operation.last = cast(factor, ptr[f64])
        settle(shadow)


@kernel
def bits_now(bits: i64, bit_of: ptr[i64], qubits: i64) -> i64:
    """A mask of bits of the shadow as one of the state."""
    found: i64 = 0
    for bit in range(qubits):
        found |= ((bits >> bit) & 1) << bit_of[bit]
    return found


@kernel
def write_undone(
    capture: Capture, operation: Operation, undone: Undone, bit_of: ptr[i64], qubits: i64
) -> None:
    """Write what undoes a fused operation."""
    undone.target = bit_of[operation.target]
    undone.mask = bits_now(operation.mask, bit_of, qubits)
    undone.value = bits_now(operation.value, bit_of, qubits)
    undone.changes = bits_now(operation.changes, bit_of, qubits)
    undone.reads = bits_now(operation.reads, bit_of, qubits)
    mask, first = operation.mask, operation.first
    undone.factor_mask, undone.first, undone.last = mask, first, operation.last
    undone.wants_matched = 1 if is_wanted(capture, first, mask, True) else 0
    undone.wants_otherwise = undone.wants_matched
    if mask != 0:
        undone.wants_otherwise = 1 if is_wanted(capture, first, mask, False) else 0
    set_form(capture, undone)


@kernel
def fuse(run: Backward, bit_of: ptr[i64]) -> i1:
    """Fuse all that was captured; `bit_of` gives a bit of the state for each of the shadow's."""
    shadow, capture = run.shadow, run.capture
    needed = (capture.count + 1) * size_of(Operation)
    if needed > run.operations_bytes:
        memory = realloc(cast(shadow.operations, ptr[f64]), needed)
        if is_null(memory):
            return False
        shadow.operations, run.operations_bytes = cast(memory, ptr[Operation]), needed
    forget_waiting(shadow)
    settle_factors(shadow, capture)
    needed_undone = (shadow.waiting + 1) * size_of(Undone)
    if needed_undone > run.undone_bytes:
        more = realloc(cast(run.undone, ptr[f64]), needed_undone)
        if is_null(more):
            return False
        run.undone, run.undone_bytes = cast(more, ptr[Undone]), needed_undone
    run.count = 0
    for k in range(shadow.waiting):
        operation = shadow.operations[k]
        if operation.is_live != 0:
            write_undone(capture, operation, run.undone[run.count], bit_of, shadow.qubits)
            run.count += 1
    return True
