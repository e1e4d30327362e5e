"""Waiting operations made one where that is exact.

`settle` takes the operation that was written behind the queue, and merges it into an older one if

* the two have the same target, and either the same mask and value, or one selector together: a
  diagonal operation with one selector may exchange the roles of its two bits first;
* and the new one can move back to the old one's place, or the old one forward to the end
  (`commutation`).

One that keeps the parity of two bits (`parity_operations`) changes both. It merges with its like on
the same bits, and with diagonal ones on these.
"""

from diastase_engine.language import count_ones, count_trailing_zeros, i1, i64, kernel
from diastase_engine.state_vector.operations.commutation import (
    commutes_since,
    drop,
    note,
    note_again,
)
from diastase_engine.state_vector.operations.operation_products import (
    can_share,
    can_share_pair,
    classify,
    is_nothing,
    multiply_into,
)
from diastase_engine.state_vector.state.records import Operation, State


@kernel
def try_merge(state: State, index: i64) -> i1:
    """Merge the operation behind the queue with the one at place `index`; whether that was done."""
    if index < 0:
        return False
    old, new = state.operations[index], state.operations[state.waiting]
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
    merged = state.operations[place]
    if is_nothing(merged):
        drop(state, place)
        note_again(state, changes | reads)
    else:
        note(state, merged, place)
        lost = (changes & ~merged.changes) | (reads & ~merged.reads)
        if lost != 0:
            note_again(state, lost)
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
