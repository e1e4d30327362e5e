"""Gates by their complex matrices: checked wires and bits of controls in, a conjugation out."""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.conjugation import (
    DIAGONAL,
    MATRIX,
    ROTATION,
    Factor,
    conjugate,
)
from diastase_engine.density_matrix.state.digits import MAX_WIRES
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.state.checks import all_are_numbers
from diastase_engine.state_vector.state.records import State


@kernel
def push_factor(
    context: CallContext,
    state: State,
    site: i64,
    kind: i64,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    numbers: ptr[f64],
    flips: i64,
    signs: i64,
) -> None:
    """Conjugate by a `Factor`, where the controls (bits, as in `checks`) match."""
    count: i64 = 2
    if kind == MATRIX:
        count = 2 << (2 * n_targets)
    elif kind == DIAGONAL:
        count = 2 << n_targets
    if not all_are_numbers(count, numbers):
        spoil(state)
        return
    factor, wires = stack_record(Factor), stack_array(i64, MAX_WIRES)
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
    factor.kind, factor.targets, factor.wires = kind, n_targets, n_wires + n_targets
    factor.value, factor.numbers, factor.flips, factor.signs = matching, numbers, flips, signs
    conjugate(context, state, site, wires, factor)


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
    push_factor(
        context, state, site, MATRIX, n_targets, targets, controls, value, matrix, 0, 0
    )  # fmt: skip


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
    push_factor(
        context, state, site, DIAGONAL, n_targets, targets, controls, value, elements, 0, 0
    )  # fmt: skip


@kernel
def push_rotation(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    controls: i64,
    value: i64,
    cosine: f64,
    sine: f64,
    flips: i64,
    signs: i64,
) -> None:
    """Conjugate by `cosine - i sine P`, of half of an angle; see `Factor`."""
    numbers = stack_array(f64, 2)
    numbers[0], numbers[1] = cosine, sine
    push_factor(
        context, state, site, ROTATION, n_targets, targets, controls, value, numbers, flips, signs
    )
