"""Complex 2x2 matrices of a kernel: eight numbers, row-major, real and imaginary parts.

Results go to memory of their own, never to that of an operand.
"""

from diastase_mlir.kernels.language import f64, i1, inline, kernel, ptr, square_root, static


@inline
def copy_matrix(source: ptr[f64], target: ptr[f64]) -> None:
    """Copy a matrix."""
    for k in static(range(8)):
        target[k] = source[k]


@kernel
def is_identity(matrix: ptr[f64]) -> i1:
    """Whether a matrix is exactly the identity."""
    for k in static(range(8)):
        if matrix[k] != (1.0 if k in (0, 6) else 0.0):
            return False
    return True


@kernel
def is_diagonal(matrix: ptr[f64]) -> i1:
    """Whether a matrix is exactly diagonal."""
    for k in static(range(2, 6)):
        if matrix[k] != 0.0:
            return False
    return True


@kernel
def is_equal(left: ptr[f64], right: ptr[f64]) -> i1:
    """Whether two matrices are exactly equal."""
    for k in static(range(8)):
        if left[k] != right[k]:
            return False
    return True


@kernel
def multiply(left: ptr[f64], right: ptr[f64], product: ptr[f64]) -> None:
    """`product = left @ right`."""
    for row in static(range(2)):
        for column in static(range(2)):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            for k in static(range(2)):
                a, b = left[4 * row + 2 * k], left[4 * row + 2 * k + 1]
                x, y = right[4 * k + 2 * column], right[4 * k + 2 * column + 1]
                real += a * x - b * y
                imaginary += a * y + b * x
            product[4 * row + 2 * column] = real
            product[4 * row + 2 * column + 1] = imaginary


@kernel
def multiply_adjoint(left: ptr[f64], right: ptr[f64], product: ptr[f64]) -> None:
    """`product = adjoint(left) @ right`."""
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
