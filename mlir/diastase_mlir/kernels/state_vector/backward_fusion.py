"""Captured operations fused, as the queue fuses them, into those that are undone.

What may be merged is decided with generic parameters (`captured`), so it holds for derivatives as
well; the chain of each product tells what it is made of. Then the actual matrices are multiplied.
"""

from diastase_mlir.kernels.language import (
    cast,
    f64,
    i1,
    i64,
    is_null,
    kernel,
    null,
    ptr,
    size_of,
    stack_array,
    static,
)
from diastase_mlir.kernels.state_vector.backward_records import Backward, Undone
from diastase_mlir.kernels.state_vector.c_functions import realloc
from diastase_mlir.kernels.state_vector.captured import SIDES, Capture, Factor
from diastase_mlir.kernels.state_vector.fusion import settle
from diastase_mlir.kernels.state_vector.queue import forget_waiting
from diastase_mlir.kernels.state_vector.records import Operation, State
from diastase_mlir.kernels.state_vector.small_matrices import (
    IDENTITY,
    copy_matrix,
    is_identity,
    multiply,
    write,
)


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
        factor.next = null(ptr[f64])
        operation.first = cast(factor, ptr[f64])
        operation.last = cast(factor, ptr[f64])
        settle(shadow)


@kernel
def side_of(factor: Factor, mask: i64, matched: i1) -> ptr[f64]:
    """A factor's matrix on one side of a product with this mask.

    A factor with a selector that the product has forgotten makes no difference there.
    """
    if factor.mask == mask and not matched:
        return factor.otherwise
    return factor.matched


@kernel
def product(first: ptr[f64], mask: i64, matched: i1, result: ptr[f64]) -> None:
    """The adjoint of the product of a chain, on one side."""
    whole = stack_array(f64, 8)
    write(IDENTITY, whole)
    place: ptr[f64] = first
    while not is_null(place):
        factor = cast(place, Factor)
        multiply(side_of(factor, mask, matched), whole, whole)
        place = factor.next
    for row in static(range(2)):
        for column in static(range(2)):
            result[4 * row + 2 * column] = whole[4 * column + 2 * row]
            result[4 * row + 2 * column + 1] = -whole[4 * column + 2 * row + 1]


@kernel
def is_wanted(capture: Capture, first: ptr[f64], mask: i64, side: i64) -> i1:
    """Whether some parameter changes a product on a side: 0 `otherwise`, 1 `matched`."""
    place: ptr[f64] = first
    while not is_null(place):
        factor = cast(place, Factor)
        half = 8 if side == 1 or factor.mask != mask else 0
        for k in range(factor.parameters):
            pair = factor.derivative + k * factor.stride
            change = capture.derivatives + SIDES * pair + half
            for element in static(range(8)):
                if change[element] != 0.0:
                    return True
        place = factor.next
    return False


@kernel
def has_no_imaginary_parts(matrix: ptr[f64]) -> i1:
    """Whether a matrix is exactly real."""
    for k in static((1, 3, 5, 7)):
        if matrix[k] != 0.0:
            return False
    return True


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
    mask = operation.mask
    undone.factor_mask, undone.first = mask, operation.first
    product(operation.first, mask, True, undone.matched)
    undone.wants_matched = 1 if is_wanted(capture, operation.first, mask, 1) else 0
    if mask == 0:
        copy_matrix(undone.matched, undone.otherwise)
        undone.wants_otherwise = undone.wants_matched
    else:
        product(operation.first, mask, False, undone.otherwise)
        undone.wants_otherwise = 1 if is_wanted(capture, operation.first, mask, 0) else 0
    undone.keeps_otherwise = 1 if is_identity(undone.otherwise) else 0
    undone.keeps_matched = 1 if is_identity(undone.matched) else 0
    real = has_no_imaginary_parts(undone.matched) and has_no_imaginary_parts(undone.otherwise)
    undone.is_real = 1 if real else 0


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
