"""Operations applied by a GPU: a whole stage in one launch, words in one for each set of bits.

A block has a chunk of the state in the memory that its threads share; for each tile a thread takes
the 2^SLOT_BITS amplitudes that differ in the tile's slots into registers, applies all of the tile's
operations and puts them back. All threads go through the same list of operations, so branches on
what an operation is are no branches for a GPU; those on selectors may be.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import amplitude, coefficient, put, times
from diastase_engine.state_vector.device.records import (
    DIAGONAL,
    PARITY,
    SLOT_BITS,
    STAGE_BITS,
    THREAD_BITS,
    THREADS,
    DeviceOperation,
    DeviceTile,
    Stage,
    Words,
)
from diastase_engine.state_vector.tiles.sweeps import spread

AMPLITUDES = 1 << SLOT_BITS
MATCHED = 8
"""Where the second matrix begins."""


@inline
def without(number: i64, place: i64) -> i64:
    """Insert a zero bit."""
    return ((number >> place) << (place + 1)) | (number & ((1 << place) - 1))


@inline
def with_upper(upper: ptr[i64], start: i64, local: i64) -> i64:
    """Return the index of an amplitude from that of its thread, and its number in the chunk."""
    index: i64 = start
    for k in static(range(SLOT_BITS)):
        if (local >> (THREAD_BITS + k)) & 1 == 1:
            index |= upper[k]
    return index


@inline
def global_index(stage: Stage, start: i64, local: i64) -> i64:
    """The same in a stage."""
    return with_upper(stage.upper, start, local)


@inline
def multiply_two(x: list[pair], first: int, second: int, m: ptr[stored]) -> None:
    """Multiply two amplitudes in registers by a matrix."""
    u, v = x[first], x[second]
    x[first] = times(coefficient(m, 0), u) + times(coefficient(m, 1), v)
    x[second] = times(coefficient(m, 2), u) + times(coefficient(m, 3), v)


@inline
def is_selected(operation: DeviceOperation, index: int) -> i1:
    """Whether the selectors among the slots match for a (static) amplitude of the thread."""
    return index & operation.slot_mask == operation.slot_value


@inline
def apply_target(
    x: list[pair], slots: int, operation: DeviceOperation, m: ptr[stored], matches: i1
) -> None:
    """Apply a matrix to one of `slots`, one for all where no slot is a selector."""
    for slot in static(range(slots)):
        if operation.target == 1 << slot:
            if operation.slot_mask == 0:
                matrix = m + select(matches, MATCHED, 0)
                for first in static(range(1 << slots)):
                    if first & (1 << slot) == 0:
                        multiply_two(x, first, first | (1 << slot), matrix)
            else:
                for first in static(range(1 << slots)):
                    if first & (1 << slot) == 0:
                        chosen = matches & is_selected(operation, first)
                        matrix = m + select(chosen, MATCHED, 0)
                        multiply_two(x, first, first | (1 << slot), matrix)


@inline
def apply_parity(x: list[pair], operation: DeviceOperation, m: ptr[stored]) -> None:
    """Apply one matrix where two slots are equal, and another one where they are not."""
    for high in static(range(SLOT_BITS)):
        for low in static(range(high)):
            if operation.target == 1 << high and operation.other == 1 << low:
                both = (1 << high) | (1 << low)
                for first in static(range(AMPLITUDES)):
                    if first & (1 << high) == 0:
                        odd = (first >> low) & 1
                        multiply_two(x, first, first ^ both, m + MATCHED * odd)


@inline
def apply_diagonal(
    x: list[pair], slots: int, operation: DeviceOperation, m: ptr[stored], matches: i1, place: i64
) -> None:
    """Multiply each amplitude by its element."""
    is_one = place & operation.row_mask != 0
    for index in static(range(1 << slots)):
        chosen = matches & is_selected(operation, index)
        row = is_one | (index & operation.target != 0)
        element = m + (select(chosen, MATCHED, 0) + select(row, 6, 0))
        x[index] = times(coefficient(element, 0), x[index])


@inline
def apply(x: list[pair], operation: DeviceOperation, place: i64) -> None:
    """Apply an operation to the amplitudes of a thread, the first of which is in this place."""
    m = cast(operation.coefficients, ptr[stored])
    matches = place & operation.mask == operation.value
    if operation.kind == DIAGONAL:
        apply_diagonal(x, SLOT_BITS, operation, m, matches, place)
    elif operation.kind == PARITY:
        apply_parity(x, operation, m)
    else:
        apply_target(x, SLOT_BITS, operation, m, matches)


@inline
def first_of(tile: DeviceTile, slots: int, thread: i64) -> i64:
    """Return where the first amplitude of a thread lies in a chunk."""
    first: i64 = thread
    for slot in static(range(slots)):
        first = without(first, tile.slots[slot])
    return first


@inline
def offset(tile: DeviceTile, slots: int, index: int) -> i64:
    """Return where a (static) amplitude of a thread lies from its first."""
    place: i64 = 0
    for slot in static(range(slots)):
        if index & (1 << slot) != 0:
            place |= 1 << tile.slots[slot]
    return place


@inline
def load_tile(tile: DeviceTile, slots: int, chunk: ptr[pair], first: i64) -> Any:
    """Amplitudes of a thread, in registers."""
    x = registers(pair, 1 << slots)
    for index in static(range(1 << slots)):
        x[index] = chunk[first | offset(tile, slots, index)]
    return x


@inline
def store_tile(tile: DeviceTile, slots: int, chunk: ptr[pair], first: i64, x: list[pair]) -> None:
    """Put them back."""
    for index in static(range(1 << slots)):
        chunk[first | offset(tile, slots, index)] = x[index]


@inline
def run_tile(stage: Stage, tile: DeviceTile, chunk: ptr[pair], base: i64) -> None:
    """Apply a tile to a chunk."""
    for thread in each_thread():
        if thread < 1 << (stage.size - SLOT_BITS):
            first = first_of(tile, SLOT_BITS, thread)
            x = load_tile(tile, SLOT_BITS, chunk, first)
            for k in range(tile.first, tile.end):
                apply(x, stage.operations[k], base | first)
            store_tile(tile, SLOT_BITS, chunk, first, x)


@inline
def load_chunk(stage: Stage, numbers: ptr[stored], number: i64, chunk: ptr[pair]) -> None:
    """Copy a chunk of a register to the memory of a block."""
    for thread in each_thread():
        start = spread(number, ~stage.bits) | spread(thread, stage.bits)
        for k in range(AMPLITUDES):
            local = thread + k * THREADS
            if local < 1 << stage.size:
                chunk[local] = amplitude(numbers, global_index(stage, start, local))


@inline
def store_chunk(stage: Stage, numbers: ptr[stored], number: i64, chunk: ptr[pair]) -> None:
    """Copy it back."""
    for thread in each_thread():
        start = spread(number, ~stage.bits) | spread(thread, stage.bits)
        for k in range(AMPLITUDES):
            local = thread + k * THREADS
            if local < 1 << stage.size:
                put(numbers, global_index(stage, start, local), chunk[local])


@kernel
def run_stage(block: i64, stage: Stage) -> None:
    """Apply the tiles of a stage to a chunk."""
    chunk = shared_array(pair, 1 << STAGE_BITS)
    load_chunk(stage, stage.numbers, block, chunk)
    for number in range(stage.first, stage.end):
        run_tile(stage, stage.tiles[number], chunk, block << stage.size)
    store_chunk(stage, stage.numbers, block, chunk)


@inline
def sign(bits: i64) -> f64:
    """Return -1 where the number of bits is odd."""
    return 1.0 - 2.0 * to_float(count_ones(bits) & 1)


@kernel
def rotate_words(block: i64, words: Words) -> None:
    """Apply rotations about words to pairs of amplitudes: see `tiles.words`."""
    for thread in each_thread():
        pair_number = block * THREADS + thread
        if pair_number < words.pairs:
            first = without(pair_number, words.pivot)
            second = first ^ words.word
            u: pair = amplitude(words.numbers, first)
            v: pair = amplitude(words.numbers, second)
            for k in range(words.first, words.end):
                operation = words.operations[k]
                if first & operation.mask == operation.value:
                    m = cast(operation.coefficients, ptr[stored])
                    cosine, sine = m[0], pair_of(m[2], m[3])
                    up = times(sine * sign(first & operation.other), v)
                    down = times(sine * sign(second & operation.other), u)
                    u, v = u * cosine + up, v * cosine + down
            put(words.numbers, first, u)
            put(words.numbers, second, v)
