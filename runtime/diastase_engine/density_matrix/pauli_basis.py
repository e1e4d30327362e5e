"""Between matrices and the basis of Pauli words.

A digit x + 2 z stands for i^(x z) X^x Z^z, which takes |b> to a phase times |b ^ x>. Numbers of
words on k wires have two bits for each, the first wire's the most significant; `x_of` and `z_of`
give their x and z bits as masks like those of basis states.
"""

from diastase_engine.density_matrix.records import outer_digit
from diastase_engine.language import *


@inline
def x_of(word: i64, count: i64) -> i64:
    """The x bits of a word on so many wires."""
    found: i64 = 0
    for k in range(count):
        found |= ((word >> (2 * k)) & 1) << k
    return found


@inline
def z_of(word: i64, count: i64) -> i64:
    """The z bits."""
    found: i64 = 0
    for k in range(count):
        found |= ((word >> (2 * k + 1)) & 1) << k
    return found


@kernel
def quarter_turns(x: i64, z: i64, state: i64) -> i64:
    """The power of i by which a word with these bits turns the phase of a basis state."""
    return count_ones(x & z) + 2 * count_ones(z & state)


@inline
def turned(turns: i64, real: f64, imaginary: f64) -> tuple[f64, f64]:
    """A number times a power of i."""
    a: f64 = real
    b: f64 = imaginary
    if turns & 1 == 1:
        a, b = 0.0 - imaginary, real
    if turns & 2 == 2:
        a, b = 0.0 - a, 0.0 - b
    return a, b


@kernel
def transfer_of_unitary(
    count: i64, matrix: ptr[f64], scratch: ptr[f64], transfer: ptr[f64]
) -> None:
    """Write Tr(P_i U P_j U^+) / 2^count; `scratch` holds two complex matrices like U."""
    size = 1 << count
    words = 1 << (2 * count)
    product, conjugated = scratch, scratch + 2 * size * size
    for j in range(words):
        x, z = x_of(j, count), z_of(j, count)
        for row in range(size):
            for column in range(size):
                source = 2 * (row * size + (column ^ x))
                turns = quarter_turns(x, z, column)
                a, b = turned(turns, matrix[source], matrix[source + 1])
                product[2 * (row * size + column)] = a
                product[2 * (row * size + column) + 1] = b
        for row in range(size):
            for column in range(size):
                real: f64 = 0.0
                imaginary: f64 = 0.0
                for k in range(size):
                    left, right = 2 * (row * size + k), 2 * (column * size + k)
                    a, b = product[left], product[left + 1]
                    c, d = matrix[right], matrix[right + 1]
                    real += a * c + b * d
                    imaginary += b * c - a * d
                conjugated[2 * (row * size + column)] = real
                conjugated[2 * (row * size + column) + 1] = imaginary
        for i in range(words):
            transfer[i * words + j] = trace_with(count, i, conjugated) * (1.0 / to_float(size))


@kernel
def trace_with(count: i64, word: i64, matrix: ptr[f64]) -> f64:
    """The real part of the trace of a word times a matrix."""
    size = 1 << count
    x, z = x_of(word, count), z_of(word, count)
    total: f64 = 0.0
    for state in range(size):
        place = 2 * (state * size + (state ^ x))
        real, _ = turned(quarter_turns(x, z, state), matrix[place], matrix[place + 1])
        total += real
    return total


@kernel
def inner_word(word: i64, count: i64) -> i64:
    """A word whose digits are in the order I, X, Y, Z, as one of ours, and back."""
    found: i64 = 0
    for k in range(count):
        found |= outer_digit((word >> (2 * k)) & 3) << (2 * k)
    return found


@kernel
def to_matrix(count: i64, words: ptr[f64]) -> None:
    """In place, from complex coefficients of words to elements, 2^-count sum r[P] P.

    Element (row, column) is where a word has the row's bits for z and the column's for x.
    """
    for k in range(count):
        step = 1 << (2 * k)
        for word in range(1 << (2 * count)):
            if (word >> (2 * k)) & 3 == 0:
                i, x = words + 2 * word, words + 2 * (word + step)
                z, y = words + 2 * (word + 2 * step), words + 2 * (word + 3 * step)
                a, b, c, d = i[0], i[1], x[0], x[1]
                e, f, g, h = z[0], z[1], y[0], y[1]
                i[0], i[1] = 0.5 * (a + e), 0.5 * (b + f)
                y[0], y[1] = 0.5 * (a - e), 0.5 * (b - f)
                # The elements (0, 1) and (1, 0): X - iY and X + iY.
                x[0], x[1] = 0.5 * (c + h), 0.5 * (d - g)
                z[0], z[1] = 0.5 * (c - h), 0.5 * (d + g)


@kernel
def to_words(count: i64, elements: ptr[f64]) -> None:
    """`to_matrix` undone: the traces of a matrix with all words."""
    for k in range(count):
        step = 1 << (2 * k)
        for word in range(1 << (2 * count)):
            if (word >> (2 * k)) & 3 == 0:
                i, x = elements + 2 * word, elements + 2 * (word + step)
                z, y = elements + 2 * (word + 2 * step), elements + 2 * (word + 3 * step)
                a, b, c, d = i[0], i[1], x[0], x[1]
                e, f, g, h = z[0], z[1], y[0], y[1]
                i[0], i[1] = a + g, b + h
                z[0], z[1] = a - g, b - h
                x[0], x[1] = c + e, d + f
                # i (element (0, 1) - element (1, 0))
                y[0], y[1] = f - d, c - e


@kernel
def word_of_element(row: i64, column: i64, count: i64) -> i64:
    """Where an element lies after `to_matrix`."""
    found: i64 = 0
    for k in range(count):
        found |= (((row >> k) & 1) << (2 * k + 1)) | (((column >> k) & 1) << (2 * k))
    return found
