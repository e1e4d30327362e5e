"""Any 4x4 matrix on two bits as operations of the queue.

In: the matrix, two bits (the first one most significant), controls that restrict it. What the
zeros of the matrix tell is used first, and holds for any matrix, unitary or not; `d` marks the
blocks that may differ from zero:

* diagonal by the first or the second bit: one operation on the other bit, which that one selects;
* the same after an exchange of the rows |01> and |10>: that operation, then a SWAP (by name);
* the same with the blocks off the diagonal: that operation, then X on the first or second bit;
* PARITY (see `matrices`): |00>, |11> apart from |01>, |10>.

Else the cosine-sine decomposition, three operations; false for a matrix that is not unitary.
"""

from diastase_engine.language import f64, i1, i64, kernel, ptr, stack_array, static
from diastase_engine.state_vector.gates.cosine_sine import LEFT, MIDDLE, PARTS, RIGHT, cosine_sine
from diastase_engine.state_vector.gates.decompositions import push_flip, push_parity, push_swap
from diastase_engine.state_vector.queue.queue import push_selected
from diastase_engine.state_vector.state.records import State

_PLACES = [(row, column) for row in range(4) for column in range(4)]
ZERO_OUTSIDE = {
    "first": [(r, c) for r, c in _PLACES if r >> 1 == c >> 1],
    "second": [(r, c) for r, c in _PLACES if r & 1 == c & 1],
    "parity": [(r, c) for r, c in _PLACES if (r ^ (r >> 1)) & 1 == (c ^ (c >> 1)) & 1],
}
"""Where the elements may differ from zero."""


def _bits(places: list[tuple[int, int]]) -> int:
    return sum(1 << (4 * row + column) for row, column in places)


FIRST = _bits(ZERO_OUTSIDE["first"])
SECOND = _bits(ZERO_OUTSIDE["second"])
EVEN_OR_ODD = _bits(ZERO_OUTSIDE["parity"])
SWAP_ROWS = [0, 2, 1, 3]
"""Row `k` of SWAP times a matrix is its row `SWAP_ROWS[k]`."""


@kernel
def non_zeros(matrix: ptr[f64]) -> i64:
    """For each element, row by row, a bit that tells whether it differs from zero."""
    found: i64 = 0
    for k in static(range(16)):
        if matrix[2 * k] != 0.0 or matrix[2 * k + 1] != 0.0:
            found |= 1 << k
    return found


@kernel
def pick(matrix: ptr[f64], zero: i64, one: i64, result: ptr[f64]) -> None:
    """Write the 2x2 matrix of two rows and the same two columns."""
    for column in static(range(2)):
        place = one if column == 1 else zero
        for part in static(range(2)):
            result[2 * column + part] = matrix[2 * (4 * zero + place) + part]
            result[4 + 2 * column + part] = matrix[2 * (4 * one + place) + part]


@kernel
def push_diagonal_blocks(
    state: State,
    non_zero: i64,
    matrix: ptr[f64],
    first: i64,
    second: i64,
    controls: i64,
    value: i64,
) -> i1:
    """Queue a matrix whose blocks by one of the bits are diagonal; false where it is none."""
    zero, one = stack_array(f64, 8), stack_array(f64, 8)
    if non_zero & ~FIRST == 0:
        pick(matrix, 0, 1, zero)
        pick(matrix, 2, 3, one)
        push_selected(state, second, first, controls, value, zero, one)
        return True
    if non_zero & ~SECOND == 0:
        pick(matrix, 0, 2, zero)
        pick(matrix, 1, 3, one)
        push_selected(state, first, second, controls, value, zero, one)
        return True
    return False


@kernel
def permute_rows(matrix: ptr[f64], flip: i64, swap: i64, result: ptr[f64]) -> None:
    """Write the rows in the order in which X on some bits, or SWAP, would put them."""
    for row in static(range(4)):
        source = SWAP_ROWS[row] if swap != 0 else row ^ flip
        for k in static(range(8)):
            result[8 * row + k] = matrix[8 * source + k]


@kernel
def push_permuted_blocks(
    state: State, matrix: ptr[f64], first: i64, second: i64, controls: i64, value: i64
) -> i1:
    """Queue a matrix that differs from one of diagonal blocks by a SWAP or an X after it."""
    permuted = stack_array(f64, 32)
    if controls == 0:
        permute_rows(matrix, 0, 1, permuted)
        if push_diagonal_blocks(state, non_zeros(permuted), permuted, first, second, 0, 0):
            push_swap(state, first, second, 0, 0)
            return True
    permute_rows(matrix, 2, 0, permuted)
    if push_diagonal_blocks(state, non_zeros(permuted), permuted, first, second, controls, value):
        push_flip(state, first, controls, value)
        return True
    permute_rows(matrix, 1, 0, permuted)
    if push_diagonal_blocks(state, non_zeros(permuted), permuted, first, second, controls, value):
        push_flip(state, second, controls, value)
        return True
    return False


@kernel
def push_matrix(
    state: State, matrix: ptr[f64], first: i64, second: i64, controls: i64, value: i64
) -> i1:
    """Queue a 4x4 matrix on two bits; false where it has too few zeros and is not unitary."""
    non_zero = non_zeros(matrix)
    if push_diagonal_blocks(state, non_zero, matrix, first, second, controls, value):
        return True
    if push_permuted_blocks(state, matrix, first, second, controls, value):
        return True
    if non_zero & ~EVEN_OR_ODD == 0:
        even, odd = stack_array(f64, 8), stack_array(f64, 8)
        pick(matrix, 0, 3, even)
        pick(matrix, 1, 2, odd)
        push_parity(state, first, second, controls, value, even, odd)
        return True
    parts = stack_array(f64, PARTS)
    if not cosine_sine(matrix, parts):
        return False
    right, middle, left = parts + RIGHT, parts + MIDDLE, parts + LEFT
    push_selected(state, second, first, controls, value, right, right + 8)
    push_selected(state, first, second, controls, value, middle, middle + 8)
    push_selected(state, second, first, controls, value, left, left + 8)
    return True
