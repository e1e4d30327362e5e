"""The inverse of a complex matrix, for operations that are to be undone and are not unitary."""

from diastase_engine.language import f64, i1, i64, kernel, ptr


@kernel
def is_unitary(size: i64, matrix: ptr[f64]) -> i1:
    """Whether the rows are orthonormal, up to rounding."""
    for row in range(size):
        for other in range(row + 1):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            for k in range(size):
                a, b = matrix[2 * (row * size + k)], matrix[2 * (row * size + k) + 1]
                x, y = matrix[2 * (other * size + k)], matrix[2 * (other * size + k) + 1]
                real += a * x + b * y
                imaginary += b * x - a * y
            if row == other:
                real -= 1.0
            if not real * real + imaginary * imaginary < 1e-28:
                return False
    return True


@kernel
def write_adjoint(size: i64, matrix: ptr[f64], result: ptr[f64]) -> None:
    """Write the adjoint matrix."""
    for row in range(size):
        for column in range(size):
            source, target = 2 * (row * size + column), 2 * (column * size + row)
            result[target], result[target + 1] = matrix[source], -matrix[source + 1]


@kernel
def invert(size: i64, matrix: ptr[f64], result: ptr[f64]) -> i1:
    """Gauss and Jordan, with pivots; the matrix is lost. False where there is no inverse."""
    for k in range(2 * size * size):
        result[k] = 0.0
    for k in range(size):
        result[2 * (k * size + k)] = 1.0
    for column in range(size):
        pivot: i64 = column
        largest: f64 = 0.0
        for row in range(column, size):
            a, b = matrix[2 * (row * size + column)], matrix[2 * (row * size + column) + 1]
            weight = a * a + b * b
            if weight > largest:
                largest = weight
                pivot = row
        if not largest > 0.0:
            return False
        exchange_rows(size, matrix, column, pivot)
        exchange_rows(size, result, column, pivot)
        a, b = matrix[2 * (column * size + column)], matrix[2 * (column * size + column) + 1]
        x, y = a / largest, -(b / largest)
        scale_row(size, matrix, column, x, y)
        scale_row(size, result, column, x, y)
        for row in range(size):
            if row != column:
                a = matrix[2 * (row * size + column)]
                b = matrix[2 * (row * size + column) + 1]
                subtract_row(size, matrix, row, column, a, b)
                subtract_row(size, result, row, column, a, b)
    return True


@kernel
def exchange_rows(size: i64, matrix: ptr[f64], one: i64, other: i64) -> None:
    """Exchange two rows."""
    for k in range(2 * size):
        first, second = 2 * size * one + k, 2 * size * other + k
        matrix[first], matrix[second] = matrix[second], matrix[first]


@kernel
def scale_row(size: i64, matrix: ptr[f64], row: i64, x: f64, y: f64) -> None:
    """Multiply a row by `x + iy`."""
    for k in range(size):
        place = 2 * (row * size + k)
        a, b = matrix[place], matrix[place + 1]
        matrix[place], matrix[place + 1] = a * x - b * y, a * y + b * x


@kernel
def subtract_row(size: i64, matrix: ptr[f64], row: i64, other: i64, x: f64, y: f64) -> None:
    """Subtract `x + iy` times another row from a row."""
    for k in range(size):
        place, source = 2 * (row * size + k), 2 * (other * size + k)
        a, b = matrix[source], matrix[source + 1]
        matrix[place] = matrix[place] - (a * x - b * y)
        matrix[place + 1] = matrix[place + 1] - (a * y + b * x)
