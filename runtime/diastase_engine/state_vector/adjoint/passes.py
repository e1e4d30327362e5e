"""One fused operation undone on a state and its adjoint: the sweep back's inner loops.

Both lie in chunks of equal size. For each pair of amplitudes all is done while they are in
registers: phases are undone, what derivatives need is summed up (`sums`), and both are
multiplied by the adjoint matrix. Which of it there is depends on the operation's form
(`forms`).

Passes and lanes are those of `sweeps`; where no derivative depends on an operation, nothing is
summed.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.forms import GENERAL, PHASED, REAL, TURNING
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    Pass,
    Undone,
)
from diastase_engine.state_vector.adjoint.sums import (
    add_lanes,
    add_pair,
    diagonal_rows,
    load_sums,
    store_sums,
)
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK
from diastase_engine.state_vector.tiles.sweeps import (
    PARTNERS,
    block_coefficients,
    lane_coefficients,
    multiply_lanes,
    multiply_lanes_real,
    multiply_lanes_turning,
    multiply_pair,
    multiply_pair_real,
    multiply_pair_turning,
    next_block,
)

RULES = {
    REAL: (multiply_pair_real, multiply_lanes_real),
    TURNING: (multiply_pair_turning, multiply_lanes_turning),
    PHASED: (multiply_pair_real, multiply_lanes_real),
    GENERAL: (multiply_pair, multiply_lanes),
}
"""For each form what multiplies two blocks, and one block by itself."""

SUMS_OF = {
    REAL: (BY_Y,),
    TURNING: (BY_X,),
    PHASED: (BY_Y, BY_ZERO, BY_ONE),
    GENERAL: (BY_X, BY_Y, BY_ZERO, BY_ONE),
}
"""For each form what its derivatives need, see `forms`."""


@inline
def phase_of_ones(operation: Undone, lanes: lane_set) -> list[vector]:
    """Cosine and sine, as the lanes match."""
    phases = operation.phases
    return [
        select(lanes, broadcast(phases[2]), broadcast(phases[0])),
        select(lanes, broadcast(phases[3]), broadcast(phases[1])),
    ]


@inline
def unphased(phase: list[vector], z: vector, w: vector, has_phases: bool) -> Any:
    """Undo a phase."""
    if has_phases:
        return z * phase[0] + w * phase[1], w * phase[0] - z * phase[1]
    return z, w


@inline
def block_pass(run: Pass, lanes: lane_set, form: int, wanted: bool) -> None:
    """Undo an operation whose target is a block bit: pairs of blocks."""
    operation, value = run.operation, run.value
    a = block_coefficients(operation, lanes)  # pyright: ignore[reportArgumentType]
    phase = phase_of_ones(operation, lanes)
    bit = 1 << (operation.target - LANE_BITS)
    fixed = run.fixed | bit
    start = value | bit if run.turned != 0 else value
    stride = 2 * bit if run.turned == 0 else -2 * bit
    state, adjoint = run.state, run.adjoint
    sums = load_sums(run.sums)
    rule = RULES[form][0]
    blocks = run.blocks
    block: i64 = 0
    while block < blocks:
        p = 2 * (block | start)
        q = p + stride
        x, y = state[p], state[p + 1]
        z, w = unphased(phase, state[q], state[q + 1], form == PHASED)
        l, m = adjoint[p], adjoint[p + 1]  # noqa: E741
        n, o = unphased(phase, adjoint[q], adjoint[q + 1], form == PHASED)
        if wanted:
            add_pair(sums, SUMS_OF[form], [l, m, n, o], [x, y, z, w])
        state[p], state[p + 1], state[q], state[q + 1] = rule(a, x, y, z, w)
        adjoint[p], adjoint[p + 1], adjoint[q], adjoint[q + 1] = rule(a, l, m, n, o)
        block = next_block(block, fixed)
    if wanted:
        store_sums(sums, run.sums)


@inline
def lane_pass(run: Pass, lanes: lane_set, target: int, form: int, wanted: bool) -> None:
    """Undo an operation whose target is the (static) lane bit `target`."""
    value, fixed = run.value, run.fixed
    a = lane_coefficients(run.operation, lanes, target)  # pyright: ignore[reportArgumentType]
    state, adjoint = run.state, run.adjoint
    sums = load_sums(run.sums)
    rule = RULES[form][1]
    block: i64 = 0
    while block < run.blocks:
        p = 2 * (block | value)
        x, y, l, m = state[p], state[p + 1], adjoint[p], adjoint[p + 1]  # noqa: E741
        z, w = shuffle(x, PARTNERS[target]), shuffle(y, PARTNERS[target])
        n, o = shuffle(l, PARTNERS[target]), shuffle(m, PARTNERS[target])
        if wanted:
            add_lanes(sums, SUMS_OF[form], [l, m], [x, y, z, w])
        state[p], state[p + 1] = rule(a, x, y, z, w)
        adjoint[p], adjoint[p + 1] = rule(a, l, m, n, o)
        block = next_block(block, fixed)
    if wanted:
        store_sums(sums, run.sums)


@inline
def mixing_pass(run: Pass, form: int, wanted: bool) -> None:
    """Undo an operation that is not diagonal."""
    lanes = lanes_match(run.lane_mask, run.lane_value)
    target = run.operation.target
    if target >= LANE_BITS:
        block_pass(run, lanes, form, wanted)
    if form != PHASED:
        for lane in static(range(LANE_BITS)):
            if target == lane:
                lane_pass(run, lanes, lane, form, wanted)


@kernel
def make_pass(run: Pass, base: i64, side: i64, wanted: i1) -> None:
    """Make a pass; `base` is the index of the chunk's first block, in places."""
    operation = run.operation
    run.sums, run.turned = run.all_sums + SIDE_SUMS * side, operation.turned[side]
    if operation.changes == 0:
        diagonal_rows(run, base, wanted)
        return
    for form in static(RULES):
        if operation.form == form:
            if wanted:
                mixing_pass(run, form, True)
            else:
                mixing_pass(run, form, False)


@kernel
def undo(run: Pass, base: i64) -> None:
    """Undo an operation on a chunk: where its selectors match, and where they do not."""
    operation = run.operation
    inside = (run.blocks << LANE_BITS) - 1
    outside = operation.mask & ~inside
    wants_matched, wants_otherwise = operation.wants_matched != 0, operation.wants_otherwise != 0
    if outside & ((base << LANE_BITS) ^ operation.value) != 0:
        if operation.keeps_otherwise == 0 or wants_otherwise:
            run.fixed, run.value, run.lane_mask, run.lane_value = 0, 0, 0, 1
            make_pass(run, base, 0, wants_otherwise)
        return
    mask = (operation.mask & inside) >> LANE_BITS
    value = (operation.value & inside) >> LANE_BITS
    lane_mask = operation.mask & LANE_MASK
    is_both = wants_matched or (lane_mask != 0 and wants_otherwise)
    if operation.keeps_matched == 0 or lane_mask != 0 or is_both:
        run.fixed, run.value = mask, value
        run.lane_mask, run.lane_value = lane_mask, operation.value & LANE_MASK
        make_pass(run, base, 1, is_both)
    # With several bits in the mask, `otherwise` is the identity, and nothing depends on it.
    if mask != 0 and (operation.keeps_otherwise == 0 or wants_otherwise):
        run.fixed, run.value, run.lane_mask, run.lane_value = mask, value ^ mask, 0, 1
        make_pass(run, base, 0, wants_otherwise)
