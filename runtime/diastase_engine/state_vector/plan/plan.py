"""Waiting operations to a plan, and the plan run.

In: a state with waiting operations. Out: whether they have been applied by a plan; where not (a
small state, or no memory for the plan), nothing has happened, and the caller applies them one by
one.

Which run together is a greedy pick, for stages and for tiles. An operation has a *target* bit,
whose two amplitudes it mixes (or two such bits, see `parity_operations`, or many, see
`tiles.words`), and *selectors*, which it only reads: its mask, and the target, too, where its
matrices are diagonal. Two operations commute where neither has its target among the other's bits.
`pick` walks through the operations in order and takes each one that commutes with all that it left
behind and whose target is among the bits allowed, or can be added to them. Selectors may be any
bits. Rotations about Pauli words are in tiles of their own, with those that flip the same bits.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.operations.factors import take_out_factors
from diastase_engine.state_vector.plan.plan_memory import (
    chunk_bits_of,
    lay_out,
    next_operation,
    room_for_chunks,
    room_for_plan,
)
from diastase_engine.state_vector.plan.stages import run_stages
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, State
from diastase_engine.state_vector.tiles.diagonal_groups import (
    DiagonalGroup,
    find_group,
    lies_inside,
    multiply_table,
    prepare_application,
    prepare_gathered,
    prepare_table,
)
from diastase_engine.state_vector.tiles.plan_records import SLOTS, Plan, Tile
from diastase_engine.state_vector.tiles.tile_operations import prepare_operation
from diastase_engine.state_vector.tiles.words import pivot_of, prepare_word


@kernel
def list_waiting(state: State, plan: Plan) -> i64:
    """Write the list of live operations and which bits they use; return their number."""
    count: i64 = 0
    for k in range(state.waiting):
        operation = state.operations[k]
        if operation.is_live != 0:
            plan.targets[k] = operation.changes
            plan.selectors[k] = operation.reads
            plan.words[k] = operation.word
            plan.pending[count] = k
            count += 1
    return count


ANY = -1


@kernel
def pick(
    plan: Plan, waiting: ptr[i64], count: i64, size: i64, allowed: i64, word: i64, picked: ptr[i64]
) -> i64:
    """Move operations from one list to another, with at most `size` bits; return how many.

    With a `word` that is not `ANY`, only those of this word. Writes `plan.bits`, the allowed bits
    with those that were added, and `plan.left`.
    """
    bits: i64 = allowed
    room: i64 = size - count_ones(allowed)
    # Bits that an operation which stays behind uses, and those that it has as its target.
    used: i64 = 0
    changed: i64 = 0
    taken: i64 = 0
    left: i64 = 0
    for k in range(count):
        index = waiting[k]
        target = plan.targets[index]
        selectors = plan.selectors[index]
        new = count_ones(target & ~bits)
        fits = room >= new and (word == ANY or plan.words[index] == word)
        if selectors & changed == 0 and target & used == 0 and fits:
            bits |= target
            room -= new
            picked[taken] = index
            taken += 1
        else:
            used |= target | selectors
            changed |= target
            waiting[left] = index
            left += 1
    plan.bits = bits
    plan.left = left
    return taken


@kernel
def fill_up(bits: i64, size: i64, available: i64) -> i64:
    """`bits` and the lowest others of `available`, `size` in all."""
    result: i64 = bits
    rest: i64 = available & ~bits
    for _ in range(size - count_ones(bits)):
        result |= rest & -rest
        rest &= rest - 1
    return result


@kernel
def set_places(state: State, plan: Plan, bits: i64) -> None:
    """Number the bits of a stage first, then the others."""
    inside: i64 = 0
    outside: i64 = count_ones(bits)
    for bit in range(state.qubits):
        if (bits >> bit) & 1 == 1:
            plan.place[bit] = inside
            inside += 1
        else:
            plan.place[bit] = outside
            outside += 1


PART_BITS = 10
"""A stage of one tile is divided into parts of so many groups of blocks."""


@kernel
def add_group(state: State, plan: Plan, tile: Tile, first: i64, group: DiagonalGroup) -> None:
    """Add diagonal operations: a table of those inside; others that are gathered, and applied."""
    table = plan.operation_count
    if group.has_table != 0:
        prepare_table(next_operation(plan))
    for k in range(first, first + group.length):
        index = plan.of_tile[k]
        operation = state.operations[index]
        is_inside = lies_inside(plan, tile, operation, index)
        prepared = next_operation(plan)
        if group.is_gathered != 0 and not is_inside:
            prepare_gathered(plan, tile, operation, index, prepared)
        else:
            prepare_operation(plan, tile, operation, index, prepared)
        if group.has_table != 0 and is_inside:
            multiply_table(plan.operations[table], prepared)
            plan.operation_count = plan.operation_count - 1
    if group.is_gathered != 0:
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
    if plan.words[plan.of_tile[0]] != 0:
        add_words(state, plan, stage_bits, count)
        return
    tile = plan.tiles[plan.tile_count]
    plan.tile_count = plan.tile_count + 1
    tile.word = 0
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
    group = stack_record(DiagonalGroup)
    done: i64 = 0
    while done < count:
        find_group(state, plan, tile, done, count, group)
        if group.length > 0:
            add_group(state, plan, tile, done, group)
            done += group.length
        else:
            index = plan.of_tile[done]
            prepare_operation(plan, tile, state.operations[index], index, next_operation(plan))
            done += 1
    tile.end = plan.operation_count


@kernel
def pick_word(plan: Plan, waiting: ptr[i64], count: i64, word: i64, picked: ptr[i64]) -> i64:
    """`pick` the rotations about Pauli words that flip these bits."""
    return pick(plan, waiting, count, 64, LANE_MASK | word, word, picked)


@kernel
def pick_tile(plan: Plan, count: i64) -> i64:
    """`pick` the operations of a tile from those of its stage: of the first one's kind."""
    word = plan.words[plan.of_stage[0]]
    if word != 0:
        return pick_word(plan, plan.of_stage, count, word, plan.of_tile)
    return pick(plan, plan.of_stage, count, LANE_BITS + SLOTS, LANE_MASK, 0, plan.of_tile)


@kernel
def add_words(state: State, plan: Plan, stage_bits: i64, count: i64) -> None:
    """Add the tile of the `count` rotations in `of_tile`, all of which flip the same bits."""
    tile = plan.tiles[plan.tile_count]
    plan.tile_count = plan.tile_count + 1
    tile.far_word = plan.words[plan.of_tile[0]]
    tile.word = places_of(plan, tile.far_word)
    tile.far_fixed = ~(stage_bits >> LANE_BITS) | pivot_of(tile.far_word)
    # What was zero no longer is; the walk finds pairs by one bit, which is fixed.
    plan.support |= tile.far_word
    set_groups(plan, tile, ~tile.far_fixed, stage_bits)
    tile.first = plan.operation_count
    for k in range(count):
        operation = state.operations[plan.of_tile[k]]
        signs, mask = places_of(plan, operation.signs), places_of(plan, operation.mask)
        value = places_of(plan, operation.value)
        prepare_word(operation, signs, mask, value, next_operation(plan))
    tile.end = plan.operation_count


@kernel
def places_of(plan: Plan, bits: i64) -> i64:
    """Bits as a mask of places."""
    found: i64 = 0
    rest: i64 = bits
    while rest != 0:
        found |= 1 << plan.place[count_trailing_zeros(rest)]
        rest &= rest - 1
    return found


@kernel
def add_stage(state: State, plan: Plan, count: i64) -> None:
    """Add the stage of the `count` operations in `of_stage`, whose targets are `plan.bits`."""
    stage = plan.stages[plan.stage_count]
    plan.stage_count = plan.stage_count + 1
    everything = (1 << state.qubits) - 1
    stage.bits = fill_up(plan.bits, plan.chunk_bits, everything)
    stage.single = plan.of_stage[0] if count == 1 else -1
    taken: i64 = pick_tile(plan, count)
    if plan.left == 0:
        # One tile goes through the state once, as copying the chunks would.
        stage.bits = everything
    set_places(state, plan, stage.bits)
    stage.in_place = 1 if stage.bits == everything else 0
    stage.parts = 1 << (state.qubits - count_ones(stage.bits))
    stage.first = plan.tile_count
    while taken > 0:
        add_tile(state, plan, stage.bits, plan.bits, taken)
        taken = pick_tile(plan, plan.left)
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
        count: i64 = pick(plan, plan.pending, remaining, chunk_bits, LANE_MASK, ANY, plan.of_stage)
        if count == 0:
            # A word that flips more bits than a chunk has.
            word = plan.words[plan.pending[0]]
            count = pick_word(plan, plan.pending, remaining, word, plan.of_stage)
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
