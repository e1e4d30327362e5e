"""Any matrix on a few wires, with controls: applied, or measured as a Hermitian observable.

For every setting of the other bits, the 2^k amplitudes of the target bits are gathered, multiplied
and put back. The matrix is stored by columns, eight rows to a vector (padded with zero rows), so
the product is vectorised whatever bits the targets are.
"""

from diastase_mlir.kernels.language import (
    Record,
    broadcast,
    cast,
    count_ones,
    f64,
    i64,
    inline,
    is_null,
    kernel,
    null,
    ptr,
    size_of,
    v8,
)
from diastase_mlir.kernels.state_vector.failures import OUT_OF_MEMORY, cannot_run, fail
from diastase_mlir.kernels.state_vector.memory import allocate, free, memset
from diastase_mlir.kernels.state_vector.queue import flush, push_single
from diastase_mlir.kernels.state_vector.records import ALIGNMENT, CallContext, State
from diastase_mlir.kernels.state_vector.wires import control_value, mask_of

MAX_TARGETS = 20
"""A matrix on more wires would be larger than any memory."""


class Dense(Record):
    """A matrix prepared for one set of target bits; lives at the head of its own memory."""

    size: i64
    """Rows of the matrix, 2^k."""
    row_blocks: i64
    fixed: i64
    """Target and control bits."""
    value: i64
    """The control bits that must be one."""
    offsets: ptr[i64]
    """Where the amplitude of each row lies, relative to that of row 0, in numbers."""
    gathered: ptr[f64]
    """Amplitudes before: real and imaginary parts alternating."""
    product: ptr[v8]
    """Amplitudes after: a vector of real parts, a vector of imaginary parts, and so on."""
    columns: ptr[v8]


_HEAD = (size_of(Dense) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT // 8


@inline
def position(index: i64) -> i64:
    """Where the real part of an amplitude lies among the numbers of a state."""
    return ((index >> 3) << 4) | (index & 7)


@kernel
def allocate_dense(context: CallContext, site: i64, n_targets: i64) -> Dense:
    """Memory for a matrix on `n_targets` bits, divided, or an error and null."""
    if n_targets > MAX_TARGETS:
        fail(context, OUT_OF_MEMORY, site, -1, 0)
        return null(Dense)
    size = 1 << n_targets
    row_blocks = (size + 7) >> 3
    vectors = 2 * row_blocks * (size + 1)
    numbers = _HEAD + 8 * vectors + 3 * size
    memory = allocate(context, site, 8 * numbers)
    if is_null(memory):
        return null(Dense)
    memset(memory, 0, 8 * numbers)
    dense = cast(memory, Dense)
    dense.size = size
    dense.row_blocks = row_blocks
    dense.product = cast(memory + _HEAD, ptr[v8])
    dense.columns = cast(memory + (_HEAD + 16 * row_blocks), ptr[v8])
    dense.gathered = memory + (_HEAD + 8 * vectors)
    dense.offsets = cast(memory + (_HEAD + 8 * vectors + 2 * size), ptr[i64])
    return dense


@kernel
def fill_columns(dense: Dense, matrix: ptr[f64]) -> None:
    """Store a row-major matrix by columns."""
    numbers = cast(dense.columns, ptr[f64])
    for row in range(dense.size):
        for column in range(dense.size):
            element = 2 * (row * dense.size + column)
            place = 16 * (column * dense.row_blocks + (row >> 3)) + (row & 7)
            numbers[place] = matrix[element]
            numbers[place + 8] = matrix[element + 1]


@kernel
def fill_offsets(dense: Dense, state: State, n_targets: i64, targets: ptr[i64]) -> None:
    """Fill the offsets; the first target wire is the most significant bit of the row."""
    for row in range(dense.size):
        index: i64 = 0
        for k in range(n_targets):
            index |= ((row >> (n_targets - 1 - k)) & 1) << state.bit_of_wire[targets[k]]
        dense.offsets[row] = position(index)


@inline
def gather(dense: Dense, numbers: ptr[f64], base: i64) -> None:
    """Copy the amplitudes of one setting of the other bits."""
    for row in range(dense.size):
        place = base + dense.offsets[row]
        dense.gathered[2 * row] = numbers[place]
        dense.gathered[2 * row + 1] = numbers[place + 8]


@inline
def multiply(dense: Dense) -> None:
    """`product = matrix @ gathered`."""
    for block in range(dense.row_blocks):
        real = broadcast(0.0)
        imaginary = broadcast(0.0)
        for column in range(dense.size):
            a = broadcast(dense.gathered[2 * column])
            b = broadcast(dense.gathered[2 * column + 1])
            place = 2 * (column * dense.row_blocks + block)
            x, y = dense.columns[place], dense.columns[place + 1]
            real += a * x - b * y
            imaginary += a * y + b * x
        dense.product[2 * block] = real
        dense.product[2 * block + 1] = imaginary


@kernel
def apply_dense(state: State, dense: Dense) -> None:
    """Multiply all amplitudes whose controls match."""
    numbers = cast(state.amplitudes, ptr[f64])
    results = cast(dense.product, ptr[f64])
    index: i64 = 0
    for _ in range((1 << state.qubits) >> count_ones(dense.fixed)):
        base = position(index | dense.value)
        gather(dense, numbers, base)
        multiply(dense)
        for row in range(dense.size):
            place = base + dense.offsets[row]
            numbers[place] = results[position(row)]
            numbers[place + 8] = results[position(row) + 8]
        index = ((index | dense.fixed) + 1) & ~dense.fixed


@kernel
def dense_moments(state: State, dense: Dense, moments: ptr[f64]) -> None:
    """Write <O> and <O O> of a Hermitian matrix."""
    numbers = cast(state.amplitudes, ptr[f64])
    results = cast(dense.product, ptr[f64])
    mean: f64 = 0.0
    square: f64 = 0.0
    index: i64 = 0
    for _ in range((1 << state.qubits) >> count_ones(dense.fixed)):
        gather(dense, numbers, position(index))
        multiply(dense)
        for row in range(dense.size):
            x, y = results[position(row)], results[position(row) + 8]
            mean += dense.gathered[2 * row] * x + dense.gathered[2 * row + 1] * y
            square += x * x + y * y
        index = ((index | dense.fixed) + 1) & ~dense.fixed
    moments[0], moments[1] = mean, square


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
    """Any matrix (unitary or not, row-major) on target wires, with controls."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    fixed = mask_of(context, state, site, n_targets, targets, mask)
    if fixed < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    if n_targets == 1:
        push_single(state, state.bit_of_wire[targets[0]], mask, value, matrix)
        return
    dense = allocate_dense(context, site, n_targets)
    if is_null(dense):
        return
    dense.fixed = fixed
    dense.value = value
    fill_columns(dense, matrix)
    fill_offsets(dense, state, n_targets, targets)
    flush(state)
    apply_dense(state, dense)
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
    dense = allocate_dense(context, site, n_wires)
    if is_null(dense):
        return
    dense.fixed = fixed
    fill_columns(dense, matrix)
    fill_offsets(dense, state, n_wires, wires)
    flush(state)
    dense_moments(state, dense, moments)
    free(cast(dense, ptr[f64]))
