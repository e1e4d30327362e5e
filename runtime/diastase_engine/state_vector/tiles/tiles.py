"""Tiles: several operations on amplitudes that stay in registers. The engine's hottest loop.

A tile is loaded (2^SLOTS blocks of two vectors), goes through all its operations and is stored.
Each operation is one of the cases that `tile_codes` lists: what kind of matrix, where its target
is, and whether selectors on slots give each block its own coefficients. All cases are one function,
specialised when it is compiled; at run time there is one jump for each operation and tile.

The coefficients of an operation with one target are two sets of eight vectors, for amplitudes that
are not selected and for those that are; where slots select, each block takes its own. `rule`
multiplies (`tile_codes`). Diagonal operations come one by one, or many together
(`diagonal_groups`): as a table of what each amplitude is multiplied by, or gathered in two vectors,
whose lanes belong to the bits of the tile.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANES
from diastase_engine.state_vector.tiles.parity import load_eight, mix_pair
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS, SLOTS, Tile, TileOperation
from diastase_engine.state_vector.tiles.sweeps import PARTNERS, next_block
from diastase_engine.state_vector.tiles.tile_codes import (
    APPLY_CODE,
    COMMON_LANE,
    DIAGONAL_CODE,
    FAR_SOURCE,
    FAR_TARGET,
    GATHER_CODE,
    RULES,
    SELECTED_DIAGONAL_CODE,
    TABLE_CODE,
    UNIT_RULES,
    mixing_cases,
    pair_cases,
)


@inline
def of_block(vectors: ptr[vector], bits: i64, block: int, step: int) -> ptr[vector]:
    """Coefficients, or those `step` further, as the bit of a block says."""
    return vectors + ((bits >> block) & 1) * step


@inline
def mix_slot(
    x: list[vector],
    first: ptr[vector],
    chosen: ptr[vector],
    match: i64,
    slot: int,
    selected: bool,
    rule: Any,
) -> None:
    """Apply an operation whose target is a slot to pairs of blocks."""
    uniform = [] if selected else load_eight(chosen)
    for low in static(range(1 << SLOTS)):
        if (low >> slot) & 1 == 0:
            high = low | (1 << slot)
            a = load_eight(of_block(first, match, low, SET_VECTORS)) if selected else uniform
            x[2 * low], x[2 * low + 1], x[2 * high], x[2 * high + 1] = rule(
                a, x[2 * low], x[2 * low + 1], x[2 * high], x[2 * high + 1]
            )


@inline
def mix_lanes(
    x: list[vector],
    first: ptr[vector],
    chosen: ptr[vector],
    match: i64,
    lane: int,
    selected: bool,
    rule: Any,
) -> None:
    """Apply an operation whose target is a lane bit to blocks by themselves."""
    uniform = [] if selected else load_eight(chosen)
    for block in static(range(1 << SLOTS)):
        a = load_eight(of_block(first, match, block, SET_VECTORS)) if selected else uniform
        real, imaginary = x[2 * block], x[2 * block + 1]
        x[2 * block], x[2 * block + 1] = rule(
            a,
            real,
            imaginary,
            shuffle(real, PARTNERS[lane]),
            shuffle(imaginary, PARTNERS[lane]),
        )


@inline
def scale(x: list[vector], block: int, a: vector, b: vector) -> None:
    """Multiply a block by a complex number in each lane."""
    real, imaginary = x[2 * block], x[2 * block + 1]
    x[2 * block], x[2 * block + 1] = a * real - b * imaginary, a * imaginary + b * real


@inline
def scale_alike(x: list[vector], chosen: ptr[vector]) -> None:
    """Apply a diagonal operation that is the same for all blocks."""
    a, b = chosen[0], chosen[1]
    for block in static(range(1 << SLOTS)):
        scale(x, block, a, b)


@inline
def scale_by_block(x: list[vector], first: ptr[vector], match: i64, row: i64) -> None:
    """Apply a diagonal operation that slots select."""
    for block in static(range(1 << SLOTS)):
        own = of_block(of_block(first, match, block, SET_VECTORS), row, block, 2)
        scale(x, block, own[0], own[1])


@inline
def scale_by_table(x: list[vector], table: ptr[vector]) -> None:
    """Multiply each amplitude of a tile by a number of its own."""
    for block in static(range(1 << SLOTS)):
        scale(x, block, table[2 * block], table[2 * block + 1])


@inline
def in_all_lanes(gathered: list[vector], lane: int) -> Any:
    """Return one of the gathered complex numbers in all lanes."""
    return shuffle(gathered[0], [lane] * LANES), shuffle(gathered[1], [lane] * LANES)


@inline
def apply_gathered(x: list[vector], gathered: list[vector]) -> None:
    """Multiply a tile by the gathered numbers: common, of lanes, and of slots that are one."""
    factors = registers(vector, 2 << SLOTS)
    factors[0], factors[1] = in_all_lanes(gathered, COMMON_LANE)
    for lane in static(range(LANE_BITS)):
        a, b = in_all_lanes(gathered, lane)
        is_one = lanes_match(1 << lane, 1 << lane)
        scale(factors, 0, select(is_one, a, 1.0), select(is_one, b, 0.0))
    for slot in static(range(SLOTS)):
        a, b = in_all_lanes(gathered, LANE_BITS + slot)
        for low in static(range(1 << slot)):
            high = low | (1 << slot)
            factors[2 * high], factors[2 * high + 1] = factors[2 * low], factors[2 * low + 1]
            scale(factors, high, a, b)
    for block in static(range(1 << SLOTS)):
        scale(x, block, factors[2 * block], factors[2 * block + 1])


AHEAD = 4
"""How many tiles ahead of their use the state's blocks are fetched."""


@inline
def mix(x: list[vector], code: i64, first: ptr[vector], chosen: ptr[vector], match: i64) -> None:
    """Apply an operation that is not diagonal."""
    for case in static(mixing_cases(LANE_BITS, SLOTS)):
        if code == case[0]:
            _, target, selected, kind = case
            pairs, lanes = (RULES | UNIT_RULES)[kind]
            if target >= LANE_BITS:
                mix_slot(x, first, chosen, match, target - LANE_BITS, selected, pairs)
            else:
                mix_lanes(x, first, chosen, match, target, selected, lanes)
    for case in static(pair_cases(LANE_BITS, SLOTS)):
        if code == case[0]:
            _, target, other, kind = case
            mix_pair(x, first, match, target, other, RULES[kind])


@inline
def apply_to_tile(
    x: list[vector], gathered: list[vector], prepared: TileOperation, index: i64
) -> None:
    """Apply one operation to the tile in registers; `index` is that of its first block."""
    matches = to_integer(index & prepared.outer_mask == prepared.outer_value)
    row = to_integer(index & prepared.row_mask != 0)
    if (prepared.skips >> (2 * matches + row)) & 1 == 0:
        code = prepared.code
        first = cast(prepared, ptr[vector])
        chosen = first + (SET_VECTORS * matches + 2 * row)
        match = prepared.slot_match & (0 - matches)
        mix(x, code, first, chosen, match)
        if code == DIAGONAL_CODE:
            scale_alike(x, chosen)
        if code == SELECTED_DIAGONAL_CODE:
            scale_by_block(x, first, match, prepared.slot_row | (0 - row))
        if code == TABLE_CODE:
            scale_by_table(x, first)
        if code == GATHER_CODE:
            scale(gathered, 0, chosen[0], chosen[1])
        if code == APPLY_CODE:
            apply_gathered(x, gathered)
            gathered[0], gathered[1] = broadcast(1.0), broadcast(0.0)


@inline
def slot_strides(slots: ptr[i64]) -> list[i64]:
    """Return how far apart, in vectors, the two blocks of each slot are."""
    if SLOTS == 1:
        return [2 << slots[0]]
    if SLOTS == 2:
        return [2 << slots[0], 2 << slots[1]]
    return [2 << slots[0], 2 << slots[1], 2 << slots[2]]


@inline
def place_of_block(strides: list[i64], block: int) -> i64:
    """Return the place, in vectors, of a block of the tile from its first one."""
    place: i64 = 0
    for slot in static(range(SLOTS)):
        place += strides[slot] if (block >> slot) & 1 else 0
    return place


@inline
def load_tile(x: list[vector], group: ptr[vector], strides: list[i64]) -> None:
    """Load the blocks of a tile."""
    for k in static(range(1 << SLOTS)):
        pair = group + place_of_block(strides, k)
        x[2 * k], x[2 * k + 1] = pair[0], pair[1]


@inline
def store_tile(x: list[vector], group: ptr[vector], strides: list[i64]) -> None:
    """Store the blocks of a tile."""
    for k in static(range(1 << SLOTS)):
        pair = group + place_of_block(strides, k)
        pair[0], pair[1] = x[2 * k], x[2 * k + 1]


@inline
def prefetch_tile(group: ptr[vector], strides: list[i64]) -> None:
    """Begin to fetch the blocks of a tile."""
    for k in static(range(1 << SLOTS)):
        pair = group + place_of_block(strides, k)
        prefetch(pair)
        prefetch(pair + 1)


@kernel
def run_tile(
    source: ptr[vector],
    target: ptr[vector],
    sides: i64,
    base: i64,
    start: i64,
    count: i64,
    tile: Tile,
    operations: ptr[TileOperation],
) -> None:
    """Run a tile on `count` groups of blocks from block `start` on.

    `base` is what the block indices have in places beyond those given. `sides` says which of
    source and target is a chunk where the state has it (`FAR_SOURCE`, `FAR_TARGET`; `start` is
    then 0), not a buffer; the processor does not foresee these distances, so they are prefetched.
    """
    from_state = sides & FAR_SOURCE != 0
    to_state = sides & FAR_TARGET != 0
    load_strides = slot_strides(tile.far_slots if from_state else tile.slots)
    store_strides = slot_strides(tile.far_slots if to_state else tile.slots)
    x = registers(vector, 2 << SLOTS)
    gathered = registers(vector, 2)
    gathered[0], gathered[1] = broadcast(1.0), broadcast(0.0)
    block: i64 = start
    far: i64 = 0
    ahead: i64 = 0
    for _ in range(AHEAD):
        ahead = next_block(ahead, tile.far_fixed)
    for _ in range(count):
        if from_state:
            prefetch_tile(source + 2 * ahead, load_strides)
        if to_state:
            prefetch_tile(target + 2 * ahead, store_strides)
        load_tile(x, source + 2 * (far if from_state else block), load_strides)
        for k in range(tile.first, tile.end):
            apply_to_tile(x, gathered, operations[k], base | block)
        store_tile(x, target + 2 * (far if to_state else block), store_strides)
        block = next_block(block, tile.fixed)
        far = next_block(far, tile.far_fixed)
        ahead = next_block(ahead, tile.far_fixed)
