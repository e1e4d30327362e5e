"""Where bits of the state are in a tile."""

from diastase_engine.language import i64, kernel, static
from diastase_engine.state_vector.state.records import LANE_BITS
from diastase_engine.state_vector.tiles.plan_records import SLOTS, Plan, Tile


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
