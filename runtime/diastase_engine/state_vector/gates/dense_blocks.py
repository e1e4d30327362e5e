"""A dense matrix whose targets and controls are block bits: as many settings at once as lanes.

The 2^k blocks of one setting of the other bits are multiplied as vectors, without any gathering;
`lift` first moves bits out of the lanes, where they then stay for the gates that follow.
"""

from diastase_engine.language import (
    broadcast,
    broadcast_wide,
    count_ones,
    count_trailing_zeros,
    f64,
    horizontal_sum,
    i1,
    i64,
    inline,
    kernel,
    ptr,
    vector,
    widen,
)
from diastase_engine.state_vector.gates.decompositions import exchange_bits
from diastase_engine.state_vector.gates.dense_plan import Dense
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, State
from diastase_engine.state_vector.tiles.sweeps import next_block


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
def multiply(dense: Dense, amplitudes: ptr[vector], base: i64) -> None:
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
        multiply(dense, amplitudes, base)
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
        multiply(dense, amplitudes, 2 * block)
        for row in range(dense.size):
            place = vector_at(dense, row, 2 * block)
            x, y = dense.product[2 * row], dense.product[2 * row + 1]
            mean += widen(amplitudes[place] * x + amplitudes[place + 1] * y)
            square += widen(x * x + y * y)
        block = next_block(block, fixed)
    moments[0], moments[1] = horizontal_sum(mean), horizontal_sum(square)
