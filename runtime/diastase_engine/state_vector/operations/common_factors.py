"""Factors taken out of waiting operations, so that half of their work is none.

Where an operation that keeps a parity (`parity_operations`) has a multiple of the identity on
|00>, |11>, as XX and YY by the same angle have with any ZZ, that number is divided out, and tiles
skip these amplitudes. A number commutes with everything, so the product of all of them goes into
one operation that acts on all amplitudes anyway.
"""

from diastase_engine.language import f64, i64, kernel, ptr, stack_array, static
from diastase_engine.state_vector.operations.parity_operations import is_scalar
from diastase_engine.state_vector.state.records import Operation, State
from diastase_engine.state_vector.state.small_matrices import IDENTITY, is_identity, write


@kernel
def scale(matrix: ptr[f64], factor: ptr[f64]) -> None:
    """Multiply a 2x2 matrix by a complex number."""
    a, b = factor[0], factor[1]
    for k in static(range(4)):
        x, y = matrix[2 * k], matrix[2 * k + 1]
        matrix[2 * k], matrix[2 * k + 1] = a * x - b * y, a * y + b * x


@kernel
def take_out(operation: Operation, factor: ptr[f64]) -> None:
    """Divide an operation by its factor, which is multiplied into `factor`."""
    a, b = operation.otherwise[0], operation.otherwise[1]
    weight = a * a + b * b
    inverse = stack_array(f64, 2)
    inverse[0], inverse[1] = a / weight, -(b / weight)
    scale(operation.matched, inverse)
    write(IDENTITY, operation.otherwise)
    x, y = factor[0], factor[1]
    factor[0], factor[1] = a * x - b * y, a * y + b * x


@kernel
def bearer(state: State, last: i64) -> Operation:
    """Return an operation that can bear the factor: without selectors, if there is one."""
    for k in range(state.waiting):
        operation = state.operations[k]
        if operation.is_live != 0 and operation.mask == 0:
            return operation
    return state.operations[last]


@kernel
def take_out_factors(state: State) -> None:
    """Do so for all waiting operations."""
    factor = stack_array(f64, 2)
    factor[0], factor[1] = 1.0, 0.0
    last: i64 = -1
    for k in range(state.waiting):
        operation = state.operations[k]
        if operation.is_live != 0 and operation.flips != 0 and is_scalar(operation.otherwise):
            if not is_identity(operation.otherwise):
                take_out(operation, factor)
                last = k
    if last >= 0:
        operation = bearer(state, last)
        scale(operation.matched, factor)
        if operation.mask != 0:
            scale(operation.otherwise, factor)
