"""Named gates as factors: code, number of wires and parameters in, a `Factor` without wires out."""

from diastase_engine.density_matrix.operations.conjugation import MATRIX, ROTATION, Factor
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import (
    DOUBLE_EXCITATION,
    DOUBLE_EXCITATION_MINUS,
    DOUBLE_EXCITATION_PLUS,
    ORBITAL_ROTATION,
)
from diastase_engine.state_vector.gates.matrices import (
    PARITY,
    SELECTED_THEN_FLIP,
    SELECTED_THEN_SWAP,
    base_of_controlled,
    cos,
    pair_matrices,
    sin,
    single_matrix,
    write,
)
from diastase_engine.state_vector.gates.pauli_rotations import (
    MULTI_RZ,
    letters_flipping,
    letters_y,
)
from diastase_engine.state_vector.state.small_matrices import IDENTITY
from diastase_runtime.gate_table import GATES, PAULI_ROTATION

SWAP = GATES["SWAP"].code
SINGLE_EXCITATION = GATES["SingleExcitation"].code
MOST_NUMBERS = 512
"""Of a named gate."""


@inline
def index_in(shape: i64, block: i64, k: i64) -> i64:
    """By the first wire's value, or by the parity: |00>, |11> and |01>, |10>."""
    return select(shape == PARITY, 2 * k + (k ^ block), 2 * block + k)


@inline
def moved(shape: i64, row: i64) -> i64:
    """Where X on the first wire or SWAP puts a row."""
    swapped = select(shape == SELECTED_THEN_SWAP, ((row & 1) << 1) | (row >> 1), row)
    return select(shape == SELECTED_THEN_FLIP, row ^ 2, swapped)


@kernel
def pair_matrix(code: i64, parameter: f64, matrix: ptr[f64]) -> i1:
    """Write the 4x4 matrix of a gate on two wires; false where `code` is no such gate."""
    first, second = stack_array(f64, 8), stack_array(f64, 8)
    shape: i64 = SELECTED_THEN_SWAP
    if code == SWAP:
        write(IDENTITY, first)
        write(IDENTITY, second)
    else:
        shape = pair_matrices(code, parameter, first, second)
    if shape < 0:
        return False
    for k in range(32):
        matrix[k] = 0.0
    for block in range(2):
        for row in range(2):
            for column in range(2):
                r = moved(shape, index_in(shape, block, row))
                c = index_in(shape, block, column)
                for part in range(2):
                    k = 4 * row + 2 * column + part
                    matrix[2 * (4 * r + c) + part] = first[k] if block == 0 else second[k]
    return True


@kernel
def write_double_excitation(phi: f64, others: f64, matrix: ptr[f64]) -> None:
    """A rotation of |0011>, |1100>; everything else gets the phase exp(i others)."""
    for k in range(512):
        matrix[k] = 0.0
    for row in range(16):
        matrix[34 * row], matrix[34 * row + 1] = cos(others), sin(others)
    c, s = cos(0.5 * phi), sin(0.5 * phi)
    low, high = 2 * (16 * 3 + 3), 2 * (16 * 12 + 12)
    matrix[low], matrix[low + 1], matrix[high], matrix[high + 1] = c, 0.0, c, 0.0
    matrix[low + 18], matrix[high - 18] = -s, s


@kernel
def write_orbital_rotation(phi: f64, matrix: ptr[f64]) -> None:
    """PennyLane's decomposition: two real excitations between FermionicSWAPs of the middle wires.

    These exchange the middle bits, with a sign where both are one.
    """
    excitation = stack_array(f64, 32)
    pair_matrix(SINGLE_EXCITATION, phi, excitation)
    for row in range(16):
        for column in range(16):
            first = 8 * ((2 * ((row >> 3) & 1)) | ((row >> 1) & 1))
            first += 2 * ((2 * ((column >> 3) & 1)) | ((column >> 1) & 1))
            second = 8 * ((2 * ((row >> 2) & 1)) | (row & 1))
            second += 2 * ((2 * ((column >> 2) & 1)) | (column & 1))
            odd = to_integer(row & 6 == 6) ^ to_integer(column & 6 == 6)
            number = excitation[first] * excitation[second]
            place = 2 * (16 * row + column)
            matrix[place], matrix[place + 1] = (-number if odd == 1 else number), 0.0


@kernel
def write_word(code: i64, count: i64, theta: f64, factor: Factor) -> None:
    """A rotation about a Pauli word: X on the first wires, then Y, then Z."""
    flipping: i64 = 0
    of_x: i64 = 0
    if code != MULTI_RZ:
        flipping = letters_flipping(code)
        of_x = flipping - letters_y(code)
    factor.kind = ROTATION
    factor.flips = ((1 << count) - 1) & ~((1 << (count - flipping)) - 1)
    factor.signs = (1 << (count - of_x)) - 1
    factor.numbers[0], factor.numbers[1] = cos(0.5 * theta), sin(0.5 * theta)


@kernel
def write_gate(code: i64, n_wires: i64, p: ptr[f64], factor: Factor) -> i64:
    """Write a gate into the numbers of a factor, for three parameters.

    Returns how many of its wires are controls, or -1 where there is no such gate.
    """
    numbers = factor.numbers
    factor.kind, factor.flips, factor.signs = MATRIX, 0, 0
    if code == MULTI_RZ or code >= PAULI_ROTATION:
        write_word(code, n_wires, p[0], factor)
    elif code == DOUBLE_EXCITATION:
        write_double_excitation(p[0], 0.0, numbers)
    elif code == DOUBLE_EXCITATION_PLUS:
        write_double_excitation(p[0], 0.5 * p[0], numbers)
    elif code == DOUBLE_EXCITATION_MINUS:
        write_double_excitation(p[0], -0.5 * p[0], numbers)
    elif code == ORBITAL_ROTATION:
        write_orbital_rotation(p[0], numbers)
    elif single_matrix(base_of_controlled(code), p[0], p[1], p[2], numbers):
        return 1
    elif not single_matrix(code, p[0], p[1], p[2], numbers) and not pair_matrix(
        code, p[0], numbers
    ):
        return -1
    return 0
