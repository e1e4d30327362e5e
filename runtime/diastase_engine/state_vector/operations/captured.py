"""Operations as they are, before anything is fused: what a gate pushes, kept as *factors*.

A state with a `Capture` queues nothing (and has no amplitudes): `push` brings each operation here.
A gate is captured several times, with other parameters each time; which operations it pushes does
not depend on these. So the k-th operation of the first time and of any other belong together:

    ACTUAL    the operation itself: a new factor
    GENERIC   with parameters that are nothing special: what tells which bits it uses *for any*
              parameters. RX(0) is the identity, but its derivative is not.
    SHIFTED   a term of the derivative: matrices times `weight`, added up
"""

from typing import Annotated

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import State, realloc
from diastase_engine.state_vector.state.small_matrices import copy_matrix

ACTUAL, GENERIC, SHIFTED = range(3)
SIDES = 16
"""Numbers of a pair of matrices: `otherwise`, `matched`."""


class Factor(Record):
    """An operation that a gate pushed."""

    target: i64
    mask: i64
    value: i64
    parameters: i64
    """How many parameters its gate has."""
    parameter: i64
    """The number of the first of them on the tape."""
    derivative: i64
    stride: i64
    """Its derivatives by these: pairs of matrices `derivative`, `derivative + stride`, ..."""
    next: ptr[f64]
    previous: ptr[f64]
    """The factors that are applied after it and before it, within a product."""
    otherwise: Annotated[ptr[f64], 8]
    matched: Annotated[ptr[f64], 8]
    generic_otherwise: Annotated[ptr[f64], 8]
    generic_matched: Annotated[ptr[f64], 8]


class Capture(Record):
    """What is being captured."""

    factors: ptr[Factor]
    count: i64
    room: i64
    derivatives: ptr[f64]
    pairs: i64
    """How many pairs of matrices there are among the derivatives."""
    pairs_room: i64
    mode: i64
    cursor: i64
    """Which factor is next, or which pair."""
    weight: f64
    first_bit: i64
    second_bit: i64
    """The bits that the two wires of the gate had before it."""


@kernel
def room_for_factors(capture: Capture, more: i64) -> i1:
    """Make room for so many factors; whether there is any."""
    needed = capture.count + more
    if needed <= capture.room:
        return True
    memory = realloc(cast(capture.factors, ptr[f64]), 2 * needed * size_of(Factor))
    if is_null(memory):
        return False
    capture.factors, capture.room = cast(memory, ptr[Factor]), 2 * needed
    return True


@kernel
def room_for_derivatives(capture: Capture, more: i64) -> i1:
    """Make room for so many pairs of matrices, all zero; whether there is any."""
    needed = capture.pairs + more
    if needed > capture.pairs_room:
        memory = realloc(capture.derivatives, 2 * needed * SIDES * 8)
        if is_null(memory):
            return False
        capture.derivatives, capture.pairs_room = memory, 2 * needed
    for k in range(SIDES * capture.pairs, SIDES * needed):
        capture.derivatives[k] = 0.0
    capture.pairs = needed
    return True


@kernel
def capture_operation(
    state: State, target: i64, mask: i64, value: i64, otherwise: ptr[f64], matched: ptr[f64]
) -> None:
    """Take an operation instead of the queue; there is room."""
    capture = cast(state.capture, Capture)
    place = capture.cursor
    capture.cursor = place + 1
    # As in the queue: selected by a one, where it is one bit that selects.
    is_turned = value == 0 and mask != 0 and mask & (mask - 1) == 0
    zero = matched if is_turned else otherwise
    one = otherwise if is_turned else matched
    if capture.mode == SHIFTED:
        sums = capture.derivatives + SIDES * place
        for k in static(range(8)):
            sums[k] = sums[k] + capture.weight * zero[k]
            sums[8 + k] = sums[8 + k] + capture.weight * one[k]
        return
    factor = capture.factors[place]
    if capture.mode == GENERIC:
        copy_matrix(zero, factor.generic_otherwise)
        copy_matrix(one, factor.generic_matched)
        return
    capture.count = place + 1
    factor.target, factor.mask = target, mask
    factor.value = mask if is_turned else value
    factor.parameters = 0
    copy_matrix(zero, factor.otherwise)
    copy_matrix(one, factor.matched)
    copy_matrix(zero, factor.generic_otherwise)
    copy_matrix(one, factor.generic_matched)
