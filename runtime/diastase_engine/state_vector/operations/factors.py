"""Numbers that waiting operations are divided by, so that tiles have less to do.

An operation that keeps the parity of two bits (`parity_operations`) and is a number on |00>, |11>
leaves these amplitudes alone when it is divided by that; a rotation about X or Y divided by its
cosine takes half of the multiplications (`tile_codes`). A number commutes with everything, so the
product of all of them goes into one operation that acts on all amplitudes anyway.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.operations.parity_operations import ROUNDING
from diastase_engine.state_vector.state.records import Operation, State
from diastase_engine.state_vector.state.small_matrices import (
    IDENTITY,
    LEAST_FACTOR,
    divide_by,
    has_equal_diagonal,
    is_identity,
    is_real,
    is_turning,
    scale,
    size,
    write,
)


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
def multiply_factor(factor: ptr[f64], real: f64, imaginary: f64) -> None:
    """`factor *= real + i imaginary`."""
    x, y = factor[0], factor[1]
    factor[0], factor[1] = real * x - imaginary * y, real * y + imaginary * x


@kernel
def take_out(operation: Operation, factor: ptr[f64]) -> i1:
    """Divide an operation by its factor, if it has one, which is multiplied into `factor`."""
    if operation.flips != 0:
        if not is_scalar(operation.otherwise) or is_identity(operation.otherwise):
            return False
        a, b = operation.otherwise[0], operation.otherwise[1]
        weight = a * a + b * b
        inverse = stack_array(f64, 2)
        inverse[0], inverse[1] = a / weight, -(b / weight)
        scale(operation.matched, inverse)
        write(IDENTITY, operation.otherwise)
        multiply_factor(factor, a, b)
        return True
    if operation.mask | operation.word != 0 or not has_equal_diagonal(operation.matched):
        return False
    if operation.changes == 0 or not (is_real(operation) or is_turning(operation)):
        return False
    if size(factor[0]) + size(factor[1]) <= LEAST_FACTOR:
        return False
    number = operation.matched[0]
    divide_by(operation.matched, number)
    multiply_factor(factor, number, 0.0)
    return True


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
    """Do so for all waiting operations but the one that bears the product."""
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
