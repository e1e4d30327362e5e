"""Derivatives by all parameters that were fused into an operation, from its moments.

With U = F[k] ... F[1] and M[a][b] the sum of `conj(adjoint[a]) state[b]`, the derivative by a
parameter of F[j] is `Re sum(dU[a][b] M[a][b]) = Re trace(dF[j] R M^T L)`, where L is the product of
the factors after F[j], and R that of those before it. Small work, whatever the size of the state.
"""

from diastase_mlir.kernels.language import (
    cast,
    f64,
    i1,
    i64,
    is_null,
    kernel,
    ptr,
    stack_array,
    static,
)
from diastase_mlir.kernels.state_vector.backward_fusion import side_of
from diastase_mlir.kernels.state_vector.backward_records import MOMENTS, Backward, Undone
from diastase_mlir.kernels.state_vector.captured import SIDES, Factor
from diastase_mlir.kernels.state_vector.plan_memory import room
from diastase_mlir.kernels.state_vector.small_matrices import (
    IDENTITY,
    copy_matrix,
    multiply,
    write,
)

_STEP = 9
"""Words of a factor in the list: where it is, and the product of those before it."""


@kernel
def length_of_chain(first: ptr[f64]) -> i64:
    """How many factors there are."""
    count: i64 = 0
    place: ptr[f64] = first
    while not is_null(place):
        count += 1
        place = cast(place, Factor).next
    return count


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
def add_side(run: Backward, undone: Undone, matched: i1, moments: ptr[f64]) -> i1:
    """Add what one side of an operation gives to the results; false without memory."""
    mask = undone.factor_mask
    count = length_of_chain(undone.first)
    run.prefixes = room(run.prefixes, run.prefixes_bytes, 8 * _STEP * count)
    if is_null(run.prefixes):
        run.prefixes_bytes = 0
        return False
    if 8 * _STEP * count > run.prefixes_bytes:
        run.prefixes_bytes = 8 * _STEP * count
    before = stack_array(f64, 8)
    write(IDENTITY, before)
    place: ptr[f64] = undone.first
    for k in range(count):
        step = run.prefixes + _STEP * k
        cast(step, ptr[ptr[f64]])[0] = place
        copy_matrix(before, step + 1)
        factor = cast(place, Factor)
        multiply(side_of(factor, mask, matched), before, before)
        place = factor.next
    # M^T L, from the last factor to the first.
    after, whole = stack_array(f64, 8), stack_array(f64, 8)
    for part in static(range(2)):
        after[part], after[6 + part] = moments[part], moments[6 + part]
        after[2 + part], after[4 + part] = moments[4 + part], moments[2 + part]
    k: i64 = count - 1
    while k >= 0:
        step = run.prefixes + _STEP * k
        factor = cast(cast(step, ptr[ptr[f64]])[0], Factor)
        if factor.parameters != 0:
            multiply(step + 1, after, whole)
            add_parameters(run, factor, 8 if matched or factor.mask != mask else 0, whole)
        multiply(after, side_of(factor, mask, matched), after)
        k -= 1
    return True


@kernel
def add_parameters(run: Backward, factor: Factor, half: i64, whole: ptr[f64]) -> None:
    """Add the derivatives by all parameters of a factor."""
    for k in range(factor.parameters):
        pair = factor.derivative + k * factor.stride
        change = run.capture.derivatives + SIDES * pair + half
        place = factor.parameter + k
        run.results[place] = run.results[place] + trace_of_product(change, whole)


@kernel
def add_derivatives(run: Backward) -> i1:
    """Add the derivatives by all parameters that were captured; false without memory."""
    total = stack_array(f64, MOMENTS)
    for index in range(run.count):
        undone = run.undone[index]
        for k in static(range(MOMENTS)):
            total[k] = 0.0
        for group in range(run.groups):
            moments = run.moments + (group * run.count + index) * MOMENTS
            for k in static(range(MOMENTS)):
                total[k] = total[k] + moments[k]
        if undone.wants_matched != 0 and not add_side(run, undone, True, total + 8):
            return False
        if (
            undone.factor_mask != 0
            and undone.wants_otherwise != 0
            and not add_side(run, undone, False, total)
        ):
            return False
    return True
