"""Any matrix on a few wires, with controls: applied, or measured as a Hermitian observable.

A matrix on one wire is an ordinary operation of the queue, a unitary on two wires becomes a few
(`two_wires`). Any other is applied at once: by whole blocks where the state has room to move its
bits out of the lanes, else one by one.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import cast, f64, i64, is_null, kernel, ptr
from diastase_engine.state_vector.gates.dense_blocks import apply_by_blocks, lift, moments_by_blocks
from diastase_engine.state_vector.gates.dense_lanes import apply_by_lanes, moments_by_lanes
from diastase_engine.state_vector.gates.dense_plan import allocate_dense, fill_offsets
from diastase_engine.state_vector.gates.two_wires import push_matrix
from diastase_engine.state_vector.queue.queue import flush, push_single, spoil
from diastase_engine.state_vector.queue.tape import UNITARY, keep_array
from diastase_engine.state_vector.state.c_functions import free
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.nan_gates import all_are_numbers
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.wires import control_value, mask_of


@kernel
def unitary(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    matrix: ptr[f64],
) -> None:
    """Apply any matrix (unitary or not, row-major) to target wires, with controls."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    fixed = mask_of(context, state, site, n_targets, targets, mask)
    if fixed < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    if not is_null(state.tape):
        keep_array(context, state, site, UNITARY, n_targets, targets, mask, value, matrix)
    if not all_are_numbers(2 << (2 * n_targets), matrix):
        spoil(state)
        return
    if n_targets == 1:
        push_single(state, state.bit_of_wire[targets[0]], mask, value, matrix)
        return
    if n_targets == 2:
        first, second = state.bit_of_wire[targets[0]], state.bit_of_wire[targets[1]]
        if push_matrix(state, matrix, first, second, mask, value):
            return
    dense = allocate_dense(context, site, n_targets, matrix)
    if is_null(dense):
        return
    by_blocks = lift(state, fixed)
    # Only now: lifting renames bits.
    dense.fixed = mask_of(context, state, site, n_targets, targets, 0)
    dense.fixed = mask_of(context, state, site, n_controls, controls, dense.fixed)
    dense.value = control_value(state, n_controls, controls, control_values)
    fill_offsets(dense, state, n_targets, targets)
    flush(state)
    if by_blocks:
        apply_by_blocks(state, dense)
    else:
        apply_by_lanes(state, dense)
    free(cast(dense, ptr[f64]))


@kernel
def matrix_moments(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
    moments: ptr[f64],
) -> None:
    """Write <O> and <O O>, zeros after an error."""
    moments[0], moments[1] = 0.0, 0.0
    if cannot_run(context, state):
        return
    fixed = mask_of(context, state, site, n_wires, wires, 0)
    if fixed < 0:
        return
    dense = allocate_dense(context, site, n_wires, matrix)
    if is_null(dense):
        return
    by_blocks = lift(state, fixed)
    dense.fixed = mask_of(context, state, site, n_wires, wires, 0)
    fill_offsets(dense, state, n_wires, wires)
    flush(state)
    if by_blocks:
        moments_by_blocks(state, dense, moments)
    else:
        moments_by_lanes(state, dense, moments)
    free(cast(dense, ptr[f64]))
