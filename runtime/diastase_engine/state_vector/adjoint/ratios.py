"""Operations of a sweep back divided by numbers, so that both diagonal elements are one.

A rotation about X or Y takes half of the multiplications then: c (1, t; -t, 1). Both registers are
undone by the matrix divided by c, so they lack the same factor from there on, and what is summed up
lacks its square, which is known (`Undone.weight`). An operation that takes all multiplications
anyway, as a diagonal one does, is multiplied by what is lacking.

A part is undone as a whole: the last of its operations that can be multiplied is, so that nothing
lacks after it. Numbers depend on the operations only, not on pieces or chunks.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.forms import GENERAL
from diastase_engine.state_vector.adjoint.records import Backward, Undone
from diastase_engine.state_vector.adjoint.tile_records import DIAGONAL_RUN
from diastase_engine.state_vector.state.small_matrices import (
    divide_by,
    has_equal_diagonal,
    size,
)

LEAST = 2.0**-25
"""All that is lacking is hardly smaller."""


@kernel
def bears(operation: Undone) -> i1:
    """Whether an operation can be multiplied by a number: it changes all amplitudes."""
    if operation.mask == 0:
        return operation.keeps_matched == 0
    return operation.keeps_matched | operation.keeps_otherwise == 0


@kernel
def divisor_of(operation: Undone) -> f64:
    """What both matrices of an operation are divided by, or 0."""
    if operation.changes == 0 or operation.form == GENERAL or not bears(operation):
        return 0.0
    if operation.mask != 0 and has_equal_diagonal(operation.otherwise):
        return operation.otherwise[0]
    if has_equal_diagonal(operation.matched):
        return operation.matched[0]
    return 0.0


@kernel
def multiply_by(operation: Undone, number: f64) -> None:
    """Multiply both matrices."""
    for k in static(range(8)):
        operation.otherwise[k] = operation.otherwise[k] * number
        operation.matched[k] = operation.matched[k] * number


@kernel
def divide_part(run: Backward, part: i64) -> None:
    """Divide the operations of a part where that is worth while, and set all weights."""
    first = run.ends[part - 1] if part > 0 else 0
    last: i64 = first
    while last < run.ends[part] and not bears(run.undone[run.order[last]]):
        last += 1
    lacking: f64 = 1.0
    first_step = run.step_ends[part - 1] if part > run.first_part else 0
    number: i64 = run.step_ends[part] - 1
    while number >= first_step:
        step = run.steps[number]
        for k in range(step.begin, step.end):
            run.undone[run.order[k]].weight = lacking * lacking
        k: i64 = step.end - 1
        while k >= step.begin:
            operation = run.undone[run.order[k]]
            if step.kind != DIAGONAL_RUN:
                operation.weight = lacking * lacking
            divisor: f64 = 0.0
            if k > last and size(lacking) > LEAST:
                divisor = divisor_of(operation)
            if divisor != 0.0:
                divide_by(operation.otherwise, divisor)
                divide_by(operation.matched, divisor)
                lacking *= divisor
            elif lacking != 1.0 and bears(operation):
                multiply_by(operation, lacking)
                lacking = 1.0
            k -= 1
        number -= 1
