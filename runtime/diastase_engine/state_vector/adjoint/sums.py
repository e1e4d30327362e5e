"""What a sweep back sums up for derivatives: in registers, then in vectors, then in numbers.

A pass adds its products to registers, lane by lane and in double precision, and these to the
vectors of its operation; they are folded into numbers when a worker is done with a part of a chunk.
`backward_records` says what is summed. With a block target every lane has what its name says. With
a lane target the lanes of the zero and of the one are apart: there

    BY_X     l w - m z, which is `conj(adjoint)` times the state's partner, its imaginary part
    BY_Y     l z + m w, its real part, to be counted negative in the lanes of the zero
    BY_ZERO  `Im conj(adjoint) state`, in all lanes

Where a selector is a lane, the vectors of the side that matches have both.
"""

from typing import Any

from diastase_engine.language import (
    broadcast_wide,
    f64,
    horizontal_sum,
    i64,
    inline,
    kernel,
    lanes_match,
    ptr,
    registers,
    select,
    static,
    vector,
    wide,
    widen,
)
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    Undone,
)
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, SINGLE


@inline
def load_sums(memory: ptr[wide]) -> Any:
    """The sums so far, in registers."""
    sums = registers(wide, SIDE_SUMS)
    for k in static(range(SIDE_SUMS)):
        sums[k] = memory[k]
    return sums


@inline
def store_sums(sums: Any, memory: ptr[wide]) -> None:
    """Put sums back; LLVM leaves out what has not changed."""
    for k in static(range(SIDE_SUMS)):
        memory[k] = sums[k]


@inline
def add_difference(sums: Any, k: int, a: vector, b: vector, c: vector, d: vector) -> None:
    """Add `a b - c d`."""
    if SINGLE == 1:
        sums[k] = sums[k] + widen(a * b - c * d)
    else:
        sums[k] = sums[k] + widen(a * b) - widen(c * d)


@inline
def add_imaginary(sums: Any, k: int, l: vector, m: vector, x: vector, y: vector) -> None:  # noqa: E741
    """Add `Im conj(l + im) (x + iy)`."""
    add_difference(sums, k, l, y, m, x)


@inline
def add_pair(sums: Any, by_x: bool, by_y: bool, p: list[vector], s: list[vector]) -> None:
    """Add what a block of zeros and one of ones give: `p` of the adjoint, `s` of the state."""
    add_imaginary(sums, BY_ZERO, p[0], p[1], s[0], s[1])
    add_imaginary(sums, BY_ONE, p[2], p[3], s[2], s[3])
    # One chain of additions for each sum, however many products: its length is what takes time.
    if by_x:
        crossed = p[0] * s[3] - p[1] * s[2] + p[2] * s[1] - p[3] * s[0]
        sums[BY_X] = sums[BY_X] + widen(crossed)
    if by_y:
        turned = p[2] * s[0] + p[3] * s[1] - p[0] * s[2] - p[1] * s[3]
        sums[BY_Y] = sums[BY_Y] + widen(turned)


@inline
def add_lanes(sums: Any, by_x: bool, by_y: bool, p: list[vector], s: list[vector]) -> None:
    """Add what a block gives with a target in its lanes: state, and state shuffled, in `s`."""
    add_imaginary(sums, BY_ZERO, p[0], p[1], s[0], s[1])
    if by_x:
        add_imaginary(sums, BY_X, p[0], p[1], s[2], s[3])
    if by_y:
        if SINGLE == 1:
            sums[BY_Y] = sums[BY_Y] + widen(p[0] * s[2] + p[1] * s[3])
        else:
            sums[BY_Y] = sums[BY_Y] + widen(p[0] * s[2]) + widen(p[1] * s[3])


@inline
def sum_in(numbers: wide, mask: i64, value: i64) -> f64:
    """The sum of the lanes that match."""
    return horizontal_sum(select(lanes_match(mask, value), numbers, broadcast_wide(0.0)))


@kernel
def fold_lanes(sums: ptr[wide], target: i64, mask: i64, value: i64, moments: ptr[f64]) -> None:
    """Add the lanes that match, to the numbers of a side."""
    if target >= LANE_BITS:
        for k in static(range(SIDE_SUMS)):
            moments[k] = moments[k] + sum_in(sums[k], mask, value)
        return
    bit = 1 << target
    both, ones = mask | bit, value | bit
    y = sums[BY_Y]
    moments[BY_X] = moments[BY_X] + sum_in(sums[BY_X], mask, value)
    moments[BY_Y] = moments[BY_Y] + sum_in(y, both, ones) - sum_in(y, both, value)
    moments[BY_ZERO] = moments[BY_ZERO] + sum_in(sums[BY_ZERO], both, value)
    moments[BY_ONE] = moments[BY_ONE] + sum_in(sums[BY_ZERO], both, ones)


@kernel
def fold_operation(operation: Undone, sums: ptr[wide], moments: ptr[f64]) -> None:
    """Add the vectors of an operation to its numbers."""
    mask, value = operation.mask & LANE_MASK, operation.value & LANE_MASK
    target = operation.target
    if operation.wants_otherwise != 0 and operation.mask != 0:
        fold_lanes(sums, target, 0, 0, moments)
    if operation.wants_matched != 0:
        fold_lanes(sums + SIDE_SUMS, target, mask, value, moments + SIDE_SUMS)
    # With several bits in the mask nothing depends on the other side.
    if operation.wants_otherwise != 0 and mask != 0:
        fold_lanes(sums + SIDE_SUMS, target, mask, mask ^ value, moments)
