"""Any diagonal matrix on some wires, with controls: each amplitude times its element.

A diagonal on one wire is an ordinary operation of the queue. A larger one is applied at once.
"""

from diastase_mlir.kernels.language import cast, f64, i64, kernel, ptr, stack_array
from diastase_mlir.kernels.state_vector.failures import cannot_run
from diastase_mlir.kernels.state_vector.queue import flush, push_single
from diastase_mlir.kernels.state_vector.records import LANE_BITS, MAX_QUBITS, CallContext, State
from diastase_mlir.kernels.state_vector.wires import bits_of, control_value, mask_of

LANES = 1 << LANE_BITS


@kernel
def push_diagonal(state: State, target: i64, mask: i64, value: i64, elements: ptr[f64]) -> None:
    """Queue a diagonal matrix on one bit."""
    matrix = stack_array(f64, 8)
    for k in range(8):
        matrix[k] = 0.0
    matrix[0], matrix[1] = elements[0], elements[1]
    matrix[6], matrix[7] = elements[2], elements[3]
    push_single(state, target, mask, value, matrix)


@kernel
def diagonal(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    elements: ptr[f64],
) -> None:
    """Apply a diagonal matrix to target wires, the first one most significant, with controls."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    if mask_of(context, state, site, n_targets, targets, mask) < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    bits = stack_array(i64, MAX_QUBITS)
    bits_of(state, n_targets, targets, bits)
    if n_targets == 1:
        push_diagonal(state, bits[0], mask, value, elements)
        return
    flush(state)
    numbers = cast(state.amplitudes, ptr[f64])
    for index in range(1 << state.qubits):
        if index & mask == value:
            row: i64 = 0
            for position in range(n_targets):
                row = 2 * row + ((index >> bits[position]) & 1)
            place = 2 * LANES * (index >> LANE_BITS) + (index & (LANES - 1))
            x, y = numbers[place], numbers[place + LANES]
            a, b = elements[2 * row], elements[2 * row + 1]
            numbers[place] = x * a - y * b
            numbers[place + LANES] = x * b + y * a
