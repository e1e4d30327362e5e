"""Who changes and reads which bits: whether an operation can move within the queue.

An operation *changes* its target bit and *reads* its selectors; a diagonal one changes nothing and
reads its target, too. Two operations commute where neither changes a bit that the other changes or
reads. `last_change` and `last_read` of the state hold, for each bit, the last waiting operation
that does; so an operation can be moved from or to a place in the queue without looking at what
lies between.
"""

from diastase_engine.language import count_trailing_zeros, i1, i64, kernel
from diastase_engine.state_vector.operations.operation_products import bits_used
from diastase_engine.state_vector.state.records import Operation, State


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
