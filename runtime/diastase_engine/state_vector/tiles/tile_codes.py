"""Which kinds of tile operations there are, their numbers, and where bits are in a tile.

The code of an operation that mixes amplitudes is the place of its target (a lane bit, or a slot
after them), plus `SELECTED_CODE` where slots select each block's coefficients, plus its kind.
*Turning* matrices (RX, Y) are real on their diagonal and imaginary elsewhere; those of the *unit*
kinds have ones on it (`take_out_factors`), and half of the multiplications.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, MOST_LANE_BITS
from diastase_engine.state_vector.tiles.plan_records import MAX_SLOTS, SLOTS, Plan, Tile
from diastase_engine.state_vector.tiles.sweeps import (
    multiply_lanes,
    multiply_lanes_real,
    multiply_lanes_turning,
    multiply_pair,
    multiply_pair_real,
    multiply_pair_turning,
    multiply_unit_lanes_real,
    multiply_unit_lanes_turning,
    multiply_unit_pair_real,
    multiply_unit_pair_turning,
)

MAX_TILE_BITS = MOST_LANE_BITS + MAX_SLOTS
SELECTED_CODE = MAX_TILE_BITS
GENERAL_CODE, TURNING_CODE, REAL_CODE, UNIT_TURNING_CODE, UNIT_REAL_CODE, DIAGONAL_CODE = (
    2 * MAX_TILE_BITS * kind for kind in range(6)
)
SELECTED_DIAGONAL_CODE = DIAGONAL_CODE + 1
"""The two diagonal ones have no target."""
GATHER_CODE, APPLY_CODE = DIAGONAL_CODE + 2, DIAGONAL_CODE + 3
"""Diagonal operations that are gathered first, see `diagonal_groups`."""
TABLE_CODE = DIAGONAL_CODE + 4
"""The product of diagonal operations inside of the tile, see there."""
PAIR_CODE = DIAGONAL_CODE + 5
PAIR_KIND, PAIR_TARGET = MAX_TILE_BITS, MAX_TILE_BITS
"""Operations that keep the parity of two bits: `PAIR_CODE + kind * PAIR_KIND`, the place of the
target, which is the higher one, times `PAIR_TARGET`, and the other place."""
COMMON_LANE = MAX_TILE_BITS
"""Where what is common to a tile is gathered; the lanes below belong to its bits."""
ALL_BLOCKS = 255
FAR_SOURCE, FAR_TARGET = 1, 2
"""Which sides of a tile are where the state has them, not in a buffer."""
RULES = {
    GENERAL_CODE: (multiply_pair, multiply_lanes),
    TURNING_CODE: (multiply_pair_turning, multiply_lanes_turning),
    REAL_CODE: (multiply_pair_real, multiply_lanes_real),
}
"""For each kind what multiplies two blocks, and one block by itself."""
UNIT_RULES = {
    UNIT_TURNING_CODE: (multiply_unit_pair_turning, multiply_unit_lanes_turning),
    UNIT_REAL_CODE: (multiply_unit_pair_real, multiply_unit_lanes_real),
}
"""The same for kinds that are alike in all blocks."""


def mixing_cases(lane_bits: int, slots: int) -> list[tuple[int, int, bool, int]]:
    """List code, target, whether selected by slots, and the kind of matrix."""
    return [
        (target + selected * SELECTED_CODE + kind, target, selected, kind)
        for kind in (*RULES, *UNIT_RULES)
        for selected in ((False, True) if kind in RULES else (False,))
        for target in range(lane_bits + slots)
    ]


def pair_cases(lane_bits: int, slots: int) -> list[tuple[int, int, int, int]]:
    """List code, target, the other bit, and the kind of matrix; none where slots are too few."""
    return [
        (PAIR_CODE + kind * PAIR_KIND + target * PAIR_TARGET + other, target, other, kind)
        for kind in RULES
        for target in range(lane_bits + slots if slots > 1 else 0)
        for other in range(target)
    ]


@kernel
def slot_of(tile: Tile, place: i64) -> i64:
    """Return the slot at a place of block indices, or -1."""
    slot: i64 = -1
    for k in static(range(SLOTS)):
        if tile.slots[k] == place:
            slot = k
    return slot


@kernel
def tile_place(plan: Plan, tile: Tile, bit: i64) -> i64:
    """Return the place of a bit in a tile: lanes come first, then the slots; or -1."""
    if bit < LANE_BITS:
        return bit
    slot = slot_of(tile, plan.place[bit] - LANE_BITS)
    return slot + LANE_BITS if slot >= 0 else -1
