"""Gates by their complex matrices: checked wires and bits of controls in, a conjugation out."""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.conjugation import (
    DIAGONAL,
    MATRIX,
    Factor,
    conjugate,
)
from diastase_engine.density_matrix.state.digits import MAX_WIRES
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.state.checks import all_are_numbers
from diastase_engine.state_vector.state.records import State


@kernel
def place_factor(
    state: State,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    factor: Factor,
    wires: ptr[i64],
) -> None:
    """Say on which wires a factor is, whose kind and numbers are known: write controls, targets."""
    n_wires: i64 = 0
    matching: i64 = 0
    for wire in range(state.qubits):
        bit = state.bit_of_wire[wire]
        if (controls >> bit) & 1 == 1:
            wires[n_wires] = wire
            matching = (matching << 1) | ((value >> bit) & 1)
            n_wires += 1
    for k in range(n_targets):
        wires[n_wires + k] = targets[k]
    factor.targets, factor.wires, factor.value = n_targets, n_wires + n_targets, matching
    factor.adjoint = 0


@kernel
def numbers_of(factor: Factor) -> i64:
    """How many numbers a factor has."""
    if factor.kind == MATRIX:
        return 2 << (2 * factor.targets)
    return 2 << factor.targets if factor.kind == DIAGONAL else 2


@kernel
def push_factor(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    factor: Factor,
) -> None:
    """Conjugate by a factor where the controls (bits, as in `checks`) match."""
    wires = stack_array(i64, MAX_WIRES)
    place_factor(state, n_targets, targets, controls, value, factor, wires)
    if not all_are_numbers(numbers_of(factor), factor.numbers):
        spoil(state)
        return
    conjugate(context, state, site, wires, factor)


@inline
def push_array(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    numbers: ptr[f64],
    kind: int,
) -> None:
    """Conjugate by a matrix or a diagonal."""
    factor = stack_record(Factor)
    factor.kind, factor.numbers, factor.flips, factor.signs = kind, numbers, 0, 0
    push_factor(context, state, site, n_targets, targets, controls, value, factor)


@kernel
def push_matrix(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    matrix: ptr[f64],
) -> None:
    """Conjugate by a complex matrix, row-major."""
    push_array(context, state, site, n_targets, targets, controls, value, matrix, MATRIX)


@kernel
def push_diagonal(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    elements: ptr[f64],
) -> None:
    """Conjugate by a complex diagonal matrix."""
    push_array(context, state, site, n_targets, targets, controls, value, elements, DIAGONAL)
