"""Diagonal operations on a tile in registers: one by one, or what was gathered of many.

What is gathered (`diagonal_groups`) is two vectors, whose lanes belong to the bits of the tile.
"""

from typing import Any

from diastase_engine.language import (
    i64,
    inline,
    lanes_match,
    ptr,
    registers,
    select,
    shuffle,
    static,
    vector,
)
from diastase_engine.state_vector.state.records import LANE_BITS, LANES
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS, SLOTS
from diastase_engine.state_vector.tiles.tile_codes import COMMON_LANE
from diastase_engine.state_vector.tiles.tile_mixing import of_block


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
