"""Steps of a part: its operations divided into tiles, diagonal runs, and the others.

In: the operations of a part in their order, with bits in places, and the plan's lists. Out: steps.
Those that are not diagonal and follow each other are put into another order, in which as many as
possible that commute, and have few targets, come together (`plan.pick`); `tiles` undoes them.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.diagonal_runs import SHORTEST, prepare_in_run
from diastase_engine.state_vector.adjoint.forms import GENERAL, PHASED
from diastase_engine.state_vector.adjoint.passes import SUMS_OF
from diastase_engine.state_vector.adjoint.ratios import bears, divide_part, divisor_of
from diastase_engine.state_vector.adjoint.records import SIDE_SUMS, Backward, Undone
from diastase_engine.state_vector.adjoint.tile_records import (
    ALONE,
    BOTH_SLOTS,
    DIAGONAL_RUN,
    IN_TILE,
    MOST_IN_TILE,
    NOTHING,
    SET_VECTORS,
    RunUndone,
    Step,
    TileUndone,
)
from diastase_engine.state_vector.adjoint.tiles import (
    ALL_BLOCKS,
    PLACE_CODE,
    SELECTED_CODE,
    TURNED,
    UNIT,
)
from diastase_engine.state_vector.plan.plan import ANY, fill_up, pick
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK
from diastase_engine.state_vector.state.small_matrices import is_unit
from diastase_engine.state_vector.tiles.tile_operations import set_matrix

LEAST_SAVED, RUN_SAVED = 6, 3
"""Where less is saved, operations are undone one by one; what a run that follows saves."""
FEWEST_BLOCKS = 64
"""Operations on smaller pieces are undone one by one."""
USED_BY = {form: sum(1 << which for which in sums) for form, sums in SUMS_OF.items()}
_BLOCKS_OF_SLOT = [
    sum(1 << block for block in range(4) if (block >> slot) & 1) for slot in range(2)
]


@kernel
def variant_of(operation: Undone, side: i64) -> i64:
    """What is to be done with a pair on a side, or with a block where the target is a lane."""
    variant: i64 = operation.form
    if operation.form != GENERAL and has_units(operation, side):
        variant |= UNIT
    if operation.form == PHASED and operation.turned[side] != 0:
        variant |= TURNED
    return variant


@kernel
def has_units(operation: Undone, side: i64) -> i1:
    """Whether all matrices that blocks of a side, or lanes, are multiplied by are like that."""
    both = operation.target < LANE_BITS or operation.mask & LANE_MASK != 0
    if both and operation.mask != 0:
        return is_unit(operation.otherwise) and is_unit(operation.matched)
    return is_unit(operation.otherwise if side == 0 else operation.matched)


@inline
def write_side(operation: Undone, prepared: TileUndone, side: int) -> None:
    """Write the coefficients of blocks of a side."""
    vectors = cast(prepared, ptr[vector]) + SET_VECTORS * side
    lanes = set_matrix(operation, vectors, side == 1)
    if operation.target >= LANE_BITS:
        for k in static(range(2)):
            phase = broadcast(operation.phases[k])
            if side == 1:
                phase = select(lanes, broadcast(operation.phases[2 + k]), phase)
            vectors[8 + k] = phase


@kernel
def write_coefficients(operation: Undone, prepared: TileUndone) -> None:
    """Write the coefficients of both sides; without selectors there is one."""
    write_side(operation, prepared, 1)
    if operation.mask != 0:
        write_side(operation, prepared, 0)


@kernel
def sort_selectors(operation: Undone, step: Step, prepared: TileUndone) -> None:
    """Sort the selectors on block bits into slots and others."""
    blocks = operation.mask >> LANE_BITS
    values = operation.value >> LANE_BITS
    prepared.outer_mask, prepared.outer_value = blocks & ~step.fixed, values & ~step.fixed
    match: i64 = ALL_BLOCKS
    for slot in static(range(BOTH_SLOTS)):
        bit = 1 << step.slots[slot]
        if blocks & bit != 0:
            match &= _BLOCKS_OF_SLOT[slot] if values & bit != 0 else ~_BLOCKS_OF_SLOT[slot]
    prepared.slot_match = match


@kernel
def tile_place(operation: Undone, step: Step) -> i64:
    """The place of a target in the tile: lanes come first, then the slots."""
    place: i64 = operation.target
    for slot in static(range(BOTH_SLOTS)):
        if operation.target == step.slots[slot] + LANE_BITS:
            place = LANE_BITS + slot
    return place


@kernel
def prepare(operation: Undone, step: Step, prepared: TileUndone) -> None:
    """Prepare an operation for the registers of a tile."""
    write_coefficients(operation, prepared)
    sort_selectors(operation, step, prepared)
    has_lanes = operation.mask & LANE_MASK != 0
    wants, wants_otherwise = operation.wants_matched != 0, operation.wants_otherwise != 0
    wants_both = wants or (has_lanes and wants_otherwise)
    does_nothing = operation.keeps_matched != 0 and not has_lanes and not wants_both
    place = tile_place(operation, step)
    variants = prepared.variants
    variants[0], variants[1] = variant_of(operation, 0), variant_of(operation, 1)
    if operation.keeps_otherwise != 0 and not wants_otherwise:
        variants[0] = NOTHING
    if does_nothing:
        variants[1] = NOTHING
    used: i64 = 0
    for form in static(USED_BY):
        if operation.form == form:
            used = USED_BY[form]
    prepared.used = (used << SIDE_SUMS if wants_both else 0) | (used if wants_otherwise else 0)
    for side in static(range(2)):
        prepared.codes[side] = NOTHING
        if variants[side] != NOTHING:
            prepared.codes[side] = variants[side] + PLACE_CODE * place
    if prepared.slot_match != ALL_BLOCKS:
        if place < LANE_BITS:
            prepared.codes[1] = variant_of(operation, 1) + PLACE_CODE * place
        else:
            prepared.codes[1] = SELECTED_CODE + place - LANE_BITS


@kernel
def set_tile(step: Step, prepared: i64, slots: i64) -> None:
    """Say where a tile's operations are prepared; `slots` are block bits in places, as a mask."""
    rest: i64 = slots
    for slot in static(range(BOTH_SLOTS)):
        step.slots[slot] = count_trailing_zeros(rest)
        rest &= rest - 1
    step.fixed, step.prepared = slots, prepared


@kernel
def saved_by_tile(run: Backward, begin: i64, end: i64) -> i64:
    """How much is saved by a tile, in no unit: most where multiplications can be halved."""
    saved: i64 = 0
    for k in range(begin, end):
        operation = run.undone[run.order[k]]
        if operation.mask == 0 and divisor_of(operation) != 0.0:
            saved += 3
        elif operation.form != GENERAL and bears(operation):
            saved += 2
        else:
            saved += 1
    return saved


@kernel
def add_step(run: Backward, kind: i64, begin: i64, end: i64) -> None:
    """Add a step."""
    step = run.steps[run.step_count]
    run.step_count = run.step_count + 1
    step.kind, step.begin, step.end, step.has_run = kind, begin, end, 0


@kernel
def places_in(bits: i64, place: ptr[i64]) -> i64:
    """Bits of a mask as a mask of their places."""
    found: i64 = 0
    rest: i64 = bits
    while rest != 0:
        found |= 1 << place[count_trailing_zeros(rest)]
        rest &= rest - 1
    return found


@kernel
def run_end(run: Backward, part: i64, begin: i64) -> i64:
    """Where operations end that are all diagonal, or not, as the one at a place of a part is."""
    end: i64 = begin
    is_diagonal = run.undone[run.order[begin]].changes == 0
    while end < run.ends[part] and (run.undone[run.order[end]].changes == 0) == is_diagonal:
        end += 1
    return end


@kernel
def run_follows(run: Backward, part: i64, end: i64) -> i1:
    """Whether a diagonal run begins at a place of a part."""
    return end < run.ends[part] and run_end(run, part, end) - end >= SHORTEST


@kernel
def add_tiles(
    run: Backward, first: i64, part: i64, begin: i64, end: i64, own: i64, place: ptr[i64]
) -> None:
    """Divide operations of a part that are not diagonal into tiles; `own` are the part's bits."""
    plan = run.plan
    for k in range(begin, end):
        plan.pending[k - begin] = run.order[k]
    done: i64 = begin
    remaining: i64 = end - begin
    while remaining > 0:
        size = LANE_BITS + BOTH_SLOTS
        taken = pick(plan, plan.pending, remaining, size, LANE_MASK, ANY, run.order + done)
        remaining = plan.left
        slots = places_in(fill_up(plan.bits, size, own) & ~LANE_MASK, place) >> LANE_BITS
        last = done + taken
        # A run that follows is undone by the tile.
        more = RUN_SAVED if remaining == 0 and run_follows(run, part, end) else 0
        is_worth = saved_by_tile(run, done, last) + more >= LEAST_SAVED
        while done < last:
            some: i64 = 1
            if is_worth:
                some = last - done if last - done < MOST_IN_TILE else MOST_IN_TILE
            add_step(run, IN_TILE if is_worth else ALONE, done, done + some)
            if is_worth:
                set_tile(run.steps[run.step_count - 1], done - first, slots)
            done += some


@kernel
def prepare_step(run: Backward, step: Step, first: i64, blocks: i64) -> None:
    """Prepare the operations of a step; `first` is where its stage begins."""
    for k in range(step.begin, step.end):
        operation, prepared = run.undone[run.order[k]], run.prepared[k - first]
        if step.kind == IN_TILE:
            prepare(operation, step, prepared)
        elif step.kind == DIAGONAL_RUN:
            prepare_in_run(operation, blocks, cast(prepared, RunUndone))


@kernel
def plan_steps(run: Backward, first: i64, part: i64, own: i64, place: ptr[i64]) -> None:
    """Add the steps of a part; `own` are its bits, `first` is where its stage begins."""
    begin: i64 = run.ends[part - 1] if part > 0 else 0
    first_step = run.step_count
    blocks = 1 << (count_ones(own) - LANE_BITS)
    while begin < run.ends[part]:
        end = run_end(run, part, begin)
        is_diagonal = run.undone[run.order[begin]].changes == 0
        if is_diagonal and end - begin >= SHORTEST:
            add_step(run, DIAGONAL_RUN, begin, end)
            before = run.step_count - 2
            if before >= first_step and run.steps[before].kind == IN_TILE:
                run.steps[before].has_run = 1
        elif is_diagonal or blocks < FEWEST_BLOCKS:
            for k in range(begin, end):
                add_step(run, ALONE, k, k + 1)
        else:
            add_tiles(run, first, part, begin, end, own, place)
        begin = end
    run.step_ends[part] = run.step_count
    if blocks >= FEWEST_BLOCKS:
        divide_part(run, part)
    for number in range(first_step, run.step_count):
        prepare_step(run, run.steps[number], first, blocks)
