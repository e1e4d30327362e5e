"""Tiles: several operations on amplitudes that stay in registers. The engine's hottest loop.

A tile is loaded (2^SLOTS blocks of two vectors), goes through all its operations and is stored.
Each operation is one of the cases that `tile_codes` lists: what kind of matrix, where its target
is, and whether selectors on slots give each block its own coefficients. All cases are one function,
specialised when it is compiled; at run time there is one jump for each operation and tile.
"""

from diastase_engine.language import (
    broadcast,
    cast,
    i64,
    inline,
    kernel,
    prefetch,
    ptr,
    registers,
    static,
    to_integer,
    vector,
)
from diastase_engine.state_vector.state.records import LANE_BITS
from diastase_engine.state_vector.tiles.parity_tiles import mix_pair
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS, SLOTS, Tile, TileOperation
from diastase_engine.state_vector.tiles.sweeps import next_block
from diastase_engine.state_vector.tiles.tile_codes import (
    APPLY_CODE,
    DIAGONAL_CODE,
    GATHER_CODE,
    RULES,
    SELECTED_DIAGONAL_CODE,
    mixing_cases,
    pair_cases,
)
from diastase_engine.state_vector.tiles.tile_diagonals import (
    apply_gathered,
    scale,
    scale_alike,
    scale_by_block,
)
from diastase_engine.state_vector.tiles.tile_mixing import mix_lanes, mix_slot

FAR_SOURCE, FAR_TARGET = 1, 2

AHEAD = 4
"""How many tiles ahead of their use the state's blocks are fetched."""


@inline
def mix(x: list[vector], code: i64, first: ptr[vector], chosen: ptr[vector], match: i64) -> None:
    """Apply an operation that is not diagonal."""
    for case in static(mixing_cases(LANE_BITS, SLOTS)):
        if code == case[0]:
            _, target, selected, kind = case
            if target >= LANE_BITS:
                mix_slot(x, first, chosen, match, target - LANE_BITS, selected, RULES[kind][0])
            else:
                mix_lanes(x, first, chosen, match, target, selected, RULES[kind][1])
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
