"""Waiting operations to a plan, and the plan run.

In: a state with waiting operations. Out: whether they have been applied by a plan; where not (a
small state, or no memory for the plan), nothing has happened, and the caller applies them one by
one.
"""

from diastase_engine.language import (
    cast,
    count_ones,
    count_trailing_zeros,
    i1,
    i64,
    kernel,
    ptr,
    static,
    vector,
)
from diastase_engine.state_vector.operations.common_factors import take_out_factors
from diastase_engine.state_vector.plan.chunk_sizes import chunk_bits_of
from diastase_engine.state_vector.plan.plan_memory import (
    lay_out,
    next_operation,
    room_for_chunks,
    room_for_plan,
)
from diastase_engine.state_vector.plan.schedule import fill_up, list_waiting, pick, set_places
from diastase_engine.state_vector.plan.stages import run_stages
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, State
from diastase_engine.state_vector.tiles.diagonal_groups import (
    group_length,
    prepare_application,
    prepare_gathered,
)
from diastase_engine.state_vector.tiles.plan_records import SLOTS, Plan, Tile
from diastase_engine.state_vector.tiles.tile_operations import prepare_operation

PART_BITS = 10
"""A stage of one tile is divided into parts of so many groups of blocks."""


@kernel
def add_group(state: State, plan: Plan, tile: Tile, first: i64, length: i64) -> None:
    """Add diagonal operations that are gathered, and then applied."""
    for k in range(first, first + length):
        index = plan.of_tile[k]
        prepare_gathered(plan, tile, state.operations[index], index, next_operation(plan))
    prepare_application(next_operation(plan))


@kernel
def set_groups(plan: Plan, tile: Tile, counted: i64, stage_bits: i64) -> None:
    """Say which groups of blocks a tile has, `counted` being its block bits that are no slots."""
    free: i64 = counted
    if stage_bits & (stage_bits + 1) == 0:
        # In place. A buffer is loaded as a whole, the zeros, too.
        free &= plan.support >> LANE_BITS
    tile.fixed = -1
    tile.groups = 1 << count_ones(free)
    while free != 0:
        place = plan.place[LANE_BITS + count_trailing_zeros(free)] - LANE_BITS
        tile.fixed = tile.fixed & ~(1 << place)
        free &= free - 1


@kernel
def add_tile(state: State, plan: Plan, stage_bits: i64, bits: i64, count: i64) -> None:
    """Add the tile of the `count` operations in `of_tile`, whose targets are `bits`."""
    tile = plan.tiles[plan.tile_count]
    plan.tile_count = plan.tile_count + 1
    rest: i64 = fill_up(bits, LANE_BITS + SLOTS, stage_bits) >> LANE_BITS
    tile.far_fixed = ~(stage_bits >> LANE_BITS) | rest
    for slot in static(range(SLOTS)):
        far = count_trailing_zeros(rest)
        place = plan.place[LANE_BITS + far] - LANE_BITS
        tile.far_slots[slot] = far
        tile.slots[slot] = place
        rest &= rest - 1
    set_groups(plan, tile, ~tile.far_fixed, stage_bits)
    plan.support |= bits
    tile.first = plan.operation_count
    done: i64 = 0
    while done < count:
        length = group_length(state, plan, tile, done, count)
        if length > 0:
            add_group(state, plan, tile, done, length)
            done += length
        else:
            index = plan.of_tile[done]
            prepare_operation(plan, tile, state.operations[index], index, next_operation(plan))
            done += 1
    tile.end = plan.operation_count


@kernel
def add_stage(state: State, plan: Plan, count: i64) -> None:
    """Add the stage of the `count` operations in `of_stage`, whose targets are `plan.bits`."""
    stage = plan.stages[plan.stage_count]
    plan.stage_count = plan.stage_count + 1
    everything = (1 << state.qubits) - 1
    stage.bits = fill_up(plan.bits, plan.chunk_bits, everything)
    stage.single = plan.of_stage[0] if count == 1 else -1
    taken: i64 = pick(plan, plan.of_stage, count, LANE_BITS + SLOTS, LANE_MASK, plan.of_tile)
    if plan.left == 0:
        # One tile goes through the state once, as copying the chunks would.
        stage.bits = everything
    set_places(state, plan, stage.bits)
    stage.in_place = 1 if stage.bits == everything else 0
    stage.parts = 1 << (state.qubits - count_ones(stage.bits))
    stage.first = plan.tile_count
    while taken > 0:
        add_tile(state, plan, stage.bits, plan.bits, taken)
        taken = pick(plan, plan.of_stage, plan.left, LANE_BITS + SLOTS, LANE_MASK, plan.of_tile)
    stage.end = plan.tile_count
    if stage.end == stage.first + 1:
        groups = state.qubits - LANE_BITS - SLOTS
        stage.parts = 1 << (groups - PART_BITS) if groups > PART_BITS else 1


@kernel
def make_plan(state: State, chunk_bits: i64) -> Plan:
    """Plan all waiting operations; the state has room for that."""
    plan = lay_out(state, chunk_bits)
    plan.listed = list_waiting(state, plan)
    plan.support = state.support
    remaining: i64 = plan.listed
    while remaining > 0:
        count = pick(plan, plan.pending, remaining, chunk_bits, LANE_MASK, plan.of_stage)
        remaining = plan.left
        add_stage(state, plan, count)
    return plan


@kernel
def run_planned(state: State) -> i1:
    """Apply the waiting operations by a plan; false where that was not possible."""
    chunk_bits = chunk_bits_of(state)
    if chunk_bits == 0 or not room_for_plan(state):
        return False
    if chunk_bits < state.qubits and not room_for_chunks(state, chunk_bits):
        return False
    take_out_factors(state)
    plan = make_plan(state, chunk_bits)
    state.applied += plan.listed
    state.stages += plan.stage_count
    run_stages(state, plan, cast(state.buffer, ptr[vector]))
    return True
