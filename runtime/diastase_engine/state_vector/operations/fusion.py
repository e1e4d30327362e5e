"""Waiting operations made one where that is exact.

`settle` takes the operation that was written behind the queue, and merges it into an older one if

* the two have the same target, and either the same mask and value, or one selector together: a
  diagonal operation with one selector may exchange the roles of its two bits first;
* and the new one can move back to the old one's place, or the old one forward to the end.

A diagonal operation that *waits for its like* is no factor of one with another target that takes
half of the multiplications (`stays_apart`): several of them together cost as much as few.

What turns out to be the identity is dropped, a selector that makes no difference forgotten; what
turns out to be diagonal no longer stands in the way (CNOT, RZ, CNOT is one diagonal operation).
One that keeps the parity of two bits (`parity_operations`) changes both. It merges with its like on
the same bits, and with diagonal ones on these. A rotation about a long Pauli word (`tiles.words`)
stays what it is.

*Commutation*: an operation *changes* its target bit and *reads* its selectors; a diagonal one
changes nothing and reads its target, too. Two operations commute where neither changes a bit that
the other changes or reads. `last_change` and `last_read` of the state hold, for each bit, the last
waiting operation that does; so an operation can be moved from or to a place in the queue without
looking at what lies between.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.operations.captured import Factor
from diastase_engine.state_vector.operations.parity_operations import (
    multiply_pairs,
    take_usual_form,
)
from diastase_engine.state_vector.state.records import (
    PLANNED_QUBITS,
    SMALLEST_GROUP,
    Operation,
    State,
)
from diastase_engine.state_vector.state.small_matrices import (
    copy_matrix,
    is_diagonal,
    is_equal,
    is_identity,
    is_real,
    is_turning,
    multiply,
)


@inline
def bits_used(operation: Operation) -> i64:
    """Return the target and the selectors as a mask."""
    return operation.reads | operation.changes


@kernel
def classify(operation: Operation) -> None:
    """Find out what an operation reads and changes; forget a selector without effect."""
    if operation.word != 0:
        operation.changes = operation.word
        operation.reads = (operation.signs | operation.mask) & ~operation.word
        return
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
    if old.word | new.word != 0:
        return False
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


@kernel
def commutes_since(state: State, operation: Operation, index: i64) -> i1:
    """Whether an operation commutes with everything that waits behind place `index`."""
    rest: i64 = operation.changes
    while rest != 0:
        if state.last_read[count_trailing_zeros(rest)] > index:
            return False
        rest &= rest - 1
    rest = bits_used(operation)
    while rest != 0:
        if state.last_change[count_trailing_zeros(rest)] > index:
            return False
        rest &= rest - 1
    return True


@kernel
def note(state: State, operation: Operation, index: i64) -> None:
    """Record what the operation at place `index` reads and changes."""
    rest: i64 = operation.changes
    while rest != 0:
        changed = count_trailing_zeros(rest)
        if state.last_change[changed] < index:
            state.last_change[changed] = index
        rest &= rest - 1
    rest = operation.reads
    while rest != 0:
        bit = count_trailing_zeros(rest)
        if state.last_read[bit] < index:
            state.last_read[bit] = index
        rest &= rest - 1


@kernel
def note_again(state: State, bits: i64) -> None:
    """Find out who reads and changes some bits, after an operation no longer does."""
    rest: i64 = bits
    while rest != 0:
        bit = count_trailing_zeros(rest)
        state.last_change[bit], state.last_read[bit] = -1, -1
        rest &= rest - 1
    changed: i64 = bits
    read: i64 = bits
    index: i64 = state.waiting - 1
    while index >= 0 and changed | read != 0:
        operation = state.operations[index]
        if operation.is_live != 0 and (operation.changes & changed | operation.reads & read) != 0:
            note(state, operation, index)
            changed &= ~operation.changes
            read &= ~operation.reads
        index -= 1


@kernel
def drop(state: State, index: i64) -> None:
    """Take an operation out of the queue; its bits have to be noted again."""
    state.operations[index].is_live = 0
    while state.waiting > 0 and state.operations[state.waiting - 1].is_live == 0:
        state.waiting -= 1


@inline
def has_groups(state: State) -> i1:
    """Whether diagonal operations are applied together: in a plan, and in a sweep back."""
    return state.qubits >= PLANNED_QUBITS or not is_null(state.capture)


@kernel
def are_many(state: State, index: i64) -> i1:
    """Whether so many diagonal operations with selectors wait next to each other, here included."""
    first: i64 = index
    while first > 0 and index - first < SMALLEST_GROUP and is_phase(state.operations[first - 1]):
        first -= 1
    last: i64 = index
    end = state.waiting - 1
    while last < end and last - first < SMALLEST_GROUP and is_phase(state.operations[last + 1]):
        last += 1
    return last + 1 - first >= SMALLEST_GROUP


@inline
def is_phase(operation: Operation) -> i1:
    """Whether an operation is diagonal, and has selectors or is gone."""
    return operation.is_live == 0 or (operation.changes == 0 and operation.mask != 0)


@kernel
def stays_apart(state: State, old: Operation, new: Operation, index: i64) -> i1:
    """Whether one of two operations is diagonal, and cheaper by itself than in their product.

    The product of a real or a turning matrix and of phases takes all multiplications. A new
    diagonal operation waits for others; an old one has waited in vain if there are too few of them.
    """
    phase, other = old, new
    if new.changes == 0:
        phase, other = new, old
    if phase.changes != 0 or phase.mask == 0 or other.changes == 0 or is_real(phase):
        return False
    if not (is_real(other) or is_turning(other)):
        return False
    return new.changes == 0 or are_many(state, index)


@kernel
def try_merge(state: State, index: i64) -> i1:
    """Merge the operation behind the queue with the one at place `index`; whether that was done."""
    if index < 0:
        return False
    old, new = state.operations[index], state.operations[state.waiting]
    if has_groups(state) and stays_apart(state, old, new, index):
        return False
    if not can_share(old, new):
        return False
    changes, reads = old.changes, old.reads
    place: i64 = index
    if commutes_since(state, new, index):
        multiply_into(old, new, old)
    elif commutes_since(state, old, index):
        place = state.waiting
        multiply_into(new, new, old)
        old.is_live = 0
        state.waiting += 1
    else:
        return False
    note_merged(state, place, changes, reads)
    return True


@kernel
def note_merged(state: State, place: i64, changes: i64, reads: i64) -> None:
    """Note or drop a product, one factor of which is known to have changed and read these bits."""
    merged = state.operations[place]
    if is_nothing(merged):
        drop(state, place)
        note_again(state, changes | reads)
    else:
        note(state, merged, place)
        lost = (changes & ~merged.changes) | (reads & ~merged.reads)
        if lost != 0:
            note_again(state, lost)


@kernel
def multiply_last(state: State, target: i64, matrix: ptr[f64]) -> i1:
    """Multiply a matrix into the last operation that changes its target, if none has read it since.

    What `settle` would do, without the matrix becoming an operation first; false where that one has
    to see. Most gates on one wire end here.
    """
    index = state.last_change[target]
    if index < 0 or state.last_read[target] > index:
        return False
    old = state.operations[index]
    if old.word | old.flips != 0 or old.mask & (old.mask - 1) != 0 or not is_null(old.first):
        return False
    changes, reads = old.changes, old.reads
    multiply(matrix, old.matched, old.matched)
    if old.mask != 0:
        multiply(matrix, old.otherwise, old.otherwise)
    classify(old)
    if old.changes != changes or old.reads != reads:
        note_merged(state, index, changes, reads)
    return True


@kernel
def try_places(state: State, bit: i64) -> i1:
    """Try the last operations that change or read a bit."""
    return try_merge(state, state.last_change[bit]) or try_merge(state, state.last_read[bit])


@kernel
def absorb_diagonals(state: State, new: Operation) -> None:
    """Let an operation behind the queue that keeps a parity take in diagonal ones on its bits."""
    rest: i64 = new.changes
    while rest != 0:
        bit = count_trailing_zeros(rest)
        rest &= rest - 1
        index = state.last_read[bit]
        if index >= 0:
            old = state.operations[index]
            if can_share_pair(old, new) and commutes_since(state, old, index):
                multiply_into(new, new, old)
                old.is_live = 0
                note_again(state, old.reads)
                rest = new.changes


@kernel
def settle(state: State) -> None:
    """Put the operation that was written behind the queue into it, merged where possible."""
    new = state.operations[state.waiting]
    classify(new)
    if is_nothing(new):
        return
    target = new.target
    if new.flips != 0:
        absorb_diagonals(state, new)
        if try_merge(state, state.last_change[target]):
            return
    elif new.changes != 0:
        change, read = state.last_change[target], state.last_read[target]
        if try_merge(state, change if change > read else read):
            return
    else:
        if try_places(state, target):
            return
        # The roles may have been exchanged by now: the other bit is the mask or the target.
        one_selector = count_ones(new.mask) == 1
        if one_selector and try_places(state, count_trailing_zeros(new.reads & ~(1 << target))):
            return
    note(state, new, state.waiting)
    state.waiting += 1
