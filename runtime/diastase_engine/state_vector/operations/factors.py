"""Numbers that waiting operations are divided by, so that tiles have less to do.

An operation that keeps the parity of two bits (`parity_operations`) and is a number on |00>, |11>
leaves these amplitudes alone when it is divided by that; a rotation about X or Y divided by its
cosine takes half of the multiplications (`tile_codes`). A number commutes with everything, so the
product of all of them goes into one operation that acts on all amplitudes anyway.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.operations.parity_operations import ROUNDING
from diastase_engine.state_vector.state.records import SINGLE, Operation, State
from diastase_engine.state_vector.state.small_matrices import (
    IDENTITY,
    divide_by,
    has_equal_diagonal,
    is_identity,
    is_real,
    is_turning,
    multiply_numbers,
    scale,
    size,
    write,
)

LEAST = derived(lambda single: 2.0**-60 if single else 2.0**-500, SINGLE)
MOST = 4.0
"""Of the product of all numbers: tiles may have applied all operations but the one that bears it,
or that one alone, and amplitudes have to be stored either way."""


@kernel
def is_scalar(matrix: ptr[f64]) -> i1:
    """Whether a matrix is, but for rounding, a number of about size one times the identity."""
    for k in static(range(2, 6)):
        if matrix[k] != 0.0:
            return False
    real, imaginary = matrix[0], matrix[1]
    weight = real * real + imaginary * imaginary
    near = size(matrix[6] - real) <= ROUNDING and size(matrix[7] - imaginary) <= ROUNDING
    return near and weight > 0.25 and weight < 4.0


@kernel
def take_out_scalar(operation: Operation, factor: ptr[f64]) -> i1:
    """Divide an operation that keeps a parity by the number that it is where the parity is even."""
    if not is_scalar(operation.otherwise) or is_identity(operation.otherwise):
        return False
    a, b = operation.otherwise[0], operation.otherwise[1]
    weight = a * a + b * b
    inverse = stack_array(f64, 2)
    inverse[0], inverse[1] = a / weight, -(b / weight)
    multiply_numbers(factor, operation.otherwise)
    scale(operation.matched, inverse)
    write(IDENTITY, operation.otherwise)
    return True


@kernel
def take_out_cosine(operation: Operation, factor: ptr[f64]) -> i1:
    """Divide a real or turning operation by what is twice on its diagonal."""
    if operation.mask | operation.word != 0 or operation.changes == 0:
        return False
    if not has_equal_diagonal(operation.matched):
        return False
    if not (is_real(operation) or is_turning(operation)):
        return False
    cosine = stack_array(f64, 2)
    cosine[0], cosine[1] = operation.matched[0], 0.0
    divide_by(operation.matched, cosine[0])
    multiply_numbers(factor, cosine)
    return True


@kernel
def take_out(operation: Operation, factor: ptr[f64]) -> i1:
    """Divide an operation by a number, if it has one, which is multiplied into `factor`."""
    taken = size(factor[0]) + size(factor[1])
    if taken < LEAST or taken > MOST:
        return False
    if operation.flips != 0:
        return take_out_scalar(operation, factor)
    return take_out_cosine(operation, factor)


@kernel
def bearer(state: State) -> i64:
    """Which operation can bear the factor: one that mixes all amplitudes, or acts on all; or -1."""
    found: i64 = -1
    for k in range(state.waiting):
        operation = state.operations[k]
        if operation.is_live != 0 and operation.mask | operation.word == 0:
            if operation.changes != 0:
                return k
            found = k
    return found


@kernel
def take_out_factors(state: State) -> None:
    """Divide all waiting operations but the one that bears the product, the last one if need be."""
    factor = stack_array(f64, 2)
    factor[0], factor[1] = 1.0, 0.0
    bears = bearer(state)
    last: i64 = -1
    for k in range(state.waiting):
        operation = state.operations[k]
        if operation.is_live != 0 and k != bears and take_out(operation, factor):
            last = k
    if last >= 0:
        operation = state.operations[bears if bears >= 0 else last]
        scale(operation.matched, factor)
        if operation.mask != 0:
            scale(operation.otherwise, factor)
