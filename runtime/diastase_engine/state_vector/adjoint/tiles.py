"""Tiles of both registers: several operations undone on amplitudes that stay in registers.

A tile is 2^BOTH_SLOTS blocks of the state and the same ones of its adjoint. They are loaded, all
operations of the tile are undone, the last one first, and they are stored. What derivatives need is
summed up on the way, as in `sums`: in the precision of amplitudes over a few tiles, which are then
added to what is in double precision.

An operation is undone on pairs of blocks, where its target is a slot, or on blocks by themselves,
where it is a lane. What is done with a pair (its *variant*) is the operation's form (`forms`),
whether both of the matrix's diagonal elements are one, which halves the multiplications, and
whether the pair is turned. Selectors outside of the tile choose a side for all of it, those on
slots one for each block; those on lanes are in the coefficients.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.forms import GENERAL, PHASED, REAL, TURNING
from diastase_engine.state_vector.adjoint.passes import RULES, SUMS_OF
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    SUMS,
    Work,
)
from diastase_engine.state_vector.adjoint.tile_records import (
    BOTH_SLOTS,
    SET_VECTORS,
    Step,
    TileUndone,
)
from diastase_engine.state_vector.state.records import LANE_BITS
from diastase_engine.state_vector.tiles.parity import load_eight
from diastase_engine.state_vector.tiles.sweeps import (
    PARTNERS,
    multiply_unit_lanes_real,
    multiply_unit_lanes_turning,
    multiply_unit_pair_real,
    multiply_unit_pair_turning,
    next_block,
)

UNIT, TURNED = 4, 8
VARIANTS = (
    REAL, TURNING, PHASED, GENERAL, REAL + UNIT, TURNING + UNIT, PHASED + UNIT,
    PHASED + TURNED, PHASED + UNIT + TURNED,
)  # fmt: skip
LANE_VARIANTS = (REAL, TURNING, GENERAL, REAL + UNIT, TURNING + UNIT)
PLACE_CODE = 16
"""A code is a variant, and this times the place of the target: lanes, then slots."""
SELECTED_CODE = 128
"""Of an operation on a slot whose pairs are on different sides, and the place of its target."""
ALL_BLOCKS = derived(lambda slots: (1 << (1 << slots)) - 1, BOTH_SLOTS)
FOLDED = 8
"""Tiles whose sums are added up in the precision of amplitudes."""


UNIT_RULES = {
    REAL: (multiply_unit_pair_real, multiply_unit_lanes_real),
    TURNING: (multiply_unit_pair_turning, multiply_unit_lanes_turning),
    PHASED: (multiply_unit_pair_real, multiply_unit_lanes_real),
}


@inline
def rule_of(variant: int, index: int) -> Any:
    """What multiplies pairs (0), or blocks by themselves (1)."""
    return UNIT_RULES[variant % UNIT][index] if variant & UNIT else RULES[variant % UNIT][index]


@inline
def products_of_pair(which: int, p: list[vector], s: list[vector]) -> vector:
    """What a block of zeros and one of ones give for a sum; see `sums.add_pair`."""
    if which == BY_X:
        return p[0] * s[3] - p[1] * s[2] + p[2] * s[1] - p[3] * s[0]
    if which == BY_Y:
        return p[2] * s[0] + p[3] * s[1] - p[0] * s[2] - p[1] * s[3]
    if which == BY_ZERO:
        return p[0] * s[1] - p[1] * s[0]
    return p[2] * s[3] - p[3] * s[2]


@inline
def products_of_block(which: int, p: list[vector], s: list[vector]) -> vector:
    """What a block gives with a target in its lanes; see `sums.add_lanes`."""
    if which == BY_X:
        return p[0] * s[3] - p[1] * s[2]
    if which == BY_Y:
        return p[0] * s[2] + p[1] * s[3]
    return p[0] * s[1] - p[1] * s[0]


@inline
def undo_phase(x: list[vector], block: int, c: vector, s: vector) -> None:
    """Undo a phase on a block of both registers."""
    for part in static((4 * block, 4 * block + 2)):
        z, w = x[part], x[part + 1]
        x[part], x[part + 1] = z * c + w * s, w * c - z * s


@inline
def multiply_block(x: list[vector], block: int, a: vector, b: vector) -> None:
    """Multiply a block of both registers by `a + ib`."""
    for part in static((4 * block, 4 * block + 2)):
        z, w = x[part], x[part + 1]
        x[part], x[part + 1] = z * a - w * b, z * b + w * a


@inline
def of_state(x: list[vector], zero: int, bit: int) -> list[vector]:
    """A block of the state, and the one that differs in a bit."""
    one = zero ^ bit
    return [x[4 * zero], x[4 * zero + 1], x[4 * one], x[4 * one + 1]]


@inline
def of_adjoint(x: list[vector], zero: int, bit: int) -> list[vector]:
    """The same ones of the adjoint."""
    one = zero ^ bit
    return [x[4 * zero + 2], x[4 * zero + 3], x[4 * one + 2], x[4 * one + 3]]


@inline
def load_four(vectors: ptr[vector]) -> list[vector]:
    """Coefficients of blocks by themselves."""
    return [vectors[0], vectors[1], vectors[2], vectors[3]]


@inline
def undo_pairs(
    x: list[vector],
    coefficients: ptr[vector],
    partials: ptr[vector],
    lows: list[int],
    slot: int,
    variant: int,
) -> None:
    """Undo an operation on the pairs of blocks that begin with these; add up what they give."""
    a = load_eight(coefficients)
    bit = 1 << slot
    # The blocks of zeros and of ones are exchanged where it is turned.
    flip = bit if variant & TURNED else 0
    if variant % UNIT == PHASED:
        for low in static(lows):
            undo_phase(x, low ^ flip ^ bit, coefficients[8], coefficients[9])
    for which in static(SUMS_OF[variant % UNIT]):
        total = registers(vector, 1)
        total[0] = partials[which]
        for low in static(lows):
            p, s = of_adjoint(x, low ^ flip, bit), of_state(x, low ^ flip, bit)
            total[0] = total[0] + products_of_pair(which, p, s)
        partials[which] = total[0]
    rule = rule_of(variant, 0)
    for low in static(lows):
        for part in static((0, 2)):
            p, q = 4 * (low ^ flip) + part, 4 * (low ^ flip ^ bit) + part
            x[p], x[p + 1], x[q], x[q + 1] = rule(a, x[p], x[p + 1], x[q], x[q + 1])


@inline
def undo_selected(
    x: list[vector], prepared: TileUndone, partials: ptr[vector], lows: list[int], slot: int
) -> None:
    """The same for pairs of different sides."""
    for low in static(lows):
        side = (prepared.slot_match >> low) & 1
        first = cast(prepared, ptr[vector]) + side * SET_VECTORS
        own = partials + side * SIDE_SUMS
        for variant in static(VARIANTS):
            if prepared.variants[side] == variant:
                undo_pairs(x, first, own, [low], slot, variant)


@inline
def add_blocks(partials: ptr[vector], match: i64, which: int, products: list[vector]) -> None:
    """Add what blocks give to the sums of the sides that they are on."""
    if match == 0 or match == ALL_BLOCKS:
        total = registers(vector, 1)
        total[0] = products[0]
        for block in static(range(1, 1 << BOTH_SLOTS)):
            total[0] = total[0] + products[block]
        own = partials + (match & 1) * SIDE_SUMS
        own[which] = own[which] + total[0]
    else:
        for block in static(range(1 << BOTH_SLOTS)):
            own = partials + ((match >> block) & 1) * SIDE_SUMS
            own[which] = own[which] + products[block]


@inline
def undo_lanes(
    x: list[vector],
    prepared: TileUndone,
    partials: ptr[vector],
    match: i64,
    lane: int,
    variant: int,
) -> None:
    """Undo an operation whose target is a lane; `match` says which blocks are selected."""
    partners = registers(vector, 4 << BOTH_SLOTS)
    for k in static(range(4 << BOTH_SLOTS)):
        partners[k] = shuffle(x[k], PARTNERS[lane])
    products = registers(vector, 1 << BOTH_SLOTS)
    for which in static(SUMS_OF[variant % UNIT]):
        if which != BY_ONE:
            for block in static(range(1 << BOTH_SLOTS)):
                k = 4 * block
                s = [x[k], x[k + 1], partners[k], partners[k + 1]]
                products[block] = products_of_block(which, [x[k + 2], x[k + 3]], s)
            add_blocks(partials, match, which, products)
    rule = rule_of(variant, 1)
    for block in static(range(1 << BOTH_SLOTS)):
        a = load_four(cast(prepared, ptr[vector]) + ((match >> block) & 1) * SET_VECTORS)
        for k in static((4 * block, 4 * block + 2)):
            x[k], x[k + 1] = rule(a, x[k], x[k + 1], partners[k], partners[k + 1])


LOWS = derived(
    lambda slots: [
        [low for low in range(1 << slots) if (low >> slot) & 1 == 0] for slot in range(slots)
    ],
    BOTH_SLOTS,
)
"""For each slot, the blocks that pairs begin with."""


@inline
def undo_in_tile(x: list[vector], prepared: TileUndone, partials: ptr[vector], index: i64) -> None:
    """Undo one operation on the tile in registers; `index` is that of its first block."""
    side = to_integer(index & prepared.outer_mask == prepared.outer_value)
    code = prepared.codes[side]
    match = prepared.slot_match & (0 - side)
    first = cast(prepared, ptr[vector]) + side * SET_VECTORS
    own = partials + side * SIDE_SUMS
    for lane in static(range(LANE_BITS)):
        for variant in static(LANE_VARIANTS):
            if code == variant + PLACE_CODE * lane:
                undo_lanes(x, prepared, partials, match, lane, variant)
    for slot in static(range(BOTH_SLOTS)):
        for variant in static(VARIANTS):
            if code == variant + PLACE_CODE * (LANE_BITS + slot):
                undo_pairs(x, first, own, LOWS[slot], slot, variant)
        if code == SELECTED_CODE + slot:
            undo_selected(x, prepared, partials, LOWS[slot], slot)


@inline
def place_of(strides: list[i64], block: int) -> i64:
    """The place, in vectors, of a block of the tile from its first one."""
    place: i64 = 0
    for slot in static(range(BOTH_SLOTS)):
        place += strides[slot] if (block >> slot) & 1 else 0
    return place


@inline
def strides_of(step: Step) -> list[i64]:
    """How far apart, in vectors, the two blocks of each slot are."""
    if BOTH_SLOTS == 1:
        return [2 << step.slots[0]]
    return [2 << step.slots[0], 2 << step.slots[1]]


@kernel
def add_partials(prepared: TileUndone, partials: ptr[vector], sums: ptr[wide]) -> None:
    """Add what a few tiles gave to the sums of an operation."""
    for k in static(range(SUMS)):
        if (prepared.used >> k) & 1 == 1:
            sums[k] = sums[k] + widen(partials[k])
            partials[k] = broadcast(0.0)


@kernel
def undo_tiles(
    work: Work,
    step: Step,
    sums: ptr[wide],
    state: ptr[vector],
    adjoint: ptr[vector],
    blocks: i64,
    base: i64,
) -> None:
    """Undo the operations of a step on a piece; `sums` are those of the first one."""
    prepared = work.run.prepared + step.prepared
    partials, count = work.partials, step.end - step.begin
    for k in range(count * SUMS):
        partials[k] = broadcast(0.0)
    strides = strides_of(step)
    x = registers(vector, 4 << BOTH_SLOTS)
    fixed, has_run = step.fixed, step.has_run != 0
    block: i64 = 0
    left: i64 = blocks >> BOTH_SLOTS
    while left > 0:
        some: i64 = FOLDED if left > FOLDED else left
        for _ in range(some):
            here, there = state + 2 * block, adjoint + 2 * block
            for k in static(range(1 << BOTH_SLOTS)):
                place = place_of(strides, k)
                x[4 * k], x[4 * k + 1] = here[place], here[place + 1]
                x[4 * k + 2], x[4 * k + 3] = there[place], there[place + 1]
            if has_run:
                for k in static(range(1 << BOTH_SLOTS)):
                    at = 2 * block + place_of(strides, k)
                    work.values[at >> 1] = products_of_block(
                        BY_ZERO, [x[4 * k + 2], x[4 * k + 3]], [x[4 * k], x[4 * k + 1]]
                    )
                    multiply_block(x, k, work.phases[at], work.phases[at + 1])
            k: i64 = count - 1
            while k >= 0:
                undo_in_tile(x, prepared[k], partials + SUMS * k, base | block)
                k -= 1
            for k in static(range(1 << BOTH_SLOTS)):
                place = place_of(strides, k)
                here[place], here[place + 1] = x[4 * k], x[4 * k + 1]
                there[place], there[place + 1] = x[4 * k + 2], x[4 * k + 3]
            block = next_block(block, fixed)
        for k in range(count):
            add_partials(prepared[k], partials + SUMS * k, sums + SUMS * k)
        left -= some
