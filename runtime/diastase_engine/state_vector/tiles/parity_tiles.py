"""Operations that keep the parity of two bits (`parity_operations`), on a tile in registers.

Both bits are in the tile. The target is the higher one, so there are three cases: two slots, where
pairs of blocks that differ in both go together and nothing else is special; a slot and a lane bit,
where one block of a pair is shuffled before and after; two lane bits, where a block is mixed with
its own shuffle. The coefficients are those of `parity_preparation`.
"""

from typing import Any

from diastase_engine.language import derived, i64, inline, ptr, shuffle, static, vector
from diastase_engine.state_vector.state.records import LANE_BITS, LANES
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS, SLOTS
from diastase_engine.state_vector.tiles.sweeps import PARTNERS

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
