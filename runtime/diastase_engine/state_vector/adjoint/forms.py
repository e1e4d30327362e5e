"""Captured operations fused, as the queue fuses them, and divided so that undoing costs little.

What may be merged is decided with generic parameters (`captured`), so it holds for derivatives as
well; the chain of each product tells what it is made of. Then the actual matrices are multiplied.

The product of an operation's factors has one of these forms, on both of its sides:

    REAL      no imaginary parts (RY, CNOT, Hadamard)
    TURNING   real on the diagonal, imaginary elsewhere (RX)
    PHASED    a real matrix, then a phase of the zero or of the one: RY, RZ, CNOT
    GENERAL   anything else

The form holds for the derivatives, too: it is found from the factors and their derivatives by all
parameters, by exact zeros. With the state S, the adjoint A and an operation U(p) the derivative is
`Re <A| K |S>` where `K = (dU/dp) U^+` is anti-Hermitian: for a real U a multiple of iY, for a
turning one of iX, for phases diagonal. So few sums are needed, and no more are made:

    REAL      BY_Y                                  of A and S as they are after the operation
    TURNING   BY_X                                  the same
    PHASED    BY_Y, BY_ZERO, BY_ONE                 after the phases are undone
    GENERAL   all                                   after the operation
    diagonal operations: BY_ZERO, BY_ONE

A phase that is common to both rows and both sides is not undone at all: where A and S both have it,
nothing depends on it. Where the zero has the phase, that side is *turned*: its rows and its columns
are exchanged, so that it is the one that has it.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.records import Backward, Undone
from diastase_engine.state_vector.device.residence import GPU
from diastase_engine.state_vector.operations.captured import SIDES, Capture, Factor
from diastase_engine.state_vector.operations.fusion import settle
from diastase_engine.state_vector.queue.queue import forget_waiting
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    Operation,
    State,
    realloc,
)
from diastase_engine.state_vector.state.small_matrices import (
    IDENTITY,
    copy_matrix,
    is_identity,
    multiply,
    write,
)

REAL, TURNING, PHASED, GENERAL = range(4)
_IS_REAL, _IS_TURNING, _IS_DIAGONAL, _HAS_PHASES = 1, 2, 4, 8
_NOT_ZERO = {_IS_REAL: (1, 3, 5, 7), _IS_TURNING: (1, 2, 4, 7), _IS_DIAGONAL: (2, 3, 4, 5)}
"""For each shape, the numbers of a matrix that it does not have."""


@kernel
def side_of(factor: Factor, mask: i64, matched: i1) -> ptr[f64]:
    """A factor's matrix on one side of a product with this mask.

    A factor with a selector that the product has forgotten makes no difference there.
    """
    if factor.mask == mask and not matched:
        return factor.otherwise
    return factor.matched


@kernel
def change_of(capture: Capture, factor: Factor, k: i64, mask: i64, matched: i1) -> ptr[f64]:
    """The derivative of that matrix by the factor's k-th parameter."""
    half = 8 if matched or factor.mask != mask else 0
    return capture.derivatives + SIDES * (factor.derivative + k * factor.stride) + half


@kernel
def shapes_of_matrix(matrix: ptr[f64]) -> i64:
    """Which shapes a matrix has."""
    shapes: i64 = 0
    for shape in static(_NOT_ZERO):
        others: i64 = 0
        for k in static(_NOT_ZERO[shape]):
            others |= 1 if matrix[k] != 0.0 else 0
        shapes |= shape if others == 0 else 0
    return shapes


@kernel
def shapes_of(capture: Capture, factor: Factor, mask: i64, matched: i1) -> i64:
    """Which shapes a factor has on a side, together with its derivatives."""
    shapes: i64 = shapes_of_matrix(side_of(factor, mask, matched))
    for k in range(factor.parameters):
        shapes &= shapes_of_matrix(change_of(capture, factor, k, mask, matched))
    return shapes


@kernel
def is_flip(factor: Factor, matrix: ptr[f64]) -> i1:
    """Whether a matrix of a factor without parameters exchanges zero and one, but for signs."""
    is_zero = matrix[0] == 0.0 and matrix[1] == 0.0 and matrix[6] == 0.0 and matrix[7] == 0.0
    return is_zero and factor.parameters == 0


@kernel
def turn(matrix: ptr[f64]) -> None:
    """Exchange the rows of a matrix and its columns."""
    store_unaligned(matrix, 0, shuffle(load_unaligned(matrix, 0), [6, 7, 4, 5, 2, 3, 0, 1]))


@kernel
def divide(
    capture: Capture, first: ptr[f64], mask: i64, matched: i1, matrix: ptr[f64], phases: ptr[f64]
) -> i64:
    """Write a chain's product as a matrix and then phases; return shapes of the matrix.

    There are none where it cannot be divided; it is then all in the matrix. Phases that are one,
    as those of RZ(0), may have derivatives.
    """
    write(IDENTITY, matrix)
    write(IDENTITY, phases)
    shapes: i64 = _IS_REAL | _IS_TURNING
    has_phases: i64 = 0
    place: ptr[f64] = first
    while not is_null(place):
        factor = cast(place, Factor)
        own = shapes_of(capture, factor, mask, matched)
        side = side_of(factor, mask, matched)
        if has_phases == 0 and shapes & own != 0:
            shapes &= own
            multiply(side, matrix, matrix)
        elif shapes != 0 and own & _IS_DIAGONAL != 0:
            has_phases = 1
            multiply(side, phases, phases)
        elif shapes & own & _IS_REAL != 0 and is_flip(factor, side):
            # diag(a, b) and then X is X and then diag(b, a).
            shapes = _IS_REAL
            multiply(side, matrix, matrix)
            turn(phases)
        else:
            shapes = 0
            multiply(phases, matrix, matrix)
            multiply(side, matrix, matrix)
            write(IDENTITY, phases)
        place = factor.next
    return shapes | (_HAS_PHASES * has_phases)


@kernel
def is_wanted(capture: Capture, first: ptr[f64], mask: i64, matched: i1) -> i1:
    """Whether some parameter changes a product on a side."""
    place: ptr[f64] = first
    while not is_null(place):
        factor = cast(place, Factor)
        for k in range(factor.parameters):
            change = change_of(capture, factor, k, mask, matched)
            for element in static(range(8)):
                if change[element] != 0.0:
                    return True
        place = factor.next
    return False


@kernel
def write_adjoint_of(matrix: ptr[f64], result: ptr[f64]) -> None:
    """Write the adjoint of a 2x2 matrix, in memory of its own."""
    for row in static(range(2)):
        for column in static(range(2)):
            result[4 * row + 2 * column] = matrix[4 * column + 2 * row]
            result[4 * row + 2 * column + 1] = -matrix[4 * column + 2 * row + 1]


@kernel
def have_equal(phases: ptr[f64], row: i64, row_matched: i64) -> i1:
    """Whether a row of one side has the same phase as a row of the other."""
    one, other = phases + 6 * row, phases + 8 + 6 * row_matched
    return one[0] == other[0] and one[1] == other[1]


@kernel
def find_common(undone: Undone, phases: ptr[f64]) -> i1:
    """Look for a phase that a row of each side has; the other rows are those with phases."""
    for turned in static(range(4)):
        first, second = turned % 2, turned // 2
        # Lanes of both sides are in the same vectors, and so are their zeros.
        if have_equal(phases, first, second) and (first == second or undone.mask & LANE_MASK == 0):
            undone.turned[0], undone.turned[1] = first, second
            return True
    return False


@kernel
def write_relative(phases: ptr[f64], result: ptr[f64]) -> None:
    """Write the phase of the ones, from a diagonal matrix: relative to the zeros."""
    a, b = phases[0], phases[1]
    c, d = phases[6], phases[7]
    result[0], result[1] = a * c + b * d, a * d - b * c


@kernel
def take_phases(undone: Undone, matrices: ptr[f64], phases: ptr[f64]) -> None:
    """Write the phases of a phased operation, and turn what is to be turned."""
    for side in static(range(2)):
        if undone.turned[side] != 0:
            turn(matrices + 8 * side)
            turn(phases + 8 * side)
        write_relative(phases + 8 * side, undone.phases + 2 * side)


@inline
def can_be_phased(undone: Undone) -> i1:
    """Whether phases can be undone apart from the matrix; on a GPU products cost nothing."""
    if GPU == 1:
        return False
    return undone.target >= LANE_BITS and undone.changes != 0


@kernel
def set_form(capture: Capture, undone: Undone) -> None:
    """Write what undoes an operation: its form, matrices and phases."""
    mask, first = undone.factor_mask, undone.first
    matrices, phases = stack_array(f64, 16), stack_array(f64, 16)
    found = divide(capture, first, mask, True, matrices + 8, phases + 8)
    other: i64 = found
    if mask == 0:
        copy_matrix(matrices + 8, matrices)
        copy_matrix(phases + 8, phases)
    else:
        other = divide(capture, first, mask, False, matrices, phases)
    shapes = found & other
    has_phases = (found | other) & _HAS_PHASES != 0
    undone.form = GENERAL
    for side in static(range(2)):
        undone.phases[2 * side], undone.phases[2 * side + 1] = 1.0, 0.0
        undone.turned[side] = 0
    if shapes & _IS_REAL != 0 and not has_phases:
        undone.form = REAL
    elif shapes & _IS_TURNING != 0 and not has_phases:
        undone.form = TURNING
    elif shapes & _IS_REAL != 0 and can_be_phased(undone):
        if find_common(undone, phases):
            undone.form = PHASED
    if undone.form == PHASED:
        take_phases(undone, matrices, phases)
    else:
        multiply(phases, matrices, matrices)
        multiply(phases + 8, matrices + 8, matrices + 8)
    write_adjoint_of(matrices, undone.otherwise)
    write_adjoint_of(matrices + 8, undone.matched)
    has_own = undone.form != PHASED or (undone.phases[0] == 1.0 and undone.phases[1] == 0.0)
    has_own_matched = undone.form != PHASED or (undone.phases[2] == 1.0 and undone.phases[3] == 0.0)
    undone.keeps_otherwise = 1 if is_identity(undone.otherwise) and has_own else 0
    undone.keeps_matched = 1 if is_identity(undone.matched) and has_own_matched else 0


@kernel
def settle_factors(shadow: State, capture: Capture) -> None:
    """Put all factors through the queue's fusion."""
    for k in range(capture.count):
        factor = capture.factors[k]
        operation = shadow.operations[shadow.waiting]
        operation.target, operation.mask, operation.value = factor.target, factor.mask, factor.value
        operation.is_live, operation.flips, operation.word = 1, 0, 0
        copy_matrix(factor.generic_otherwise, operation.otherwise)
        copy_matrix(factor.generic_matched, operation.matched)
        factor.next, factor.previous = null(ptr[f64]), null(ptr[f64])
        operation.first = cast(factor, ptr[f64])
        operation.last = cast(factor, ptr[f64])
        settle(shadow)


@kernel
def bits_now(bits: i64, bit_of: ptr[i64], qubits: i64) -> i64:
    """A mask of bits of the shadow as one of the state."""
    found: i64 = 0
    for bit in range(qubits):
        found |= ((bits >> bit) & 1) << bit_of[bit]
    return found


@kernel
def write_undone(
    capture: Capture, operation: Operation, undone: Undone, bit_of: ptr[i64], qubits: i64
) -> None:
    """Write what undoes a fused operation."""
    undone.target = bit_of[operation.target]
    undone.mask = bits_now(operation.mask, bit_of, qubits)
    undone.value = bits_now(operation.value, bit_of, qubits)
    undone.changes = bits_now(operation.changes, bit_of, qubits)
    undone.reads = bits_now(operation.reads, bit_of, qubits)
    mask, first = operation.mask, operation.first
    undone.factor_mask, undone.first, undone.last = mask, first, operation.last
    undone.weight = 1.0
    undone.wants_matched = 1 if is_wanted(capture, first, mask, True) else 0
    undone.wants_otherwise = undone.wants_matched
    if mask != 0:
        undone.wants_otherwise = 1 if is_wanted(capture, first, mask, False) else 0
    set_form(capture, undone)


@kernel
def fuse(run: Backward, bit_of: ptr[i64]) -> i1:
    """Fuse all that was captured; `bit_of` gives a bit of the state for each of the shadow's."""
    shadow, capture = run.shadow, run.capture
    needed = (capture.count + 1) * size_of(Operation)
    if needed > run.operations_bytes:
        memory = realloc(cast(shadow.operations, ptr[f64]), needed)
        if is_null(memory):
            return False
        shadow.operations, run.operations_bytes = cast(memory, ptr[Operation]), needed
    forget_waiting(shadow)
    settle_factors(shadow, capture)
    needed_undone = (shadow.waiting + 1) * size_of(Undone)
    if needed_undone > run.undone_bytes:
        more = realloc(cast(run.undone, ptr[f64]), needed_undone)
        if is_null(more):
            return False
        run.undone, run.undone_bytes = cast(more, ptr[Undone]), needed_undone
    run.count = 0
    for k in range(shadow.waiting):
        operation = shadow.operations[k]
        if operation.is_live != 0:
            write_undone(capture, operation, run.undone[run.count], bit_of, shadow.qubits)
            run.count += 1
    return True
