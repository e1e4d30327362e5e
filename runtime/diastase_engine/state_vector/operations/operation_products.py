"""Products of two operations: whether they are one operation again, and which.

What turns out to be the identity is dropped, a selector that makes no difference forgotten; what
turns out to be diagonal no longer stands in the way (CNOT, RZ, CNOT is one diagonal operation).
"""

from diastase_engine.language import (
    cast,
    count_ones,
    count_trailing_zeros,
    f64,
    i1,
    i64,
    inline,
    is_null,
    kernel,
    stack_array,
    static,
)
from diastase_engine.state_vector.operations.captured import Factor
from diastase_engine.state_vector.operations.parity_operations import (
    multiply_pairs,
    take_usual_form,
)
from diastase_engine.state_vector.state.records import Operation
from diastase_engine.state_vector.state.small_matrices import (
    copy_matrix,
    is_diagonal,
    is_equal,
    is_identity,
    multiply,
)


@inline
def bits_used(operation: Operation) -> i64:
    """Return the target and the selectors as a mask."""
    return operation.reads | operation.changes


@kernel
def classify(operation: Operation) -> None:
    """Find out what an operation reads and changes; forget a selector without effect."""
    if operation.flips != 0:
        if not (is_diagonal(operation.matched) and is_diagonal(operation.otherwise)):
            operation.changes, operation.reads = operation.flips | (1 << operation.target), 0
            return
        take_usual_form(operation)
    mask = operation.mask
    if mask != 0 and mask & (mask - 1) == 0 and is_equal(operation.otherwise, operation.matched):
        operation.mask, operation.value = 0, 0
    target = 1 << operation.target
    plain = is_diagonal(operation.matched)
    if plain and operation.mask != 0:
        plain = is_diagonal(operation.otherwise)
    operation.changes = 0 if plain else target
    operation.reads = operation.mask | target if plain else operation.mask


@kernel
def is_nothing(operation: Operation) -> i1:
    """Whether an operation is exactly the identity."""
    if not is_identity(operation.matched):
        return False
    return operation.mask == 0 or is_identity(operation.otherwise)


@kernel
def exchange_roles(operation: Operation) -> None:
    """Let the target and the one selector of a diagonal operation change places."""
    zero, one = stack_array(f64, 8), stack_array(f64, 8)
    for k in static(range(2)):
        zero[k], zero[6 + k] = operation.otherwise[k], operation.matched[k]
        one[k], one[6 + k] = operation.otherwise[6 + k], operation.matched[6 + k]
    for k in static(range(2, 6)):
        zero[k], one[k] = 0.0, 0.0
    target = operation.target
    operation.target = count_trailing_zeros(operation.mask)
    operation.mask, operation.value = 1 << target, 1 << target
    copy_matrix(zero, operation.otherwise)
    copy_matrix(one, operation.matched)


@inline
def can_exchange(operation: Operation, other: Operation) -> i1:
    """Whether an exchange of roles would let an operation share the target of another."""
    return (
        operation.changes == 0
        and is_null(operation.first)
        and operation.mask == 1 << other.target
        and other.mask & ~(1 << operation.target) == 0
    )


@kernel
def can_share_pair(old: Operation, new: Operation) -> i1:
    """The same where one keeps the parity of two bits: as the other does, or is diagonal there."""
    if old.flips != 0 and new.flips != 0:
        return old.changes == new.changes
    if old.flips != 0:
        return new.changes == 0 and new.reads & ~old.changes == 0
    return old.changes == 0 and old.reads & ~new.changes == 0


@kernel
def can_share(old: Operation, new: Operation) -> i1:
    """Whether the product is again one operation; makes their targets equal if so."""
    if old.flips | new.flips != 0:
        return can_share_pair(old, new)
    if old.target != new.target:
        if can_exchange(old, new):
            exchange_roles(old)
        elif can_exchange(new, old):
            exchange_roles(new)
        else:
            return False
    if old.mask == new.mask and old.value == new.value:
        return True
    return count_ones(old.mask | new.mask) <= 1


@kernel
def chain(target: Operation, left: Operation, right: Operation) -> None:
    """Put the factors of a product in a row: those of `right` come first."""
    first, last = right.first, left.last
    cast(right.last, Factor).next = left.first
    cast(left.first, Factor).previous = right.last
    target.first, target.last = first, last


@kernel
def multiply_into(target: Operation, left: Operation, right: Operation) -> None:
    """`target = left @ right`; target is one of them, and they can share."""
    if not is_null(left.first):
        chain(target, left, right)
    if left.flips | right.flips != 0:
        multiply_pairs(target, left, right)
        classify(target)
        return
    mask = left.mask | right.mask
    if mask != 0:
        left_otherwise = left.matched if left.mask == 0 else left.otherwise
        right_otherwise = right.matched if right.mask == 0 else right.otherwise
        multiply(left_otherwise, right_otherwise, target.otherwise)
    multiply(left.matched, right.matched, target.matched)
    target.mask, target.value = mask, left.value | right.value
    classify(target)
