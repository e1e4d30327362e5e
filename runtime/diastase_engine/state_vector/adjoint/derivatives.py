"""Derivatives by all parameters that were fused into an operation, from what was summed up.

With U = L F R, where F is a factor, the derivative by a parameter of F is `Re <A| dU U^+ |S>`, with
A and S as they are after U; and `dU U^+ = L dF F^+ L^+`. So with N the sum of `|S><A|` at the
operation's target it is `Re trace(dF F^+ N')` for `N' = L^+ N L`, which goes through the factors
from the last to the first. Only the anti-Hermitian part of N counts, which is what was summed up.
Small work, whatever the size of the state.
"""

from diastase_engine.language import cast, f64, i64, is_null, kernel, ptr, stack_array, static
from diastase_engine.state_vector.adjoint.forms import change_of, side_of, turn, write_adjoint_of
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    SUMS,
    Backward,
    Undone,
)
from diastase_engine.state_vector.operations.captured import Factor
from diastase_engine.state_vector.state.small_matrices import multiply


@kernel
def trace_of_product(left: ptr[f64], right: ptr[f64]) -> f64:
    """Re trace(left right)."""
    total: f64 = 0.0
    for row in static(range(2)):
        for column in static(range(2)):
            a, b = left[4 * row + 2 * column], left[4 * row + 2 * column + 1]
            x, y = right[4 * column + 2 * row], right[4 * column + 2 * row + 1]
            total += a * x - b * y
    return total


@kernel
def write_moment(moments: ptr[f64], phases: ptr[f64], result: ptr[f64]) -> None:
    """Write the anti-Hermitian part of N, as it is after the phases."""
    x, y = 0.5 * moments[BY_X], 0.5 * moments[BY_Y]
    c, s = phases[0], phases[1]
    result[0], result[1] = 0.0, moments[BY_ZERO]
    result[2], result[3] = y * c + x * s, x * c - y * s
    result[4], result[5] = -(y * c + x * s), x * c - y * s
    result[6], result[7] = 0.0, moments[BY_ONE]


@kernel
def add_side(run: Backward, undone: Undone, matched: i64, moments: ptr[f64]) -> None:
    """Add what one side of an operation gives to the results."""
    mask = undone.factor_mask
    moment, work = stack_array(f64, 8), stack_array(f64, 8)
    inverse = stack_array(f64, 8)
    write_moment(moments, undone.phases + 2 * matched, moment)
    if undone.turned[matched] != 0:
        turn(moment)
    place: ptr[f64] = undone.last
    while not is_null(place):
        factor = cast(place, Factor)
        matrix = side_of(factor, mask, matched != 0)
        write_adjoint_of(matrix, inverse)
        multiply(inverse, moment, work)
        for k in range(factor.parameters):
            change = change_of(run.capture, factor, k, mask, matched != 0)
            number = factor.parameter + k
            run.results[number] = run.results[number] + trace_of_product(change, work)
        multiply(work, matrix, moment)
        place = factor.previous


@kernel
def add_derivatives(run: Backward) -> None:
    """Add the derivatives by all parameters that were captured."""
    total = stack_array(f64, SUMS)
    for index in range(run.count):
        undone = run.undone[index]
        for k in static(range(SUMS)):
            total[k] = 0.0
        for group in range(run.groups):
            moments = run.moments + (group * run.count + index) * SUMS
            for k in static(range(SUMS)):
                total[k] = total[k] + moments[k]
        if undone.wants_matched != 0:
            add_side(run, undone, 1, total + SIDE_SUMS)
        if undone.factor_mask != 0 and undone.wants_otherwise != 0:
            add_side(run, undone, 0, total)
