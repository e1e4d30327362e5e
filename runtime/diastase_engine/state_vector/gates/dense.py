"""Any matrix on a few wires, with controls: applied, or measured as a Hermitian observable.

A matrix on one wire is an ordinary operation of the queue, a unitary on two wires becomes a few
(`two_wires`). Any other is applied at once: by a GPU where there is one (`device.matrices`), and on
the host in one of two ways:

* by *blocks* where the state has room to move its bits out of the lanes, where they then stay for
  the gates that follow (`lift`): the 2^k blocks of one setting of the other bits are multiplied as
  vectors, without any gathering;
* else by *lanes*, whatever the bits: for every setting of the other bits, the 2^k amplitudes of the
  target bits are gathered, multiplied and put back. The matrix is stored by columns, as many rows
  to a vector as it has lanes (padded with zero rows), so at least the product is vectorised.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.matrices import (
    MOST_TARGETS_THERE,
    moments_there,
    multiply_there,
)
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.gates.decompositions import exchange_bits
from diastase_engine.state_vector.gates.two_wires import push_matrix
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.queue import (
    apply_waiting,
    flush,
    flush_to_read,
    push_single,
    spoil,
)
from diastase_engine.state_vector.queue.tape import UNITARY, keep_array
from diastase_engine.state_vector.state.checks import (
    all_are_numbers,
    bits_of,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import (
    ALIGNMENT,
    LANE_BITS,
    LANE_MASK,
    LANES,
    State,
    free,
    memset,
)
from diastase_engine.state_vector.tiles.sweeps import next_block

multiplied_there, measured_there = if_gpu(multiply_there), if_gpu(moments_there)

MAX_TARGETS = 20
"""A matrix on more wires would be larger than any memory."""


class Dense(Record):
    """A matrix prepared for one set of target bits; lives at the head of its own memory."""

    size: i64
    """Rows of the matrix, 2^k."""
    row_blocks: i64
    """Vectors that hold a column."""
    fixed: i64
    """Target and control bits."""
    value: i64
    """The control bits that must be one."""
    offsets: ptr[i64]
    """Where the amplitude of each row lies, relative to that of row 0, in numbers."""
    gathered: ptr[f64]
    """Amplitudes before: real and imaginary parts alternating."""
    product: ptr[vector]
    """Amplitudes after: a vector of real parts, a vector of imaginary parts, and so on."""
    columns: ptr[vector]
    """The matrix by columns, for `apply_by_lanes`."""
    matrix: ptr[f64]
    """The caller's matrix, row-major."""


_HEAD = (size_of(Dense) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT // 8


@inline
def position(index: i64) -> i64:
    """Where the real part of an amplitude lies among the numbers of a state."""
    return ((index >> LANE_BITS) << (LANE_BITS + 1)) | (index & LANE_MASK)


@kernel
def allocate_dense(context: CallContext, site: i64, n_targets: i64, matrix: ptr[f64]) -> Dense:
    """Memory for a matrix on `n_targets` bits, divided, or an error and null."""
    if n_targets > MAX_TARGETS:
        fail(context, OUT_OF_MEMORY, site, -1, 0)
        return null(Dense)
    size = 1 << n_targets
    row_blocks = (size + LANE_MASK) >> LANE_BITS
    vectors = 2 * size + 2 * size * row_blocks
    numbers = _HEAD + 8 * vectors + 3 * size
    memory = allocate(context, site, 8 * numbers)
    if is_null(memory):
        return null(Dense)
    memset(memory, 0, 8 * numbers)
    dense = cast(memory, Dense)
    dense.size = size
    dense.row_blocks = row_blocks
    dense.matrix = matrix
    dense.product = cast(memory + _HEAD, ptr[vector])
    dense.columns = cast(memory + (_HEAD + 16 * size), ptr[vector])
    dense.gathered = memory + (_HEAD + 8 * vectors)
    dense.offsets = cast(memory + (_HEAD + 8 * vectors + 2 * size), ptr[i64])
    return dense


@kernel
def fill_offsets(dense: Dense, state: State, n_targets: i64, targets: ptr[i64]) -> None:
    """Fill the offsets; the first target wire is the most significant bit of the row."""
    for row in range(dense.size):
        index: i64 = 0
        for k in range(n_targets):
            index |= ((row >> (n_targets - 1 - k)) & 1) << state.bit_of_wire[targets[k]]
        dense.offsets[row] = position(index)


@kernel
def fill_columns(dense: Dense) -> None:
    """Store a row-major matrix by columns."""
    numbers = cast(dense.columns, ptr[stored])
    for row in range(dense.size):
        for column in range(dense.size):
            element = 2 * (row * dense.size + column)
            place = 2 * LANES * column * dense.row_blocks + position(row)
            numbers[place] = dense.matrix[element]
            numbers[place + LANES] = dense.matrix[element + 1]


@inline
def gather(dense: Dense, numbers: ptr[stored], base: i64) -> None:
    """Copy the amplitudes of one setting of the other bits."""
    for row in range(dense.size):
        place = base + dense.offsets[row]
        dense.gathered[2 * row] = numbers[place]
        dense.gathered[2 * row + 1] = numbers[place + LANES]


@inline
def multiply_lanes(dense: Dense) -> None:
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
def apply_by_lanes(state: State, dense: Dense) -> None:
    """Multiply all amplitudes whose controls match."""
    fill_columns(dense)
    numbers = cast(state.amplitudes, ptr[stored])
    results = cast(dense.product, ptr[stored])
    index: i64 = 0
    for _ in range((1 << state.qubits) >> count_ones(dense.fixed)):
        base = position(index | dense.value)
        gather(dense, numbers, base)
        multiply_lanes(dense)
        for row in range(dense.size):
            place = base + dense.offsets[row]
            numbers[place] = results[position(row)]
            numbers[place + LANES] = results[position(row) + LANES]
        index = ((index | dense.fixed) + 1) & ~dense.fixed


@kernel
def moments_by_lanes(state: State, dense: Dense, moments: ptr[f64]) -> None:
    """Write <O> and <O O> of a Hermitian matrix."""
    fill_columns(dense)
    numbers = cast(state.amplitudes, ptr[stored])
    results = cast(dense.product, ptr[stored])
    mean: f64 = 0.0
    square: f64 = 0.0
    index: i64 = 0
    for _ in range((1 << state.qubits) >> count_ones(dense.fixed)):
        gather(dense, numbers, position(index))
        multiply_lanes(dense)
        for row in range(dense.size):
            x, y = results[position(row)], results[position(row) + LANES]
            mean += dense.gathered[2 * row] * x + dense.gathered[2 * row + 1] * y
            square += x * x + y * y
        index = ((index | dense.fixed) + 1) & ~dense.fixed
    moments[0], moments[1] = mean, square


@kernel
def lift(state: State, fixed: i64) -> i1:
    """Exchange the lane bits among `fixed` with other block bits; false where these are too few."""
    if count_ones(fixed) > state.qubits - LANE_BITS:
        return False
    in_lanes: i64 = fixed & LANE_MASK
    free: i64 = ~(fixed | LANE_MASK)
    while in_lanes != 0:
        exchange_bits(state, count_trailing_zeros(in_lanes), count_trailing_zeros(free))
        in_lanes &= in_lanes - 1
        free &= free - 1
    return True


@inline
def vector_at(dense: Dense, row: i64, base: i64) -> i64:
    """Return the place, in vectors, of a row's real parts."""
    return base + (dense.offsets[row] >> LANE_BITS)


@inline
def multiply_blocks(dense: Dense, amplitudes: ptr[vector], base: i64) -> None:
    """`product = matrix @ amplitudes` for the blocks of one setting of the other bits."""
    for row in range(dense.size):
        elements = dense.matrix + 2 * row * dense.size
        real = broadcast(0.0)
        imaginary = broadcast(0.0)
        for column in range(dense.size):
            a, b = broadcast(elements[2 * column]), broadcast(elements[2 * column + 1])
            place = vector_at(dense, column, base)
            x, y = amplitudes[place], amplitudes[place + 1]
            real += a * x - b * y
            imaginary += a * y + b * x
        dense.product[2 * row] = real
        dense.product[2 * row + 1] = imaginary


@kernel
def apply_by_blocks(state: State, dense: Dense) -> None:
    """Multiply all amplitudes whose controls match."""
    amplitudes = state.amplitudes
    fixed, value = dense.fixed >> LANE_BITS, dense.value >> LANE_BITS
    block: i64 = 0
    for _ in range(state.blocks >> count_ones(fixed)):
        base = 2 * (block | value)
        multiply_blocks(dense, amplitudes, base)
        for row in range(dense.size):
            place = vector_at(dense, row, base)
            amplitudes[place] = dense.product[2 * row]
            amplitudes[place + 1] = dense.product[2 * row + 1]
        block = next_block(block, fixed)


@kernel
def moments_by_blocks(state: State, dense: Dense, moments: ptr[f64]) -> None:
    """Write <O> and <O O> of a Hermitian matrix."""
    amplitudes = state.amplitudes
    fixed = dense.fixed >> LANE_BITS
    mean = broadcast_wide(0.0)
    square = broadcast_wide(0.0)
    block: i64 = 0
    for _ in range(state.blocks >> count_ones(fixed)):
        multiply_blocks(dense, amplitudes, 2 * block)
        for row in range(dense.size):
            place = vector_at(dense, row, 2 * block)
            x, y = dense.product[2 * row], dense.product[2 * row + 1]
            mean += widen(amplitudes[place] * x + amplitudes[place + 1] * y)
            square += widen(x * x + y * y)
        block = next_block(block, fixed)
    moments[0], moments[1] = horizontal_sum(mean), horizontal_sum(square)


@kernel
def multiply_at_once(
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
    """Apply a matrix to checked wires, after what waits."""
    mask = mask_of(context, state, site, n_controls, controls, 0)
    if GPU == 1 and n_targets <= MOST_TARGETS_THERE:
        bits = stack_array(i64, MOST_TARGETS_THERE)
        bits_of(state, n_targets, targets, bits)
        value = control_value(state, n_controls, controls, control_values)
        apply_waiting(state)
        multiplied_there(state, n_targets, bits, mask, value, matrix)
        return
    dense = allocate_dense(context, site, n_targets, matrix)
    if is_null(dense):
        return
    by_blocks = lift(state, mask_of(context, state, site, n_targets, targets, mask))
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
    if mask_of(context, state, site, n_targets, targets, mask) < 0:
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
    multiply_at_once(
        context, state, site, n_targets, targets, n_controls, controls, control_values, matrix
    )


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
    if GPU == 1 and n_wires <= MOST_TARGETS_THERE:
        bits = stack_array(i64, MOST_TARGETS_THERE)
        bits_of(state, n_wires, wires, bits)
        apply_waiting(state)
        measured_there(state, n_wires, bits, matrix, moments)
        return
    dense = allocate_dense(context, site, n_wires, matrix)
    if is_null(dense):
        return
    by_blocks = lift(state, fixed)
    dense.fixed = mask_of(context, state, site, n_wires, wires, 0)
    fill_offsets(dense, state, n_wires, wires)
    flush_to_read(state)
    if by_blocks:
        moments_by_blocks(state, dense, moments)
    else:
        moments_by_lanes(state, dense, moments)
    free(cast(dense, ptr[f64]))
