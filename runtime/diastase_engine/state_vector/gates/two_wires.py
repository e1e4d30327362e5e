"""Any 4x4 matrix on two bits as operations of the queue.

In: the matrix, two bits (the first one most significant), controls that restrict it. What the
zeros of the matrix tell is used first, and holds for any matrix, unitary or not; `d` marks the
blocks that may differ from zero:

* diagonal by the first or the second bit: one operation on the other bit, which that one selects;
* the same after an exchange of the rows |01> and |10>: that operation, then a SWAP (by name);
* the same with the blocks off the diagonal: that operation, then X on the first or second bit;
* PARITY (see `matrices`): |00>, |11> apart from |01>, |10>.

Else three operations, false for a matrix that is not unitary: the cosine-sine decomposition.
The 2x2 blocks of the matrix U by the first bit are

    U = (L0 + L1) M (R0 + R1),    M = [[C, -S], [S, C]],    C, S diagonal, C^2 + S^2 = 1,

where + puts two blocks on the diagonal: a matrix on the second bit, selected by the first. M turns
the first bit (RY), selected by the second. So six 2x2 matrices, `Parts`, two for each operation.

Small sines or cosines hide the vectors that belong to them, so (rule of the smaller block) the
singular vectors come from that block of the first column, U00 or U10, whose weight is at most 1.
The larger singular value of the other is then at least sqrt(1/2), and (rule of the larger column)
its vectors start with that one: all divisions are by numbers that are not small. R1 follows from
both blocks of the second column, R1 = C adjoint(L1) U11 - S adjoint(L0) U01.

Whatever went in, the six matrices are multiplied again and compared with U. Where they differ by
more than rounding (U was not unitary) the answer is false, and the caller has to find another way.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.gates.decompositions import push_flip, push_parity, push_swap
from diastase_engine.state_vector.queue.queue import push_selected
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.small_matrices import (
    column_weight,
    magnitude,
    multiply,
    multiply_adjoint,
    rotate_columns,
)

RIGHT, MIDDLE, LEFT = 0, 16, 32
"""Where the two matrices of each operation begin, in the order in which they are applied."""
PARTS = 48
ROUNDING = 4e-15
"""Largest difference of an element that counts as rounding."""


@kernel
def copy_block(matrix: ptr[f64], row: i64, column: i64, block: ptr[f64]) -> None:
    """Copy a 2x2 block of a 4x4 matrix."""
    start = matrix + (16 * row + 4 * column)
    for k in static(range(4)):
        block[k] = start[k]
        block[4 + k] = start[8 + k]


@kernel
def split_columns(matrix: ptr[f64], unitary: ptr[f64], sizes: ptr[f64]) -> None:
    """A matrix with orthogonal columns as a unitary times their norms, the larger one first."""
    weight0, weight1 = column_weight(matrix, 0), column_weight(matrix, 1)
    large: i64 = 0 if weight0 >= weight1 else 1
    small = 1 - large
    norm = magnitude(
        magnitude(matrix[2 * large], matrix[2 * large + 1]),
        magnitude(matrix[4 + 2 * large], matrix[5 + 2 * large]),
    )
    a: f64 = 1.0
    b: f64 = 0.0
    c: f64 = 0.0
    d: f64 = 0.0
    if norm > 0.0:
        a, b = matrix[2 * large] / norm, matrix[2 * large + 1] / norm
        c, d = matrix[4 + 2 * large] / norm, matrix[5 + 2 * large] / norm
    # The other column is a multiple of (-conj(c + id), conj(a + ib)).
    x, y = matrix[2 * small], matrix[2 * small + 1]
    z, w = matrix[4 + 2 * small], matrix[5 + 2 * small]
    real = a * z - b * w - c * x + d * y
    imaginary = a * w + b * z - c * y - d * x
    rest = magnitude(real, imaginary)
    u: f64 = 1.0
    v: f64 = 0.0
    if rest > 0.0:
        u, v = real / rest, imaginary / rest
    unitary[2 * large], unitary[2 * large + 1] = a, b
    unitary[4 + 2 * large], unitary[5 + 2 * large] = c, d
    unitary[2 * small], unitary[2 * small + 1] = -(c * u + d * v), d * u - c * v
    unitary[4 + 2 * small], unitary[5 + 2 * small] = a * u + b * v, a * v - b * u
    sizes[large], sizes[small] = norm, rest


@kernel
def adjoint(matrix: ptr[f64], result: ptr[f64]) -> None:
    """Write the adjoint of a 2x2 matrix."""
    for row in static(range(2)):
        for column in static(range(2)):
            result[4 * row + 2 * column] = matrix[4 * column + 2 * row]
            result[4 * row + 2 * column + 1] = -matrix[4 * column + 2 * row + 1]


@kernel
def first_column(matrix: ptr[f64], parts: ptr[f64], cosines: ptr[f64], sines: ptr[f64]) -> None:
    """Find L0, L1, R0 and the sines and cosines from U00 and U10."""
    blocks, product, vectors = stack_array(f64, 16), stack_array(f64, 8), stack_array(f64, 8)
    copy_block(matrix, 0, 0, blocks)
    copy_block(matrix, 1, 0, blocks + 8)
    small: i64 = 0 if column_weight(blocks, 0) + column_weight(blocks, 1) <= 1.0 else 1
    for k in static(range(8)):
        vectors[k] = 1.0 if k in (0, 6) else 0.0
    # The second rotation removes what the rounding of the first one left.
    for _ in static(range(2)):
        multiply(blocks + 8 * small, vectors, product)
        rotate_columns(product, vectors)
    sizes = stack_array(f64, 4)
    for row in static(range(2)):
        multiply(blocks + 8 * row, vectors, product)
        split_columns(product, parts + (LEFT + 8 * row), sizes + 2 * row)
    adjoint(vectors, parts + RIGHT)
    for k in static(range(2)):
        norm = magnitude(sizes[k], sizes[2 + k])
        cosines[k], sines[k] = sizes[k] / norm, sizes[2 + k] / norm


@kernel
def second_column(matrix: ptr[f64], parts: ptr[f64], cosines: ptr[f64], sines: ptr[f64]) -> None:
    """Find R1 from U01 and U11."""
    block, upper, lower = stack_array(f64, 8), stack_array(f64, 8), stack_array(f64, 8)
    copy_block(matrix, 0, 1, block)
    multiply_adjoint(parts + LEFT, block, upper)
    copy_block(matrix, 1, 1, block)
    multiply_adjoint(parts + (LEFT + 8), block, lower)
    for row in static(range(2)):
        for k in static(range(4)):
            value = cosines[row] * lower[4 * row + k] - sines[row] * upper[4 * row + k]
            parts[RIGHT + 8 + 4 * row + k] = value


@kernel
def is_close(matrix: ptr[f64], parts: ptr[f64], cosines: ptr[f64], sines: ptr[f64]) -> i1:
    """Whether the parts multiply to the matrix; false for anything that is not a number, too."""
    block, product, scaled = stack_array(f64, 8), stack_array(f64, 8), stack_array(f64, 8)
    for row in static(range(2)):
        for column in static(range(2)):
            right = parts + (RIGHT + 8 * column)
            for k in static(range(8)):
                size = cosines[k // 4] if row == column else sines[k // 4]
                scaled[k] = -(size * right[k]) if column > row else size * right[k]
            multiply(parts + (LEFT + 8 * row), scaled, product)
            copy_block(matrix, row, column, block)
            for k in static(range(8)):
                difference = product[k] - block[k]
                if not (difference <= ROUNDING and -difference <= ROUNDING):
                    return False
    return True


@kernel
def cosine_sine(matrix: ptr[f64], parts: ptr[f64]) -> i1:
    """Write the parts of a 4x4 matrix; false where it is not unitary."""
    cosines, sines = stack_array(f64, 2), stack_array(f64, 2)
    first_column(matrix, parts, cosines, sines)
    second_column(matrix, parts, cosines, sines)
    for k in static(range(2)):
        rotation = parts + (MIDDLE + 8 * k)
        for place in static(range(8)):
            rotation[place] = 0.0
        rotation[0], rotation[6] = cosines[k], cosines[k]
        rotation[2], rotation[4] = -sines[k], sines[k]
    return is_close(matrix, parts, cosines, sines)


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
