"""From digits to a complex matrix and back.

A *square* is 4^w complex numbers, real and imaginary parts alternating. Its index has two bits for
each wire, the first wire most significant: a digit in the Pauli basis; in the basis of matrix
elements the wire's row and its column. Either way the same operator, `sum r[P] P`.
"""

from diastase_engine.language import *


@kernel
def to_elements(square: ptr[f64], wires: i64) -> None:
    """Turn coefficients of Pauli words into matrix elements, in place."""
    for wire in range(wires):
        stride = 2 << (2 * wire)
        for group in range(1 << (2 * wires - 2)):
            low = group & ((1 << (2 * wire)) - 1)
            start = square + (((group ^ low) << 3) | (low << 1))
            for part in static(range(2)):
                i, z = start[part], start[3 * stride + part]
                start[part], start[3 * stride + part] = i + z, i - z
            a, b = start[stride], start[stride + 1]
            c, d = start[2 * stride], start[2 * stride + 1]
            # X - iY above the diagonal, X + iY below it.
            start[stride], start[stride + 1] = a + d, b - c
            start[2 * stride], start[2 * stride + 1] = a - d, b + c


@kernel
def to_words(square: ptr[f64], wires: i64) -> None:
    """The inverse of `to_elements`."""
    for wire in range(wires):
        stride = 2 << (2 * wire)
        for group in range(1 << (2 * wires - 2)):
            low = group & ((1 << (2 * wire)) - 1)
            start = square + (((group ^ low) << 3) | (low << 1))
            for part in static(range(2)):
                i, z = start[part], start[3 * stride + part]
                start[part], start[3 * stride + part] = 0.5 * (i + z), 0.5 * (i - z)
            a, b = start[stride], start[stride + 1]
            c, d = start[2 * stride], start[2 * stride + 1]
            # X is half of the sum, Y is i/2 times the difference.
            start[stride], start[stride + 1] = 0.5 * (a + c), 0.5 * (b + d)
            start[2 * stride], start[2 * stride + 1] = 0.5 * (d - b), 0.5 * (a - c)


@inline
def place_of_element(wires: i64, row: i64, column: i64) -> i64:
    """Where a matrix element lies in a square."""
    place: i64 = 0
    for bit in range(wires):
        place |= (2 * ((row >> bit) & 1) + ((column >> bit) & 1)) << (2 * bit)
    return place


@kernel
def square_of_matrix(matrix: ptr[f64], wires: i64, square: ptr[f64]) -> None:
    """Write a complex matrix, row-major, as coefficients of words."""
    for row in range(1 << wires):
        for column in range(1 << wires):
            place = 2 * place_of_element(wires, row, column)
            source = 2 * ((row << wires) | column)
            square[place], square[place + 1] = matrix[source], matrix[source + 1]
    to_words(square, wires)


@kernel
def matrix_of_square(square: ptr[f64], wires: i64, factor: f64, matrix: ptr[f64]) -> None:
    """Write `factor` times the matrix of coefficients of words, row-major; spoils the square."""
    to_elements(square, wires)
    for row in range(1 << wires):
        for column in range(1 << wires):
            place = 2 * place_of_element(wires, row, column)
            target = 2 * ((row << wires) | column)
            matrix[target], matrix[target + 1] = factor * square[place], factor * square[place + 1]
