"""An operation that keeps the parity of two bits (`parity_operations`), on all amplitudes.

The cases are those of `parity_tiles`, with block bits in place of slots.
"""

from diastase_engine.language import (
    Record,
    cast,
    code_of,
    count_ones,
    count_trailing_zeros,
    derived,
    f64,
    i64,
    inline,
    kernel,
    ptr,
    shuffle,
    size_of,
    stack_array,
    static,
    vector,
)
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS, run_parallel
from diastase_engine.state_vector.state.records import LANE_BITS, Operation, State
from diastase_engine.state_vector.tiles.parity_preparation import set_pair_coefficients
from diastase_engine.state_vector.tiles.parity_tiles import FLIPPED, load_eight
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS
from diastase_engine.state_vector.tiles.sweeps import (
    PARTNERS,
    SHARED_BLOCKS,
    multiply_lanes,
    multiply_pair,
    next_block,
    spread,
)

_TWO_LANES = derived(
    lambda lane_bits: [1 << a | 1 << b for b in range(lane_bits) for a in range(b)], LANE_BITS
)


class PairSweep(Record):
    """A pass that is being made."""

    state: State
    operation: Operation
    coefficients: ptr[vector]
    fixed: i64
    """Its block bits."""


@inline
def mix_blocks(
    amplitudes: ptr[vector], a: list[vector], place: i64, partner: i64, lanes: list[int]
) -> None:
    """Multiply two blocks, the second one shuffled before and after."""
    mixed = multiply_pair(
        a,
        amplitudes[place],
        amplitudes[place + 1],
        shuffle(amplitudes[partner], lanes),
        shuffle(amplitudes[partner + 1], lanes),
    )
    amplitudes[place], amplitudes[place + 1] = mixed[0], mixed[1]
    amplitudes[partner] = shuffle(mixed[2], lanes)
    amplitudes[partner + 1] = shuffle(mixed[3], lanes)


@inline
def block_pairs(
    run: PairSweep, coefficients: ptr[vector], first: i64, last: i64, start: i64, lanes: list[int]
) -> None:
    """Go through pairs of blocks that differ in all fixed bits; `start` is where one begins."""
    a = load_eight(coefficients)
    block: i64 = spread(first, ~run.fixed)
    for _ in range(last - first):
        place = block | start
        mix_blocks(run.state.amplitudes, a, 2 * place, 2 * (place ^ run.fixed), lanes)
        block = next_block(block, run.fixed)


@kernel
def sweep_pair_part(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Make a pass on some of its groups of blocks; `argument` is a `PairSweep`."""
    run = cast(argument, PairSweep)
    operation, amplitudes = run.operation, run.state.amplitudes
    if operation.flips >> LANE_BITS != 0:
        flips = operation.flips >> LANE_BITS
        block_pairs(run, run.coefficients, first, last, 0, FLIPPED[0])
        block_pairs(run, run.coefficients + SET_VECTORS, first, last, flips, FLIPPED[0])
        return
    if run.fixed != 0:
        for lane in static(range(LANE_BITS)):
            if operation.flips == 1 << lane:
                block_pairs(run, run.coefficients, first, last, 0, PARTNERS[lane])
        return
    for lanes in static(_TWO_LANES):
        if operation.changes == lanes:
            a = load_eight(run.coefficients)
            for block in range(first, last):
                x, y = amplitudes[2 * block], amplitudes[2 * block + 1]
                amplitudes[2 * block], amplitudes[2 * block + 1] = multiply_lanes(
                    a, x, y, shuffle(x, FLIPPED[lanes]), shuffle(y, FLIPPED[lanes])
                )


@kernel
def sweep_pair(state: State, operation: Operation) -> None:
    """Apply one operation to the amplitudes."""
    memory = stack_array(i64, size_of(PairSweep) // 8)
    coefficients = stack_array(vector, 2 * SET_VECTORS)
    run = cast(memory, PairSweep)
    run.state, run.operation, run.coefficients = state, operation, coefficients
    run.fixed = operation.changes >> LANE_BITS
    set_pair_coefficients(operation, count_trailing_zeros(operation.flips), coefficients)
    argument = cast(memory, ptr[f64])
    count = state.blocks >> count_ones(run.fixed)
    if state.qubits < PARALLEL_QUBITS:
        sweep_pair_part(argument, 0, count, 0)
    else:
        run_parallel(code_of(sweep_pair_part), argument, count, SHARED_BLOCKS)
