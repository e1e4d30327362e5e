"""Apply one operation to all amplitudes: the engine's inner loops.

A *pass* multiplies by one matrix wherever the block bits in `fixed` have their wanted value:
the target (if a block bit) is among them with value 0, and so are selectors and controls. The
free bits are counted through without any test: with `last` an index of a block that matches,
`((last | fixed) + 1) & ~fixed` is the next.

Selectors and controls on lane bits cost nothing: they are in the coefficient vectors, which hold
`matched` in the lanes that match and `otherwise` in the others. A target on a lane bit
multiplies by the diagonal of the matrix and adds the off-diagonal times the shuffled vector.

Matrices without imaginary parts (RY, Hadamard, CNOT ...) take passes with half the arithmetic.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import LANE_BITS, Operation, State
from diastase_engine.state_vector.state.small_matrices import are_zero, is_real
from diastase_engine.threads.loops import run_parallel

SHARED_BLOCKS = 1 << 10
"""Pairs of blocks that a thread sweeps at once: 256 KiB."""
PARTNERS = derived(
    lambda lane_bits: [
        [lane ^ (1 << bit) for lane in range(1 << lane_bits)] for bit in range(lane_bits)
    ],
    LANE_BITS,
)
"""Shuffles that exchange the lanes that differ in one bit."""


@inline
def next_block(block: i64, fixed: i64) -> i64:
    """Return the next block whose fixed bits are zero."""
    return ((block | fixed) + 1) & ~fixed


@kernel
def spread(number: i64, mask: i64) -> i64:
    """Put the bits of a number where the mask has ones, the lowest first."""
    result: i64 = 0
    rest: i64 = mask
    bits: i64 = number
    while bits != 0:
        if bits & 1 == 1:
            result |= rest & -rest
        rest &= rest - 1
        bits >>= 1
    return result


@kernel
def place_of(index: i64, count: i64, bits: ptr[i64]) -> i64:
    """Return the number made of some bits of an index, the first of them the most significant."""
    place: i64 = 0
    for k in range(count):
        place = (place << 1) | ((index >> bits[k]) & 1)
    return place


@inline
def multiply_pair(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """Multiply a complex 2x2 matrix by the vectors (x + iy, z + iw)."""
    return (
        a[0] * x - a[1] * y + a[2] * z - a[3] * w,
        a[0] * y + a[1] * x + a[2] * w + a[3] * z,
        a[4] * x - a[5] * y + a[6] * z - a[7] * w,
        a[4] * y + a[5] * x + a[6] * w + a[7] * z,
    )


@inline
def multiply_pair_real(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """Multiply a real 2x2 matrix by the vectors (x + iy, z + iw)."""
    return (
        a[0] * x + a[2] * z,
        a[0] * y + a[2] * w,
        a[4] * x + a[6] * z,
        a[4] * y + a[6] * w,
    )


@inline
def multiply_pair_turning(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same for a matrix that is real on its diagonal and imaginary elsewhere."""
    return (
        a[0] * x - a[3] * w,
        a[0] * y + a[3] * z,
        a[6] * z - a[5] * y,
        a[6] * w + a[5] * x,
    )


@inline
def multiply_unit_pair_real(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """Multiply a real 2x2 matrix with ones on its diagonal by the vectors (x + iy, z + iw)."""
    return x + a[2] * z, y + a[2] * w, z + a[4] * x, w + a[4] * y


@inline
def multiply_unit_pair_turning(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same for a matrix that is imaginary elsewhere."""
    return x - a[3] * w, y + a[3] * z, z - a[5] * y, w + a[5] * x


@inline
def multiply_first(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same where the second column is zero: (z + iw) need not be known."""
    return a[0] * x - a[1] * y, a[0] * y + a[1] * x, a[4] * x - a[5] * y, a[4] * y + a[5] * x


@inline
def multiply_second(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same where the first column is zero."""
    return a[2] * z - a[3] * w, a[2] * w + a[3] * z, a[6] * z - a[7] * w, a[6] * w + a[7] * z


@inline
def multiply_first_real(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same where the second column is zero, for a real matrix."""
    return a[0] * x, a[0] * y, a[4] * x, a[4] * y


@inline
def multiply_second_real(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same where the first column is zero, for a real matrix."""
    return a[2] * z, a[2] * w, a[6] * z, a[6] * w


@inline
def multiply_lanes(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """Multiply the first row of a complex matrix by (x + iy, z + iw)."""
    return (
        a[0] * x - a[1] * y + a[2] * z - a[3] * w,
        a[0] * y + a[1] * x + a[2] * w + a[3] * z,
    )


@inline
def multiply_lanes_turning(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same for a matrix that is real on its diagonal and imaginary elsewhere."""
    return a[0] * x - a[3] * w, a[0] * y + a[3] * z


@inline
def multiply_lanes_real(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """Multiply the first row of a real matrix by (x + iy, z + iw)."""
    return a[0] * x + a[2] * z, a[0] * y + a[2] * w


@inline
def multiply_unit_lanes_real(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """Multiply the first row of a real matrix with ones on its diagonal by (x + iy, z + iw)."""
    return x + a[2] * z, y + a[2] * w


@inline
def multiply_unit_lanes_turning(a: list[vector], x: vector, y: vector, z: vector, w: vector) -> Any:
    """The same for a matrix that is imaginary elsewhere."""
    return x - a[3] * w, y + a[3] * z


@inline
def coefficient(operation: Operation, lanes: lane_set, index: i64) -> vector:
    """One matrix element in all lanes: that of `matched` where the lanes match."""
    matched, otherwise = operation.matched[index], operation.otherwise[index]
    return select(lanes, broadcast(matched), broadcast(otherwise))


@inline
def block_coefficients(operation: Operation, lanes: lane_set) -> list[vector]:
    """Return the eight numbers of the matrix, each in all lanes."""
    return [
        coefficient(operation, lanes, 0),
        coefficient(operation, lanes, 1),
        coefficient(operation, lanes, 2),
        coefficient(operation, lanes, 3),
        coefficient(operation, lanes, 4),
        coefficient(operation, lanes, 5),
        coefficient(operation, lanes, 6),
        coefficient(operation, lanes, 7),
    ]


@inline
def lane_coefficients(operation: Operation, lanes: lane_set, target: int) -> list[vector]:
    """Diagonal and off-diagonal element of each lane's row, for a (static) lane target."""
    second_row = lanes_match(1 << target, 1 << target)
    a = block_coefficients(operation, lanes)
    return [
        select(second_row, a[6], a[0]),
        select(second_row, a[7], a[1]),
        select(second_row, a[4], a[2]),
        select(second_row, a[5], a[3]),
    ]


class Sweep(Record):
    """A pass that is being made."""

    state: State
    operation: Operation
    fixed: i64
    value: i64
    lane_mask: i64
    lane_value: i64
    bit: i64
    selector: i64
    sums: ptr[wide]
    """What is added up on the way, and where; see `weighing`."""


@inline
def block_pass(run: Sweep, lanes: lane_set, fixed: i64, first: i64, last: i64, rule: Any) -> None:
    """Make a pass whose target is a block bit: pairs of blocks."""
    operation, value = run.operation, run.value
    a = block_coefficients(operation, lanes)
    stride = 2 << (operation.target - LANE_BITS)
    amplitudes = run.state.amplitudes
    block: i64 = spread(first, ~fixed)
    for _ in range(last - first):
        p = 2 * (block | value)
        q = p + stride
        amplitudes[p], amplitudes[p + 1], amplitudes[q], amplitudes[q + 1] = rule(
            a, amplitudes[p], amplitudes[p + 1], amplitudes[q], amplitudes[q + 1]
        )
        block = next_block(block, fixed)


@inline
def lane_pass(run: Sweep, lanes: lane_set, first: i64, last: i64, target: int, rule: Any) -> None:
    """Make a pass whose target is the (static) lane bit `target`: blocks by themselves."""
    operation, fixed, value = run.operation, run.fixed, run.value
    a = lane_coefficients(operation, lanes, target)
    amplitudes = run.state.amplitudes
    block: i64 = spread(first, ~fixed)
    for _ in range(last - first):
        p = 2 * (block | value)
        x, y = amplitudes[p], amplitudes[p + 1]
        z, w = shuffle(x, PARTNERS[target]), shuffle(y, PARTNERS[target])
        amplitudes[p], amplitudes[p + 1] = rule(a, x, y, z, w)
        block = next_block(block, fixed)


COLUMNS = [[0, 1, 4, 5], [2, 3, 6, 7]]


@inline
def has_zero_column(operation: Operation, lane_mask: i64, wanted: i1, column: int) -> i1:
    """Whether a column is zero in the matrix that a pass uses, or the two of different lanes."""
    return (not wanted or are_zero(operation.matched, COLUMNS[column])) and (
        (lane_mask == 0 and wanted) or are_zero(operation.otherwise, COLUMNS[column])
    )


@inline
def pairs_pass(
    run: Sweep, lanes: lane_set, fixed: i64, first: i64, last: i64, real: i1, walk: Any
) -> None:
    """Make a pass on pairs of blocks, by the rule for its kind of matrix."""
    # Where no lane can match, as `apply_operation` says it.
    wanted = run.lane_mask != 0 or run.lane_value == 0
    second = has_zero_column(run.operation, run.lane_mask, wanted, 0)
    if second or has_zero_column(run.operation, run.lane_mask, wanted, 1):
        if real and second:
            walk(run, lanes, fixed, first, last, multiply_second_real)
        elif real:
            walk(run, lanes, fixed, first, last, multiply_first_real)
        elif second:
            walk(run, lanes, fixed, first, last, multiply_second)
        else:
            walk(run, lanes, fixed, first, last, multiply_first)
    elif real:
        walk(run, lanes, fixed, first, last, multiply_pair_real)
    else:
        walk(run, lanes, fixed, first, last, multiply_pair)


@inline
def make_pass(run: Sweep, first: i64, last: i64, walk: Any, walk_lanes: Any) -> None:
    """Make a pass on some of its pairs of blocks, or blocks."""
    lanes = lanes_match(run.lane_mask, run.lane_value)
    real = is_real(run.operation)
    target = run.operation.target
    if target >= LANE_BITS:
        target_too = run.fixed | (1 << (target - LANE_BITS))
        pairs_pass(run, lanes, target_too, first, last, real, walk)
    for lane in static(range(LANE_BITS)):
        if target == lane:
            if real:
                walk_lanes(run, lanes, first, last, lane, multiply_lanes_real)
            else:
                walk_lanes(run, lanes, first, last, lane, multiply_lanes)


@kernel
def sweep_part(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """`make_pass` as threads call it; `argument` is a `Sweep`."""
    make_pass(cast(argument, Sweep), first, last, block_pass, lane_pass)


@kernel
def sweep(
    state: State, operation: Operation, fixed: i64, value: i64, lane_mask: i64, lane_value: i64
) -> None:
    """One pass; `fixed` and `value` are block bits of selectors and controls."""
    run = stack_record(Sweep)
    run.state = state
    run.operation = operation
    run.fixed = fixed
    run.value = value
    run.lane_mask = lane_mask
    run.lane_value = lane_value
    argument = cast(run, ptr[f64])
    halved = 1 if operation.target >= LANE_BITS else 0
    count = state.blocks >> (count_ones(fixed) + halved)
    if state.qubits < PARALLEL_QUBITS:
        sweep_part(argument, 0, count, 0)
    else:
        run_parallel(code_of(sweep_part), argument, count, SHARED_BLOCKS)
