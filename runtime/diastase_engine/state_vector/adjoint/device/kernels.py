"""Operations undone by a GPU on a state and its adjoint, with the sums that derivatives need.

A block has a chunk of each register in the memory that its threads share, and goes through
the tiles of a stage as `stages` does. What an operation needs (`adjoint.records`) each thread adds
up for its own amplitudes and writes into *rows*, one for each sum of the tile, a place for
each thread; when the tile is done, the rows are added up, and added to the sums of the block. A
block has many chunks, one after the other, so that there are few sums; `add_blocks` adds up those
of all blocks. No order depends on when blocks run.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    SUMS,
    UNDO_BITS,
    UNDO_SLOTS,
)
from diastase_engine.state_vector.device.arithmetic import amplitude, coefficient, put, times
from diastase_engine.state_vector.device.records import (
    DIAGONAL,
    THREADS,
    DeviceOperation,
    DeviceTile,
    Stage,
    Words,
)
from diastase_engine.state_vector.device.stages import (
    apply_diagonal,
    apply_target,
    first_of,
    is_selected,
    load_chunk,
    load_tile,
    sign,
    store_chunk,
    store_tile,
    without,
)

ROWS = SUMS
"""Of a tile: 16 KiB. An operation has no more sums than that."""
MOST_WORDS = 16
"""Rotations about words that are undone in one launch."""


class BlockSums(Record):
    """Words of `add_blocks`."""

    sums: ptr[f64]
    """For each block, its sums."""
    rows: i64
    """Sums of a block."""
    blocks: i64
    out: ptr[f64]


@inline
def conjugate_times(a: pair, z: pair) -> pair:
    """Product of a number's conjugate with another number."""
    return times(a * pair_of(1.0, -1.0), z)


@inline
def add_side(values: Any, chosen: i1, which: int, value: f64) -> None:
    """Add to one of an operation's sums, on the side that the amplitudes are of."""
    values[which] = values[which] + select(chosen, 0.0, value)
    values[SIDE_SUMS + which] = values[SIDE_SUMS + which] + select(chosen, value, 0.0)


@inline
def add_pairs(
    values: Any, x: list[pair], a: list[pair], operation: DeviceOperation, matches: i1
) -> None:
    """Add what pairs of amplitudes give to the sums of an operation."""
    for slot in static(range(UNDO_SLOTS)):
        if operation.target == 1 << slot:
            for zero in static(range(1 << UNDO_SLOTS)):
                if zero & (1 << slot) == 0:
                    one = zero | (1 << slot)
                    chosen = matches & is_selected(operation, zero)
                    up, down = conjugate_times(a[zero], x[one]), conjugate_times(a[one], x[zero])
                    add_side(values, chosen, BY_X, lane_of(up, 1) + lane_of(down, 1))
                    add_side(values, chosen, BY_Y, lane_of(down, 0) - lane_of(up, 0))
                    same = conjugate_times(a[zero], x[zero])
                    add_side(values, chosen, BY_ZERO, lane_of(same, 1))
                    same_one = conjugate_times(a[one], x[one])
                    add_side(values, chosen, BY_ONE, lane_of(same_one, 1))


@inline
def add_singles(
    values: Any,
    x: list[pair],
    a: list[pair],
    operation: DeviceOperation,
    matches: i1,
    place: i64,
) -> None:
    """Add what single amplitudes give to the sums of a diagonal operation."""
    is_one = place & operation.row_mask != 0
    for index in static(range(1 << UNDO_SLOTS)):
        chosen = matches & is_selected(operation, index)
        row = is_one | (index & operation.target != 0)
        same = conjugate_times(a[index], x[index])
        value = lane_of(same, 1)
        add_side(values, chosen, BY_ZERO, select(row, 0.0, value))
        add_side(values, chosen, BY_ONE, select(row, value, 0.0))


@inline
def sum_up(x: list[pair], a: list[pair], operation: DeviceOperation, place: i64) -> Any:
    """Return the sums of an operation that is not undone yet, in registers."""
    matches = place & operation.mask == operation.value
    values = registers(f64, SUMS)
    for k in static(range(SUMS)):
        values[k] = 0.0
    if operation.kind == DIAGONAL:
        add_singles(values, x, a, operation, matches, place)
    else:
        add_pairs(values, x, a, operation, matches)
    return values


@inline
def undo(x: list[pair], operation: DeviceOperation, place: i64) -> None:
    """Undo an operation on the amplitudes of a thread, of one register."""
    m = cast(operation.coefficients, ptr[stored])
    matches = place & operation.mask == operation.value
    if operation.kind == DIAGONAL:
        apply_diagonal(x, UNDO_SLOTS, operation, m, matches, place)
    else:
        apply_target(x, UNDO_SLOTS, operation, m, matches)


@inline
def undo_tile(
    stage: Stage, tile: DeviceTile, state: ptr[pair], adjoint: ptr[pair], rows: ptr[f64], base: i64
) -> None:
    """Undo the operations of a tile on chunks of both registers; write what each thread sums up."""
    for thread in each_thread():
        if thread < 1 << (stage.size - UNDO_SLOTS):
            first = first_of(tile, UNDO_SLOTS, thread)
            x = load_tile(tile, UNDO_SLOTS, state, first)
            a = load_tile(tile, UNDO_SLOTS, adjoint, first)
            row: i64 = 0
            for k in range(tile.first, tile.end):
                operation = stage.operations[k]
                if operation.sums != 0:
                    values = sum_up(x, a, operation, base | first)
                    for which in static(range(SUMS)):
                        if (operation.sums >> which) & 1 == 1:
                            rows[row * THREADS + thread] = values[which]
                            row += 1
                undo(x, operation, base | first)
                undo(a, operation, base | first)
            store_tile(tile, UNDO_SLOTS, state, first, x)
            store_tile(tile, UNDO_SLOTS, adjoint, first, a)
        else:
            for row in range(tile.rows):
                rows[row * THREADS + thread] = 0.0


@inline
def add_up_rows(rows: ptr[f64], count: i64, sums: ptr[f64]) -> None:
    """Add up rows, in halves, and add each to its sum."""
    half: i64 = THREADS >> 1
    while half > 0:
        for thread in each_thread():
            if thread < half:
                for row in range(count):
                    place = row * THREADS + thread
                    rows[place] = rows[place] + rows[place + half]
        half = half >> 1
    for thread in each_thread():
        if thread < count:
            sums[thread] = sums[thread] + rows[thread * THREADS]


@kernel
def undo_stage(block: i64, stage: Stage) -> None:
    """Undo the tiles of a stage on some chunks of a state and its adjoint."""
    state, adjoint = shared_array(pair, 1 << UNDO_BITS), shared_array(pair, 1 << UNDO_BITS)
    rows = shared_array(f64, ROWS * THREADS)
    sums = stage.sums + block * stage.rows
    for chunk in range(block, stage.chunks, stage.stride):
        load_chunk(stage, stage.numbers, chunk, state)
        load_chunk(stage, stage.adjoint, chunk, adjoint)
        for number in range(stage.first, stage.end):
            tile = stage.tiles[number]
            undo_tile(stage, tile, state, adjoint, rows, chunk << stage.size)
            if tile.rows != 0:
                add_up_rows(rows, tile.rows, sums + tile.row)
        store_chunk(stage, stage.numbers, chunk, state)
        store_chunk(stage, stage.adjoint, chunk, adjoint)


@kernel
def undo_words(block: i64, words: Words) -> None:
    """Undo rotations about words on some pairs of amplitudes: see `adjoint.words`."""
    rows = shared_array(f64, MOST_WORDS * THREADS)
    count = words.end - words.first
    for thread in each_thread():
        for k in range(count):
            rows[k * THREADS + thread] = 0.0
        for number in range(block * THREADS + thread, words.pairs, words.stride):
            first = without(number, words.pivot)
            second = first ^ words.word
            x: pair = amplitude(words.numbers, first)
            y: pair = amplitude(words.numbers, second)
            a: pair = amplitude(words.adjoint, first)
            b: pair = amplitude(words.adjoint, second)
            for k in range(count):
                operation = words.operations[words.first + k]
                if first & operation.mask == operation.value:
                    m = cast(operation.coefficients, ptr[stored])
                    unit, sine = coefficient(m, 2), coefficient(m, 1)
                    up, down = sign(first & operation.other), sign(second & operation.other)
                    one = conjugate_times(a, times(unit * up, y))
                    other = conjugate_times(b, times(unit * down, x))
                    place = k * THREADS + thread
                    rows[place] = rows[place] + lane_of(one, 0) + lane_of(other, 0)
                    x, y = x * m[0] + times(sine * up, y), y * m[0] + times(sine * down, x)
                    a, b = a * m[0] + times(sine * up, b), b * m[0] + times(sine * down, a)
            put(words.numbers, first, x)
            put(words.numbers, second, y)
            put(words.adjoint, first, a)
            put(words.adjoint, second, b)
    add_up_rows(rows, count, words.sums + block * count)


@kernel
def add_blocks(block: i64, run: BlockSums) -> None:
    """Add up the sums of all blocks, each thread one of them."""
    for thread in each_thread():
        row = block * THREADS + thread
        if row < run.rows:
            total: f64 = 0.0
            for other in range(run.blocks):
                total += run.sums[other * run.rows + row]
            run.out[row] = total
