"""Operations with one target, on a tile in registers.

The coefficients are two sets of eight vectors, for amplitudes that are not selected and for those
that are; where slots select, each block takes its own. `rule` multiplies (`tile_codes`).
"""

from typing import Any

from diastase_engine.language import i64, inline, ptr, shuffle, static, vector
from diastase_engine.state_vector.tiles.parity_tiles import load_eight
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS, SLOTS
from diastase_engine.state_vector.tiles.sweeps import PARTNERS


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
