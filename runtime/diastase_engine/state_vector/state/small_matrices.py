"""Complex 2x2 matrices of a kernel: eight numbers, row-major, real and imaginary parts.

They lie in memory and are read and written as one vector.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import Operation

IDENTITY = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
EXCHANGE = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
EVERYWHERE = 0xFF
"""What `equal_lanes` says of equal matrices."""
DIAGONAL_ROUNDING = 2.0**-50
SMALLEST_DIVISOR, LARGEST_DIVISOR = 2.0**-5, 1.0 + 2.0**-40
"""What a matrix with an equal diagonal is divided by: a cosine that is not too small."""


@inline
def copy_matrix(source: ptr[f64], target: ptr[f64]) -> None:
    """Copy a matrix."""
    store_unaligned(target, 0, load_unaligned(source, 0))


@inline
def write(matrix: list[Any], target: ptr[f64]) -> None:
    """Store eight numbers as one vector, as which they are soon read again."""
    store_unaligned(target, 0, pack(matrix))


@inline
def zeros(matrix: ptr[f64]) -> i64:
    """For each of the eight numbers, a bit that tells whether it is zero."""
    return equal_lanes(load_unaligned(matrix, 0), pack([0.0] * 8))


def lanes_of(places: list[int]) -> int:
    """Places as a mask (of static numbers)."""
    return sum(1 << place for place in places)


@inline
def are_zero(matrix: ptr[f64], places: list[int]) -> i1:
    """Whether the numbers at these (static) places are zero."""
    return zeros(matrix) & lanes_of(places) == lanes_of(places)


@kernel
def is_identity(matrix: ptr[f64]) -> i1:
    """Whether a matrix is exactly the identity."""
    return equal_lanes(load_unaligned(matrix, 0), pack(IDENTITY)) == EVERYWHERE


@kernel
def is_diagonal(matrix: ptr[f64]) -> i1:
    """Whether a matrix is exactly diagonal."""
    return are_zero(matrix, [2, 3, 4, 5])


@inline
def has_zeros(operation: Operation, places: list[int]) -> i1:
    """Whether both matrices are exactly zero at these (static) places."""
    # Without a mask there is no other matrix: its memory has never been written.
    return are_zero(operation.matched, places) and (
        operation.mask == 0 or are_zero(operation.otherwise, places)
    )


@kernel
def is_real(operation: Operation) -> i1:
    """Whether all imaginary parts are exactly zero."""
    return has_zeros(operation, [1, 3, 5, 7])


@kernel
def is_turning(operation: Operation) -> i1:
    """Whether all diagonal elements are exactly real, and all others exactly imaginary."""
    return has_zeros(operation, [1, 2, 4, 7])


@kernel
def is_equal(left: ptr[f64], right: ptr[f64]) -> i1:
    """Whether two matrices are exactly equal."""
    return equal_lanes(load_unaligned(left, 0), load_unaligned(right, 0)) == EVERYWHERE


@inline
def times_row(left: v8, right: v8, k: int) -> v8:
    """Column `k` of the left matrix times row `k` of the right one."""
    real = shuffle(left, [2 * k] * 4 + [2 * k + 4] * 4)
    imaginary = shuffle(left, [2 * k + 1] * 4 + [2 * k + 5] * 4) * pack([-1.0, 1.0] * 4)
    row = [4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3]
    turned = [4 * k + 1, 4 * k, 4 * k + 3, 4 * k + 2]
    return real * shuffle(right, row * 2) + imaginary * shuffle(right, turned * 2)


@kernel
def multiply(left: ptr[f64], right: ptr[f64], product: ptr[f64]) -> None:
    """`product = left @ right`; product may be one of them."""
    a, b = load_unaligned(left, 0), load_unaligned(right, 0)
    store_unaligned(product, 0, times_row(a, b, 0) + times_row(a, b, 1))


@kernel
def multiply_adjoint(left: ptr[f64], right: ptr[f64], product: ptr[f64]) -> None:
    """`product = adjoint(left) @ right`, in memory of its own."""
    turned = [0, 4, 2, 6]
    for row in static(range(2)):
        for column in static(range(2)):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            for k in static(range(2)):
                place = turned[2 * row + k]
                a, b = left[place], left[place + 1]
                x, y = right[4 * k + 2 * column], right[4 * k + 2 * column + 1]
                real += a * x + b * y
                imaginary += a * y - b * x
            product[4 * row + 2 * column] = real
            product[4 * row + 2 * column + 1] = imaginary


@inline
def magnitude(real: f64, imaginary: f64) -> f64:
    """|z|; numbers below 1e-154 count as zero."""
    return square_root(real * real + imaginary * imaginary)


@inline
def column_weight(matrix: ptr[f64], column: int) -> f64:
    """Squared norm of a (static) column."""
    a, b = matrix[2 * column], matrix[2 * column + 1]
    c, d = matrix[4 + 2 * column], matrix[5 + 2 * column]
    return a * a + b * b + c * c + d * d


@kernel
def rotate_columns(matrix: ptr[f64], vectors: ptr[f64]) -> None:
    """Multiply `vectors` by the unitary that makes the columns of `matrix` orthogonal (Jacobi)."""
    first, second = column_weight(matrix, 0), column_weight(matrix, 1)
    real: f64 = 0.0
    imaginary: f64 = 0.0
    for row in static(range(2)):
        a, b = matrix[4 * row], matrix[4 * row + 1]
        x, y = matrix[4 * row + 2], matrix[4 * row + 3]
        real += a * x + b * y
        imaginary += a * y - b * x
    overlap = magnitude(real, imaginary)
    if overlap == 0.0:
        return
    slope = 0.5 * (second - first) / overlap
    steep = slope if slope >= 0.0 else -slope
    tangent = 1.0 / (steep + square_root(1.0 + steep * steep))
    if slope < 0.0:
        tangent = -tangent
    cosine = 1.0 / square_root(1.0 + tangent * tangent)
    sine = cosine * tangent
    # The second column is first turned by the phase that makes the overlap real.
    u, w = real / overlap, -(imaginary / overlap)
    for row in static(range(2)):
        a, b = vectors[4 * row], vectors[4 * row + 1]
        x, y = vectors[4 * row + 2], vectors[4 * row + 3]
        p, q = x * u - y * w, x * w + y * u
        vectors[4 * row], vectors[4 * row + 1] = cosine * a - sine * p, cosine * b - sine * q
        vectors[4 * row + 2] = sine * a + cosine * p
        vectors[4 * row + 3] = sine * b + cosine * q


@kernel
def size(number: f64) -> f64:
    """|x|."""
    return 0.0 - number if number < 0.0 else number


@kernel
def scale(matrix: ptr[f64], factor: ptr[f64]) -> None:
    """Multiply a 2x2 matrix by a complex number."""
    a, b = factor[0], factor[1]
    for k in static(range(4)):
        x, y = matrix[2 * k], matrix[2 * k + 1]
        matrix[2 * k], matrix[2 * k + 1] = a * x - b * y, a * y + b * x


@kernel
def has_equal_diagonal(matrix: ptr[f64]) -> i1:
    """Whether a matrix has the same real number, of a fit size, twice on its diagonal."""
    a, d = matrix[0], matrix[6]
    is_real_there = matrix[1] == 0.0 and matrix[7] == 0.0
    is_equal_there = size(a - d) <= DIAGONAL_ROUNDING * size(a)
    is_cosine = SMALLEST_DIVISOR <= size(a) and size(a) <= LARGEST_DIVISOR
    return is_real_there and is_equal_there and is_cosine


@kernel
def divide_by(matrix: ptr[f64], number: f64) -> None:
    """Divide a matrix by a number; diagonal elements that are it but for rounding become one."""
    off = size(matrix[0] - number) + size(matrix[6] - number)
    for k in static(range(8)):
        matrix[k] = matrix[k] / number
    if off <= 2.0 * DIAGONAL_ROUNDING * size(number):
        matrix[0], matrix[6] = 1.0, 1.0


@inline
def is_unit(matrix: ptr[f64]) -> i1:
    """Whether the diagonal elements of a matrix are one."""
    return matrix[0] == 1.0 and matrix[1] == 0.0 and matrix[6] == 1.0 and matrix[7] == 0.0


@inline
def multiply_numbers(factor: ptr[f64], number: ptr[f64]) -> None:
    """`factor *= number`, both complex."""
    a, b, c, d = factor[0], factor[1], number[0], number[1]
    factor[0], factor[1] = a * c - b * d, a * d + b * c
