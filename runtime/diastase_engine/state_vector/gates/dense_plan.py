"""A matrix prepared for some target bits: memory that `dense_blocks` and `dense_lanes` share."""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.language import (
    Record,
    cast,
    f64,
    i64,
    inline,
    is_null,
    kernel,
    null,
    ptr,
    size_of,
    vector,
)
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.c_functions import memset
from diastase_engine.state_vector.state.records import ALIGNMENT, LANE_BITS, LANE_MASK, State

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
    """The matrix by columns, for `dense_lanes`."""
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
