"""Rotations about Pauli words: exp(-i theta/2 P) in one walk over pairs of amplitudes.

With x the bits of X and Y (`Operation.word`, at least one), z those of Y and Z (`signs`) and q the
number of Y, a word acts as `(P psi)[i] = (-i)^q (-1)^parity(i & z) psi[i ^ x]`, so the rotation is

    psi[i] <- cos(theta/2) psi[i] + sin(theta/2) g (-1)^parity(i & z) psi[i ^ x],   g = (-i)^(q + 1)

`matched` begins with that cosine and sine. Controls (`mask`, `value`) share no bit with the word.

Block b goes with block b ^ x, the lanes shuffled by x. A tile of words walks over the pairs of
one x, the highest block bit of which (`pivot_of`) is zero in the first of a pair, and applies all
its rotations to a pair in registers: the words of a fermionic excitation, which have one x, cost
one walk together. Signs and controls in the lanes are in the coefficients, those of block bits are
tested for each block, so x and z may be any bits. Where x is in the lanes only, a block is its own
partner.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    Operation,
    State,
)
from diastase_engine.state_vector.tiles.parity import FLIPPED
from diastase_engine.state_vector.tiles.plan_records import Tile, TileOperation
from diastase_engine.state_vector.tiles.sweeps import SHARED_BLOCKS, next_block, spread
from diastase_engine.state_vector.tiles.tile_codes import FAR_SOURCE, FAR_TARGET
from diastase_engine.threads.loops import run_parallel

COSINE, SINES, UNITS = 0, 1, 3
"""Coefficients of a tile operation: the cosine, the sine with the signs of the lanes and of g, for
even and odd blocks, and the same for a sine of 1."""
PREPARED_VECTORS = size_of(TileOperation) // size_of(vector)


@kernel
def pivot_of(word: i64) -> i64:
    """Return the highest block bit of a word, as a mask of blocks, or 0."""
    highest: i64 = 0
    rest: i64 = word >> LANE_BITS
    while rest != 0:
        highest = rest & -rest
        rest &= rest - 1
    return highest


@kernel
def prepare_word(
    operation: Operation, signs: i64, mask: i64, value: i64, prepared: TileOperation
) -> None:
    """Fill in a tile operation; bits are given in places."""
    prepared.row_mask = signs >> LANE_BITS
    prepared.outer_mask, prepared.outer_value = mask >> LANE_BITS, value >> LANE_BITS
    turns = count_ones(operation.word & operation.signs) + 1
    prepared.code = turns & 1
    unit = 1.0 if turns & 3 == 0 or turns & 3 == 3 else -1.0
    vectors = cast(prepared, ptr[vector])
    even, odd = cast(vectors + UNITS, ptr[stored]), cast(vectors + UNITS + 1, ptr[stored])
    for lane in static(range(LANES)):
        signed = unit if count_ones(signs & lane) & 1 == 0 else -unit
        even[lane], odd[lane] = signed, -signed
    lanes = lanes_match(mask & LANE_MASK, value & LANE_MASK)
    vectors[COSINE] = select(lanes, broadcast(operation.matched[0]), broadcast(1.0))
    for k in static(range(2)):
        vectors[UNITS + k] = select(lanes, vectors[UNITS + k], broadcast(0.0))
        vectors[SINES + k] = vectors[UNITS + k] * operation.matched[1]


@inline
def parity(block: i64, signs: i64) -> i64:
    """0 or 1."""
    return count_ones(block & signs) & 1


@inline
def rotate_block(
    x: list[vector], block: int, c: vector, s: vector, u: vector, w: vector, imaginary: bool
) -> None:
    """`x <- c x + s g (u + iw)`; g is i but for its sign, or 1."""
    real, other = x[2 * block], x[2 * block + 1]
    if imaginary:
        x[2 * block], x[2 * block + 1] = c * real - s * w, c * other + s * u
    else:
        x[2 * block], x[2 * block + 1] = c * real + s * u, c * other + s * w


@inline
def rotate_pair(
    x: list[vector],
    prepared: TileOperation,
    index: i64,
    flips: i64,
    lanes: list[int],
    paired: bool,
    imaginary: bool,
) -> None:
    """Apply a rotation to a pair of blocks in registers, or to one block."""
    vectors = cast(prepared, ptr[vector])
    c, signs = vectors[COSINE], prepared.row_mask
    s = vectors[SINES + parity(index, signs)]
    z, v = shuffle(x[0], lanes), shuffle(x[1], lanes)
    if paired:
        u, w = shuffle(x[2], lanes), shuffle(x[3], lanes)
        rotate_block(x, 0, c, s, u, w, imaginary)
        rotate_block(x, 1, c, vectors[SINES + parity(index ^ flips, signs)], z, v, imaginary)
    else:
        rotate_block(x, 0, c, s, z, v, imaginary)


@inline
def walk(
    source: ptr[vector],
    target: ptr[vector],
    sides: i64,
    base: i64,
    start: i64,
    count: i64,
    tile: Tile,
    operations: ptr[TileOperation],
    lanes: list[int],
    paired: bool,
) -> None:
    """`run_words` for the (static) order in which a word leaves the lanes."""
    from_state, to_state = sides & FAR_SOURCE != 0, sides & FAR_TARGET != 0
    flips, far_flips = tile.word >> LANE_BITS, tile.far_word >> LANE_BITS
    x = registers(vector, 4)
    block: i64 = start
    far: i64 = 0
    for _ in range(count):
        index = base | block
        p = source + 2 * (far if from_state else block)
        q = source + 2 * (far ^ far_flips if from_state else block ^ flips)
        x[0], x[1] = p[0], p[1]
        if paired:
            x[2], x[3] = q[0], q[1]
        for k in range(tile.first, tile.end):
            prepared = operations[k]
            if index & prepared.outer_mask == prepared.outer_value:
                if prepared.code == 1:
                    rotate_pair(x, prepared, index, flips, lanes, paired, True)
                else:
                    rotate_pair(x, prepared, index, flips, lanes, paired, False)
        p = target + 2 * (far if to_state else block)
        q = target + 2 * (far ^ far_flips if to_state else block ^ flips)
        p[0], p[1] = x[0], x[1]
        if paired:
            q[0], q[1] = x[2], x[3]
        block = next_block(block, tile.fixed)
        far = next_block(far, tile.far_fixed)


@kernel
def run_words(
    source: ptr[vector],
    target: ptr[vector],
    sides: i64,
    base: i64,
    start: i64,
    count: i64,
    tile: Tile,
    operations: ptr[TileOperation],
) -> None:
    """Run a tile of words on `count` pairs of blocks; as `tiles.run_tile`."""
    for lanes in static(range(LANES)):
        if tile.word & LANE_MASK == lanes:
            if tile.word >> LANE_BITS != 0:
                walk(
                    source, target, sides, base, start, count, tile, operations,
                    FLIPPED[lanes], True,
                )  # fmt: skip
            else:
                walk(
                    source, target, sides, base, start, count, tile, operations,
                    FLIPPED[lanes], False,
                )  # fmt: skip


class WordSweep(Record):
    """A walk that is being made."""

    state: State
    tile: Tile
    operations: ptr[TileOperation]


@kernel
def sweep_words_part(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Make a walk over some of its pairs of blocks; `argument` is a `WordSweep`."""
    run = cast(argument, WordSweep)
    start, amplitudes = spread(first, ~run.tile.fixed), run.state.amplitudes
    run_words(amplitudes, amplitudes, 0, 0, start, last - first, run.tile, run.operations)


@kernel
def sweep_word(state: State, operation: Operation) -> None:
    """Apply one rotation to the amplitudes."""
    run, tile = stack_record(WordSweep), stack_record(Tile)
    prepared = cast(stack_array(vector, PREPARED_VECTORS), ptr[TileOperation])
    prepare_word(operation, operation.signs, operation.mask, operation.value, prepared[0])
    tile.word, tile.far_word, tile.first, tile.end = operation.word, operation.word, 0, 1
    tile.fixed = pivot_of(operation.word)
    tile.far_fixed = tile.fixed
    run.state, run.tile, run.operations = state, tile, prepared
    count = state.blocks >> (1 if tile.fixed != 0 else 0)
    if state.qubits < PARALLEL_QUBITS:
        sweep_words_part(cast(run, ptr[f64]), 0, count, 0)
    else:
        run_parallel(code_of(sweep_words_part), cast(run, ptr[f64]), count, SHARED_BLOCKS)
