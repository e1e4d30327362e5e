"""Operations that are given by arrays: unitaries, diagonals, superoperators, prepared wires."""

from collections.abc import Callable

from diastase_engine.call_context import NOT_TRACE_PRESERVING, CallContext, fail
from diastase_engine.density_matrix.gates.factors import push_diagonal, push_matrix
from diastase_engine.density_matrix.gates.kept import REPLACE, SUPEROPERATOR, keep_real
from diastase_engine.density_matrix.operations.apply import apply_bits, apply_transfer, flush
from diastase_engine.density_matrix.operations.groups import fill_offsets, is_over, next_group
from diastase_engine.density_matrix.operations.hermitian import square_of_matrix
from diastase_engine.density_matrix.state.digits import (
    MAX_INDEX_BITS,
    bits_of_wires,
    digits_of,
    index_bits,
)
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.gates import operators as pure
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import DIAGONAL, UNITARY, keep_array
from diastase_engine.state_vector.state.checks import (
    all_are_numbers,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import State, free

PRESERVED = 1e-6
"""How far the first row of a channel's matrix may be from (1, 0, ..., 0)."""


@inline
def apply_array(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    numbers: ptr[f64],
    kind: int,
    push: Callable[..., None],
) -> None:
    """Check wires, keep the array on the tape, and push it."""
    if not cannot_run(context, state):
        mask = mask_of(context, state, site, n_controls, controls, 0)
        fixed = mask_of(context, state, site, n_targets, targets, mask)
        if fixed >= 0:
            value = control_value(state, n_controls, controls, control_values)
            if not is_null(state.tape):
                keep_array(context, state, site, kind, n_targets, targets, mask, value, numbers)
            push(context, state, site, n_targets, targets, mask, value, numbers)


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
    """Conjugate by any matrix (unitary or not, row-major) on target wires, with controls."""
    apply_array(
        context, state, site, n_targets, targets, n_controls, controls, control_values, matrix,
        UNITARY, push_matrix,
    )  # fmt: skip


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
    """Conjugate by a diagonal matrix on target wires, with controls."""
    apply_array(
        context, state, site, n_targets, targets, n_controls, controls, control_values, elements,
        DIAGONAL, push_diagonal,
    )  # fmt: skip


@kernel
def preserves_traces(size: i64, matrix: ptr[f64]) -> i1:
    """Whether the first row is (1, 0, ..., 0)."""
    for column in range(size):
        difference = matrix[column] - (1.0 if column == 0 else 0.0)
        if not (difference <= PRESERVED and -difference <= PRESERVED):
            return False
    return True


@kernel
def superoperator(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
    checked: i64,
) -> None:
    """Apply a real matrix on wires, derivative wires among them."""
    if cannot_run(context, state):
        return
    bits = stack_array(i64, MAX_INDEX_BITS)
    count = bits_of_wires(context, state, site, n_targets, wires, bits)
    if count < 0:
        return
    if checked != 0 and not preserves_traces(1 << count, matrix):
        fail(context, NOT_TRACE_PRESERVING, site, 0, 0)
        return
    if not is_null(state.tape):
        numbers = 1 << (2 * count)
        keep_real(context, state, site, SUPEROPERATOR, n_targets, wires, numbers, matrix)
    apply_superoperator(context, state, site, n_targets, wires, matrix)


@kernel
def apply_superoperator(
    context: CallContext, state: State, site: i64, n_targets: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply it on checked wires; one that is not finite spoils the state."""
    bits = stack_array(i64, MAX_INDEX_BITS)
    count = bits_of_wires(context, state, site, n_targets, wires, bits)
    if not all_are_numbers(1 << (2 * count), matrix):
        spoil(state)
        return
    if n_targets == 1 and count == 2:
        apply_transfer(context, state, site, 1, wires, matrix)
    elif n_targets == 2 and count == 4:
        apply_transfer(context, state, site, 2, wires, matrix)
    else:
        apply_bits(context, state, site, count, bits, matrix)


@kernel
def put(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], square: ptr[f64]
) -> None:
    """Trace checked wires out, and put what the square says in their place."""
    count = 2 * n_wires
    size = 1 << count
    memory = allocate(context, site, 8 * size)
    if is_null(memory):
        return
    flush(state)
    offsets, bits = cast(memory, ptr[i64]), stack_array(i64, MAX_INDEX_BITS)
    digits_of(state, n_wires, wires, bits)
    mask = fill_offsets(count, bits, offsets)
    numbers = cast(state.amplitudes, ptr[stored])
    factor = to_float(1 << n_wires)
    state.gates += 1
    group: i64 = 0
    for number in range(1 << (index_bits(state) - count)):
        if is_over(state, number):
            break
        trace = factor * numbers[group]
        for row in range(size):
            numbers[group + offsets[row]] = trace * square[2 * row]
        group = next_group(group, mask)
    free(memory)


@kernel
def put_matrix(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Put a density matrix in the place of checked wires; one that is not finite spoils."""
    if not all_are_numbers(2 << (2 * n_wires), matrix):
        spoil(state)
        return
    square = allocate(context, site, 16 << (2 * n_wires))
    if is_null(square):
        return
    square_of_matrix(matrix, n_wires, square)
    put(context, state, site, n_wires, wires, square)
    free(square)


@kernel
def put_amplitudes(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    amplitudes: ptr[f64],
) -> None:
    """Likewise, the projector on a vector."""
    size = 1 << n_wires
    matrix = allocate(context, site, 16 * size * size)
    if is_null(matrix):
        return
    for row in range(size):
        a, b = amplitudes[2 * row], amplitudes[2 * row + 1]
        for column in range(size):
            x, y = amplitudes[2 * column], amplitudes[2 * column + 1]
            place = 2 * (row * size + column)
            matrix[place], matrix[place + 1] = a * x + b * y, b * x - a * y
    put_matrix(context, state, site, n_wires, wires, matrix)
    free(matrix)


@kernel
def replace(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Trace wires out, and put a density matrix (complex, row-major) in their place."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    if not is_null(state.tape):
        count = 2 << (2 * n_wires)
        keep_real(context, state, site, REPLACE, n_wires, wires, count, matrix)
    put_matrix(context, state, site, n_wires, wires, matrix)


prepare = kernel_like(pure.prepare, put_amplitudes=put_amplitudes)
