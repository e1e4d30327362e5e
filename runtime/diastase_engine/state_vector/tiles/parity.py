"""Operations that keep the parity of two bits (`parity_operations`), in a tile and on a state.

The target is the higher of the two bits, so there are three cases in a tile: two slots, where pairs
of blocks that differ in both go together and nothing else is special; a slot and a lane bit, where
one block of a pair is shuffled before and after; two lane bits, where a block is mixed with its own
shuffle. `sweep_pair` has the same cases on all amplitudes, with block bits in place of slots.

The coefficients (`prepare_pair`) are, for two slots, the matrix of equal bits and then that of
different ones, and `slot_match` has a bit for each that says whether it is more than the identity.
Where the other bit is a lane, the lanes have the numbers of their own parity; for two lanes, those
of their row, too.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import LANE_BITS, LANES, Operation, State
from diastase_engine.state_vector.state.small_matrices import is_identity, is_real, is_turning
from diastase_engine.state_vector.tiles.plan_records import (
    SET_VECTORS,
    SLOTS,
    Plan,
    Tile,
    TileOperation,
)
from diastase_engine.state_vector.tiles.sweeps import (
    PARTNERS,
    SHARED_BLOCKS,
    multiply_lanes,
    multiply_pair,
    next_block,
    spread,
)
from diastase_engine.state_vector.tiles.tile_codes import (
    GENERAL_CODE,
    PAIR_CODE,
    PAIR_KIND,
    PAIR_TARGET,
    REAL_CODE,
    TURNING_CODE,
    tile_place,
)
from diastase_engine.threads.loops import run_parallel

FIRST_ROW, LAST_ROW = (0, 1, 2, 3), (6, 7, 4, 5)
"""Elements of a matrix: the diagonal one of a row, then the other, each as two numbers."""


@inline
def of_parity(operation: Operation, is_odd: lane_set, index: int) -> vector:
    """One number of the two matrices: in some lanes of one, elsewhere of the other."""
    odd, even = operation.matched[index], operation.otherwise[index]
    return select(is_odd, broadcast(odd), broadcast(even))


@inline
def of_lane(bit: i64) -> lane_set:
    """Say for each lane whether this bit is one."""
    return lanes_match(1 << bit, 1 << bit)


@kernel
def set_pair_coefficients(operation: Operation, other: i64, vectors: ptr[vector]) -> None:
    """Write the coefficients."""
    if other >= LANE_BITS:
        for k in static(range(8)):
            vectors[k] = broadcast(operation.otherwise[k])
            vectors[SET_VECTORS + k] = broadcast(operation.matched[k])
    elif operation.target >= LANE_BITS:
        for k in static(range(8)):
            vectors[k] = of_parity(operation, of_lane(other), k)
    else:
        is_last, is_other = of_lane(operation.target), of_lane(other)
        for k in static(range(4)):
            first = of_parity(operation, is_other, FIRST_ROW[k])
            # Where the target is one, the other bit was flipped with it.
            odd, even = operation.matched[LAST_ROW[k]], operation.otherwise[LAST_ROW[k]]
            last = select(is_other, broadcast(even), broadcast(odd))
            vectors[k] = select(is_last, last, first)
            vectors[4 + k] = vectors[k]


@kernel
def prepare_pair(plan: Plan, tile: Tile, operation: Operation, prepared: TileOperation) -> None:
    """Fill in the tile operation; it has no selectors."""
    other = count_trailing_zeros(operation.flips)
    kind: i64 = GENERAL_CODE
    if is_real(operation):
        kind = REAL_CODE
    elif is_turning(operation):
        kind = TURNING_CODE
    target_place = tile_place(plan, tile, operation.target)
    other_place = tile_place(plan, tile, other)
    prepared.code = PAIR_CODE + kind * PAIR_KIND + target_place * PAIR_TARGET + other_place
    prepared.outer_mask, prepared.outer_value = 0, 0
    prepared.slot_match = 0 if is_identity(operation.otherwise) else 1
    prepared.slot_match |= 0 if is_identity(operation.matched) else 2
    set_pair_coefficients(operation, other, cast(prepared, ptr[vector]))


FLIPPED = derived(
    lambda lanes: [[lane ^ bits for lane in range(lanes)] for bits in range(lanes)], LANES
)
"""Shuffles that exchange the lanes that differ in some bits."""


@inline
def load_eight(vectors: ptr[vector]) -> list[vector]:
    """Return the coefficients of one set."""
    return [
        vectors[0],
        vectors[1],
        vectors[2],
        vectors[3],
        vectors[4],
        vectors[5],
        vectors[6],
        vectors[7],
    ]


@inline
def mix_slots(
    x: list[vector], first: ptr[vector], wanted: i64, slot: int, other: int, rule: Any
) -> None:
    """Two slots: one matrix where they are equal, one where they differ; `wanted` says which."""
    for odd in static(range(2)):
        if (wanted >> odd) & 1 == 1:
            a = load_eight(first + SET_VECTORS * odd)
            for low in static(range(1 << SLOTS)):
                if (low >> slot) & 1 == 0 and (low >> other) & 1 == odd:
                    high = low ^ (1 << slot) ^ (1 << other)
                    x[2 * low], x[2 * low + 1], x[2 * high], x[2 * high + 1] = rule(
                        a, x[2 * low], x[2 * low + 1], x[2 * high], x[2 * high + 1]
                    )


@inline
def mix_slot_and_lane(x: list[vector], first: ptr[vector], slot: int, lane: int, rule: Any) -> None:
    """A slot and a lane bit: each lane of the first block has the matrix of its own parity."""
    a = load_eight(first)
    for low in static(range(1 << SLOTS)):
        if (low >> slot) & 1 == 0:
            high = low | (1 << slot)
            mixed = rule(
                a,
                x[2 * low],
                x[2 * low + 1],
                shuffle(x[2 * high], PARTNERS[lane]),
                shuffle(x[2 * high + 1], PARTNERS[lane]),
            )
            x[2 * low], x[2 * low + 1] = mixed[0], mixed[1]
            x[2 * high] = shuffle(mixed[2], PARTNERS[lane])
            x[2 * high + 1] = shuffle(mixed[3], PARTNERS[lane])


@inline
def mix_two_lanes(x: list[vector], first: ptr[vector], lanes: int, rule: Any) -> None:
    """Two lane bits, as a mask."""
    a = load_eight(first)
    for block in static(range(1 << SLOTS)):
        real, imaginary = x[2 * block], x[2 * block + 1]
        x[2 * block], x[2 * block + 1] = rule(
            a, real, imaginary, shuffle(real, FLIPPED[lanes]), shuffle(imaginary, FLIPPED[lanes])
        )


@inline
def mix_pair(
    x: list[vector], first: ptr[vector], wanted: i64, target: int, other: int, rules: Any
) -> None:
    """Apply an operation to a tile; the bits are places in it, lanes first."""
    if other >= LANE_BITS:
        mix_slots(x, first, wanted, target - LANE_BITS, other - LANE_BITS, rules[0])
    elif target >= LANE_BITS:
        mix_slot_and_lane(x, first, target - LANE_BITS, other, rules[0])
    else:
        mix_two_lanes(x, first, (1 << target) | (1 << other), rules[1])


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
    run = stack_record(PairSweep)
    coefficients = stack_array(vector, 2 * SET_VECTORS)
    run.state, run.operation, run.coefficients = state, operation, coefficients
    run.fixed = operation.changes >> LANE_BITS
    set_pair_coefficients(operation, count_trailing_zeros(operation.flips), coefficients)
    argument = cast(run, ptr[f64])
    count = state.blocks >> count_ones(run.fixed)
    if state.qubits < PARALLEL_QUBITS:
        sweep_pair_part(argument, 0, count, 0)
    else:
        run_parallel(code_of(sweep_pair_part), argument, count, SHARED_BLOCKS)
