"""Operations waiting to be applied, fused as they arrive.

A gate costs a sweep over all amplitudes, two fused gates cost one. `push` therefore merges a new
operation into the last waiting one with the same target where that is exact:

* *same place*: nothing after the old one has used its target as a selector (`last_selector`),
  and the two agree on the selector, or one of them has none;
* then either the *new one moves back* (its selectors were not targets since), or the *old one
  moves forward* to the end (its selectors were not targets since): a selector use commutes with
  other selector uses, not with a target.

Operations with several mask bits merge only with the same mask and value: their product with
anything else is no operation of this kind. A test runs random circuits with and without fusion.
"""

from diastase_mlir.kernels.language import (
    count_ones,
    count_trailing_zeros,
    f64,
    i1,
    i64,
    inline,
    kernel,
    ptr,
    stack_array,
    static,
)
from diastase_mlir.kernels.state_vector.plan import run_planned
from diastase_mlir.kernels.state_vector.records import QUEUE_CAPACITY, Operation, State
from diastase_mlir.kernels.state_vector.sweeps import apply_operation


@inline
def copy_matrix(source: ptr[f64], target: ptr[f64]) -> None:
    """Copy a 2x2 matrix."""
    for k in static(range(8)):
        target[k] = source[k]


@inline
def multiply_into(target: ptr[f64], left: ptr[f64]) -> None:
    """`target = left @ target`; all loads come before the stores."""
    a = [left[0], left[1], left[2], left[3], left[4], left[5], left[6], left[7]]
    for column in static(range(2)):
        x, y = target[2 * column], target[2 * column + 1]
        z, w = target[4 + 2 * column], target[5 + 2 * column]
        target[2 * column] = a[0] * x - a[1] * y + a[2] * z - a[3] * w
        target[2 * column + 1] = a[0] * y + a[1] * x + a[2] * w + a[3] * z
        target[4 + 2 * column] = a[4] * x - a[5] * y + a[6] * z - a[7] * w
        target[5 + 2 * column] = a[4] * y + a[5] * x + a[6] * w + a[7] * z


@kernel
def forget_waiting(state: State) -> None:
    """Empty the queue without applying it."""
    state.waiting = 0
    for bit in range(state.qubits):
        state.last_target[bit] = -1
        state.last_selector[bit] = -1
    # A state without qubits has a phase, kept as an operation on bit 0.
    state.last_target[0] = -1
    state.last_selector[0] = -1


@kernel
def flush(state: State) -> None:
    """Apply all waiting operations to the amplitudes."""
    if state.waiting == 0:
        return
    if not run_planned(state):
        for k in range(state.waiting):
            if state.operations[k].is_live != 0:
                apply_operation(state, state.operations[k])
    forget_waiting(state)


@kernel
def not_targeted_since(state: State, mask: i64, index: i64) -> i1:
    """Whether no operation from `index` on has one of these bits as its target."""
    rest: i64 = mask
    while rest != 0:
        if state.last_target[count_trailing_zeros(rest)] >= index:
            return False
        rest &= rest - 1
    return True


@kernel
def note_selectors(state: State, mask: i64, index: i64) -> None:
    """Record that operation `index` has these bits in its mask."""
    rest: i64 = mask
    while rest != 0:
        bit = count_trailing_zeros(rest)
        if state.last_selector[bit] < index:
            state.last_selector[bit] = index
        rest &= rest - 1


@kernel
def can_share(old: Operation, mask: i64, value: i64) -> i1:
    """Whether the product with an operation of this mask is again one operation."""
    if old.mask == mask and old.value == value:
        return True
    one_selector = count_ones(old.mask | mask) <= 1
    return one_selector and (old.mask == 0 or mask == 0)


@kernel
def append(
    state: State, target: i64, mask: i64, value: i64, otherwise: ptr[f64], matched: ptr[f64]
) -> None:
    """Add an operation at the end; the queue has room."""
    index = state.waiting
    operation = state.operations[index]
    operation.target = target
    operation.mask = mask
    operation.value = value
    operation.is_live = 1
    copy_matrix(otherwise, operation.otherwise)
    copy_matrix(matched, operation.matched)
    state.last_target[target] = index
    note_selectors(state, mask, index)
    state.waiting = index + 1


@kernel
def merge(old: Operation, mask: i64, value: i64, otherwise: ptr[f64], matched: ptr[f64]) -> None:
    """Multiply an operation from the left by another that can share with it."""
    if old.mask == 0:
        copy_matrix(old.matched, old.otherwise)
        old.mask = mask
        old.value = value
    multiply_into(old.matched, matched)
    if mask == 0:
        multiply_into(old.otherwise, matched)
    else:
        multiply_into(old.otherwise, otherwise)


@kernel
def push(
    state: State, target: i64, mask: i64, value: i64, otherwise: ptr[f64], matched: ptr[f64]
) -> None:
    """Queue an operation (see `records.Operation`), merged into a waiting one where possible."""
    if state.waiting == QUEUE_CAPACITY:
        flush(state)
    index = state.last_target[target]
    if index < 0 or state.last_selector[target] > index:
        append(state, target, mask, value, otherwise, matched)
        return
    old = state.operations[index]
    can_move_back = not_targeted_since(state, mask, index)
    if not can_share(old, mask, value) or not (
        can_move_back or not_targeted_since(state, old.mask, index)
    ):
        append(state, target, mask, value, otherwise, matched)
        return
    merge(old, mask, value, otherwise, matched)
    if can_move_back:
        note_selectors(state, old.mask, index)
    else:
        old.is_live = 0
        append(state, target, old.mask, old.value, old.otherwise, old.matched)


@kernel
def push_single(state: State, target: i64, mask: i64, value: i64, matrix: ptr[f64]) -> None:
    """Queue a controlled matrix: the identity where the mask does not match."""
    identity = stack_array(f64, 8)
    for k in static(range(8)):
        identity[k] = 1.0 if k in (0, 6) else 0.0
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
