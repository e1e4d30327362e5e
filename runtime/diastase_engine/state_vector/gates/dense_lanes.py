"""A dense matrix whatever bits its targets and controls are: amplitudes are gathered one by one.

For every setting of the other bits, the 2^k amplitudes of the target bits are gathered, multiplied
and put back. The matrix is stored by columns, as many rows to a vector as it has lanes (padded with
zero rows), so at least the product is vectorised. For states that are too small for `dense_blocks`.
"""

from diastase_engine.language import (
    broadcast,
    cast,
    count_ones,
    f64,
    i64,
    inline,
    kernel,
    ptr,
    stored,
)
from diastase_engine.state_vector.gates.dense_plan import Dense, position
from diastase_engine.state_vector.state.records import LANES, State


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
def apply_by_lanes(state: State, dense: Dense) -> None:
    """Multiply all amplitudes whose controls match."""
    fill_columns(dense)
    numbers = cast(state.amplitudes, ptr[stored])
    results = cast(dense.product, ptr[stored])
    index: i64 = 0
    for _ in range((1 << state.qubits) >> count_ones(dense.fixed)):
        base = position(index | dense.value)
        gather(dense, numbers, base)
        multiply(dense)
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
        multiply(dense)
        for row in range(dense.size):
            x, y = results[position(row)], results[position(row) + LANES]
            mean += dense.gathered[2 * row] * x + dense.gathered[2 * row + 1] * y
            square += x * x + y * y
        index = ((index | dense.fixed) + 1) & ~dense.fixed
    moments[0], moments[1] = mean, square
