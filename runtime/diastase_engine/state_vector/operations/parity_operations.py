"""Operations on two bits that keep their parity: |00>, |11> apart from |01>, |10>.

Such an operation (IsingXX and its kin, excitations, a Heisenberg pair, SWAP) is an `Operation`
whose `flips` is the one bit of its mask. That bit changes together with the target, and says which
matrix holds where the target is zero: `otherwise` on |00>, |11>, `matched` on |01>, |10>, the
target written last. It costs as much as an operation with one target, where CNOTs around one would
make it three. The target is the higher of the two bits, so that equal bits mean equal matrices.

A diagonal operation on these bits, or on one of them, has the same form; so products are taken in
this form, and one that turns out to be diagonal takes the usual form again (`fusion`).

A sum of products that is smaller than its own rounding counts as zero: the |00>, |11> part of XX
and YY by the same angle then is a multiple of the identity, as it should be, also with any ZZ, and
`factors` divides that number out.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import Operation
from diastase_engine.state_vector.state.small_matrices import copy_matrix, size

EVEN, ODD = 0, 8
"""Where the two matrices begin among the sixteen numbers of `matrices_of`."""
ROUNDING = 2.0**-51


@kernel
def turned(matrix: ptr[f64], result: ptr[f64]) -> None:
    """Write a matrix with its rows and its columns exchanged."""
    for k in static(range(8)):
        result[k] = matrix[6 - k + 2 * (k % 2)]


@kernel
def diagonal_element(operation: Operation, index: i64) -> ptr[f64]:
    """Address of what a diagonal operation multiplies an amplitude by."""
    row = (index >> operation.target) & 1
    if operation.mask == 0 or index & operation.mask == operation.value:
        return operation.matched + 6 * row
    return operation.otherwise + 6 * row


@kernel
def matrices_of(operation: Operation, target: i64, other: i64, result: ptr[f64]) -> None:
    """Write both matrices of an operation of this kind, or of a diagonal one on the same bits."""
    if operation.flips != 0:
        copy_matrix(operation.otherwise, result + EVEN)
        copy_matrix(operation.matched, result + ODD)
        return
    for k in static(range(16)):
        result[k] = 0.0
    for matrix in static(range(2)):
        for row in static(range(2)):
            index = (row << target) | ((row ^ matrix) << other)
            element = diagonal_element(operation, index)
            for part in static(range(2)):
                result[8 * matrix + 6 * row + part] = element[part]


@kernel
def size_of_terms(left: ptr[f64], right: ptr[f64], row: i64, column: i64) -> f64:
    """Return the sum of the sizes of all products in one element of a matrix product."""
    total: f64 = 0.0
    for k in static(range(2)):
        a, b = left[4 * row + 2 * k], left[4 * row + 2 * k + 1]
        x, y = right[4 * k + 2 * column], right[4 * k + 2 * column + 1]
        total += size(a * x) + size(b * y) + size(a * y) + size(b * x)
    return total


@kernel
def multiply_cleanly(left: ptr[f64], right: ptr[f64], product: ptr[f64]) -> None:
    """`product = left @ right`, in memory of its own; what is but rounding becomes zero."""
    for row in static(range(2)):
        for column in static(range(2)):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            for k in static(range(2)):
                a, b = left[4 * row + 2 * k], left[4 * row + 2 * k + 1]
                x, y = right[4 * k + 2 * column], right[4 * k + 2 * column + 1]
                real += a * x - b * y
                imaginary += a * y + b * x
            rounding = ROUNDING * size_of_terms(left, right, row, column)
            place = 4 * row + 2 * column
            product[place] = 0.0 if size(real) < rounding else real
            product[place + 1] = 0.0 if size(imaginary) < rounding else imaginary


@kernel
def multiply_pairs(target: Operation, left: Operation, right: Operation) -> None:
    """`target = left @ right`; target is one of them, and at least one is of this kind."""
    pair = left if left.flips != 0 else right
    bit, flips = pair.target, pair.flips
    other = count_trailing_zeros(flips)
    a, b = stack_array(f64, 16), stack_array(f64, 16)
    matrices_of(left, bit, other, a)
    matrices_of(right, bit, other, b)
    multiply_cleanly(a + EVEN, b + EVEN, target.otherwise)
    multiply_cleanly(a + ODD, b + ODD, target.matched)
    target.target = bit
    target.mask, target.value, target.flips = flips, flips, flips


@kernel
def take_usual_form(operation: Operation) -> None:
    """Write a diagonal operation of this kind as one with a target and a selector."""
    even, odd = stack_array(f64, 8), stack_array(f64, 8)
    copy_matrix(operation.otherwise, even)
    copy_matrix(operation.matched, odd)
    for k in static((6, 7)):
        operation.otherwise[k], operation.matched[k] = odd[k], even[k]
    operation.flips = 0
