"""Rotations about Pauli words: exp(-i theta/2 P), for a word P on any wires, with controls.

In: a code of the gate table's family (`gate_table.PAULI_ROTATION`), which says how many letters of
each kind there are, and checked wires, those of X first, then Y, then Z. On one wire it is RX, RY
or RZ, on two an operation of the queue like IsingXX, on three that of two between two gates; Z
alone is MultiRZ. All others are `push_word` (`tiles.words`), one walk over the state whatever the
length.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.gates.decompositions import multi_rz, push_parity
from diastase_engine.state_vector.gates.matrices import (
    PAULI_X,
    PAULI_Y,
    PAULI_Z,
    cos,
    rotation_x,
    rotation_y,
    sin,
    write,
)
from diastase_engine.state_vector.queue.queue import push_selected, push_single, push_word
from diastase_engine.state_vector.state.records import State
from diastase_runtime.gate_table import GATES, LETTER_BITS, PAULI_ROTATION

MULTI_RZ = GATES["MultiRZ"].code
PAULI_MATRICES = {1: PAULI_X, 2: PAULI_Y, 3: PAULI_Z}
MASK = (1 << LETTER_BITS) - 1
MOST_WITH_MATRICES = 3
"""Letters of a word whose rotation is an operation with matrices."""


@kernel
def is_long_word(code: i64, count: i64) -> i1:
    """Whether a gate is a rotation that is an operation of its own kind."""
    return code > PAULI_ROTATION and count > MOST_WITH_MATRICES


@kernel
def letters_flipping(code: i64) -> i64:
    """How many letters are X or Y: those of the first wires."""
    return (code & MASK) + letters_y(code)


@kernel
def letters_y(code: i64) -> i64:
    """How many letters are Y."""
    return ((code - PAULI_ROTATION) >> LETTER_BITS) & MASK


@kernel
def mask_of_wires(state: State, wires: ptr[i64], first: i64, end: i64) -> i64:
    """The bits of some of these checked wires."""
    mask: i64 = 0
    for k in range(first, end):
        mask |= 1 << state.bit_of_wire[wires[k]]
    return mask


@kernel
def flipped_by(state: State, code: i64, wires: ptr[i64]) -> i64:
    """The bits that a word flips: those of X and Y."""
    return mask_of_wires(state, wires, 0, letters_flipping(code))


@kernel
def signs_of(state: State, code: i64, count: i64, wires: ptr[i64]) -> i64:
    """The bits of a word whose ones change the sign: those of Y and Z."""
    return mask_of_wires(state, wires, code & MASK, count)


@kernel
def short_word(
    state: State, code: i64, count: i64, wires: ptr[i64], controls: i64, value: i64, theta: f64
) -> None:
    """Queue a word on one or two wires that is not diagonal."""
    first = state.bit_of_wire[wires[0]]
    a, b = stack_array(f64, 8), stack_array(f64, 8)
    if count == 1 or letters_flipping(code) == 1:
        if letters_y(code) == 1:
            write(rotation_y(theta), a)
            write(rotation_y(-theta), b)
        else:
            write(rotation_x(theta), a)
            write(rotation_x(-theta), b)
        if count == 1:
            push_single(state, first, controls, value, a)
        else:
            push_selected(state, first, state.bit_of_wire[wires[1]], controls, value, a, b)
        return
    # On |00>, |11> and on |01>, |10>; XY is Y on the former, -Y on the latter.
    if letters_y(code) == 1:
        write(rotation_y(theta), a)
        write(rotation_y(-theta), b)
    else:
        write(rotation_x(theta if letters_y(code) == 0 else -theta), a)
        write(rotation_x(theta), b)
    push_parity(state, first, state.bit_of_wire[wires[1]], controls, value, a, b)


@kernel
def three_letters(
    state: State, code: i64, wires: ptr[i64], controls: i64, value: i64, theta: f64
) -> None:
    """Queue a word on three wires: that of two, between gates that add the third letter.

    Where the first letter is X or Y, a controlled Pauli matrix L of its wire takes it to itself
    times L.
    """
    letter: i64 = 3
    of_two: i64 = code
    if letters_flipping(code) == 3:
        letter = 2 if letters_y(code) > 0 else 1
        of_two = code - (1 << LETTER_BITS if letter == 2 else 1)
    matrix = stack_array(f64, 8)
    for k in static(range(1, 4)):
        if letter == k:
            write(PAULI_MATRICES[k], matrix)
    first, third = 1 << state.bit_of_wire[wires[0]], state.bit_of_wire[wires[2]]
    push_single(state, third, first, first, matrix)
    short_word(state, of_two, 2, wires, controls, value, theta)
    push_single(state, third, first, first, matrix)


@kernel
def pauli_rotation(
    state: State, code: i64, count: i64, wires: ptr[i64], controls: i64, value: i64, theta: f64
) -> None:
    """Queue the rotation."""
    if code == PAULI_ROTATION or code == MULTI_RZ:
        multi_rz(state, count, wires, controls, value, theta)
    elif is_long_word(code, count):
        word, signs = flipped_by(state, code, wires), signs_of(state, code, count, wires)
        push_word(state, word, signs, controls, value, cos(0.5 * theta), sin(0.5 * theta))
    elif count == 3:
        three_letters(state, code, wires, controls, value, theta)
    else:
        short_word(state, code, count, wires, controls, value, theta)
