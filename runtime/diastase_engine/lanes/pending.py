"""Pending matrices: gates on one wire multiply them, whatever needs the amplitudes applies them.

A pending matrix commutes with all that does not touch its bit, and a diagonal one with what only
reads it. One that is not unitary (`Lanes.any_norm`) changes the weights of all bits.
"""

from diastase_engine.lanes.algebra import COMPOSED, FORMS, OTHERS, Matrix, loaded, product
from diastase_engine.lanes.records import MATRIX, Lanes, active_of, lanes_of
from diastase_engine.lanes.sweeps import can_rename, exchange, matrices_of, sweep
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.small_matrices import IDENTITY


@inline
def write_fresh(lanes: Lanes, group: i64, which: int, matrix: Matrix, form: int) -> None:
    """Write a matrix of the gate that is being applied; the identity in lanes not active."""
    target = lanes.fresh + MATRIX * (which * lanes.groups + group)
    for k in static(range(8)):
        if form >> k & 1 == 1:
            target[k] = matrix[k]
    if lanes.all_active == 0:
        active = active_of(lanes, group)
        for k in static(range(8)):
            if form >> k & 1 == 1:
                target[k] = select(active, target[k], IDENTITY[k])


@kernel
def apply_pending(state: State, bit: i64) -> None:
    """Apply what is pending on a bit."""
    lanes = lanes_of(state)
    form = lanes.forms[bit]
    if form != 0:
        lanes.forms[bit] = 0
        lanes.any_norm &= ~(1 << bit)
        sweep(state, form, bit, 1 << bit, 0, 0, matrices_of(lanes, bit))


@kernel
def apply_all(state: State) -> None:
    """Apply all that is pending."""
    for bit in range(state.qubits):
        apply_pending(state, bit)


@kernel
def settle(state: State, read: i64, changed: i64) -> None:
    """Apply what does not commute with something that reads some bits and changes others."""
    forms = lanes_of(state).forms
    for bit in range(state.qubits):
        if (changed >> bit) & 1 == 1 or ((read >> bit) & 1 == 1 and forms[bit] & OTHERS != 0):
            apply_pending(state, bit)


@inline
def merge_forms(lanes: Lanes, bit: i64, fresh: int, before: int) -> None:
    """`merge` for matrices of (static) forms."""
    old, new = matrices_of(lanes, bit), lanes.fresh
    form = COMPOSED[fresh][before]
    for place in range(lanes.groups):
        both = product(loaded(new + MATRIX * place, fresh), loaded(old + MATRIX * place, before))
        target = old + MATRIX * place
        for k in static(range(8)):
            if form >> k & 1 == 1:
                target[k] = both[k]
    lanes.forms[bit] = form


@kernel
def keep(lanes: Lanes, bit: i64, form: i64) -> None:
    """Let a fresh matrix be the pending one of a bit that has none."""
    target = matrices_of(lanes, bit)
    for k in range(MATRIX * lanes.groups):
        target[k] = lanes.fresh[k]
    lanes.forms[bit] = form


@kernel
def merge(lanes: Lanes, bit: i64, form: i64) -> None:
    """Multiply the pending matrix of a bit by the fresh one."""
    before = lanes.forms[bit]
    if before == 0:
        keep(lanes, bit, form)
        return
    for fresh in static(FORMS):
        for old in static(FORMS):
            if form == fresh and before == old:
                merge_forms(lanes, bit, fresh, old)
                return


@kernel
def apply_fresh(
    state: State, form: i64, is_exchange: i1, target: i64, mask: i64, value: i64, which: i64
) -> None:
    """Apply a fresh matrix, exactly X if so said, where the bits in `mask` have a value."""
    lanes = lanes_of(state)
    by_name = is_exchange and can_rename(lanes)
    if mask == 0 and not (by_name and lanes.forms[target] == 0):
        merge(lanes, target, form)
        return
    bit = 1 << target
    if form & OTHERS == 0:
        settle(state, mask | bit, 0)
    else:
        settle(state, mask, bit)
    if by_name:
        exchange(state, target, bit, mask, value)
    else:
        sweep(state, form, target, bit, mask, value, lanes.fresh + which * lanes.groups * MATRIX)
