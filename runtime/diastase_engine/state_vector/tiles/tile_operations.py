"""From a waiting operation to a tile operation: coefficients in vectors, selectors sorted.

A selector on a lane is in the coefficient vectors; on a slot it is one bit for each block of the
tile (`slot_match`); everywhere else it is tested once for a tile (`outer_mask`). The target of a
diagonal operation is treated like a selector.

The eight vectors of a set are, for a target on a slot, the elements of the matrix; on a lane, in
each lane the diagonal and the off-diagonal element of its row (four vectors); for a diagonal
operation, the first and the last element (four vectors), which on a lane are the same.
"""

from typing import Any

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, Operation
from diastase_engine.state_vector.state.small_matrices import (
    is_identity,
    is_real,
    is_turning,
    is_unit,
)
from diastase_engine.state_vector.tiles.parity import FIRST_ROW, LAST_ROW, prepare_pair
from diastase_engine.state_vector.tiles.plan_records import (
    SET_VECTORS,
    SLOTS,
    Plan,
    Tile,
    TileOperation,
)
from diastase_engine.state_vector.tiles.sweeps import coefficient
from diastase_engine.state_vector.tiles.tile_codes import (
    ALL_BLOCKS,
    DIAGONAL_CODE,
    GENERAL_CODE,
    REAL_CODE,
    SELECTED_CODE,
    SELECTED_DIAGONAL_CODE,
    TURNING_CODE,
    UNIT_REAL_CODE,
    UNIT_TURNING_CODE,
    slot_of,
    tile_place,
)

BLOCKS_OF_SLOT = [sum(1 << block for block in range(8) if (block >> slot) & 1) for slot in range(3)]
"""For each slot, the blocks of a tile in which it is one."""


@kernel
def blocks_of_slot(slot: i64) -> i64:
    """`BLOCKS_OF_SLOT` for a slot that is known at run time."""
    blocks: i64 = 0
    for k in static(range(SLOTS)):
        if slot == k:
            blocks = BLOCKS_OF_SLOT[k]
    return blocks


@kernel
def set_selectors(plan: Plan, tile: Tile, operation: Operation, prepared: TileOperation) -> None:
    """Sort the selectors on block bits into slots and others."""
    prepared.outer_mask = 0
    prepared.outer_value = 0
    prepared.slot_match = ALL_BLOCKS
    for bit in range(LANE_BITS, 64):
        rest = operation.mask >> bit
        if rest == 0:
            return
        if rest & 1 == 1:
            place = plan.place[bit] - LANE_BITS
            one = (operation.value >> bit) & 1
            slot = slot_of(tile, place)
            if slot < 0:
                prepared.outer_mask = prepared.outer_mask | (1 << place)
                prepared.outer_value = prepared.outer_value | (one << place)
            elif one == 1:
                prepared.slot_match = prepared.slot_match & blocks_of_slot(slot)
            else:
                prepared.slot_match = prepared.slot_match & ~blocks_of_slot(slot)


@inline
def in_lanes(operation: Any, lanes: lane_set, is_matched: bool, index: int) -> vector:
    """One number of the matrix, of a set for amplitudes that the blocks select, or do not."""
    if is_matched:
        return coefficient(operation, lanes, index)
    return broadcast(operation.otherwise[index])


@inline
def set_matrix(operation: Any, vectors: ptr[vector], is_matched: bool) -> lane_set:
    """Write a set of a matrix, also one that is undone; return in which lanes it is `matched`."""
    lanes = lanes_match(operation.mask & LANE_MASK, operation.value & LANE_MASK)
    if operation.target < LANE_BITS:
        bit = 1 << operation.target
        is_last_row = lanes_match(bit, bit)
        for k in static(range(4)):
            first = in_lanes(operation, lanes, is_matched, FIRST_ROW[k])
            last = in_lanes(operation, lanes, is_matched, LAST_ROW[k])
            vectors[k] = select(is_last_row, last, first)
    else:
        for k in static(range(8)):
            vectors[k] = in_lanes(operation, lanes, is_matched, k)
    return lanes


@inline
def set_coefficients(
    operation: Operation, prepared: TileOperation, is_diagonal: i1, is_matched: bool
) -> None:
    """Write one of the two sets."""
    vectors = cast(prepared, ptr[vector]) + (SET_VECTORS if is_matched else 0)
    set_matrix(operation, vectors, is_matched)
    if is_diagonal:
        last = vectors + (0 if operation.target < LANE_BITS else 6)
        vectors[2], vectors[3] = last[0], last[1]


@kernel
def is_one(matrix: ptr[f64], index: i64) -> i1:
    """Whether a complex element of a matrix is exactly one."""
    return matrix[index] == 1.0 and matrix[index + 1] == 0.0


@kernel
def diagonal_skips(operation: Operation, prepared: TileOperation) -> i64:
    """Return the `skips` of a diagonal operation."""
    zero = operation.mask != 0 and is_one(operation.otherwise, 0)
    one = operation.mask != 0 and is_one(operation.otherwise, 6)
    zero_matched = is_one(operation.matched, 0)
    one_matched = is_one(operation.matched, 6)
    if operation.mask & LANE_MASK != 0 or prepared.slot_match != ALL_BLOCKS:
        # What the blocks outside the tile select has both kinds of amplitudes in it.
        zero_matched = zero_matched and zero
        one_matched = one_matched and one
    if prepared.row_mask == 0:
        zero = zero and one
        zero_matched = zero_matched and one_matched
        one, one_matched = zero, zero_matched
    skips: i64 = 1 if zero else 0
    skips |= 2 if one else 0
    skips |= 4 if zero_matched else 0
    skips |= 8 if one_matched else 0
    return skips


@kernel
def prepare_diagonal(plan: Plan, tile: Tile, operation: Operation, prepared: TileOperation) -> None:
    """Fill in what is special to a diagonal operation."""
    if operation.target >= LANE_BITS:
        place = plan.place[operation.target] - LANE_BITS
        slot = slot_of(tile, place)
        if slot < 0:
            prepared.row_mask = 1 << place
        else:
            prepared.slot_row = blocks_of_slot(slot)
    prepared.code = DIAGONAL_CODE
    if prepared.slot_row != 0 or prepared.slot_match != ALL_BLOCKS:
        prepared.code = SELECTED_DIAGONAL_CODE
    prepared.skips = diagonal_skips(operation, prepared)


@kernel
def prepare_mixing(plan: Plan, tile: Tile, operation: Operation, prepared: TileOperation) -> None:
    """Fill in what is special to an operation that is not diagonal."""
    code: i64 = tile_place(plan, tile, operation.target)
    has_units = operation.mask == 0 and is_unit(operation.matched)
    if is_real(operation):
        code += UNIT_REAL_CODE if has_units else REAL_CODE
    elif is_turning(operation):
        code += UNIT_TURNING_CODE if has_units else TURNING_CODE
    else:
        code += GENERAL_CODE
    if prepared.slot_match != ALL_BLOCKS:
        code += SELECTED_CODE
    prepared.code = code
    if operation.mask != 0 and is_identity(operation.otherwise):
        prepared.skips = 1


@kernel
def prepare_for_all(prepared: TileOperation, code: i64) -> None:
    """Fill in a tile operation that nothing selects."""
    prepared.operation = -1
    prepared.code = code
    prepared.outer_mask = 0
    prepared.outer_value = 0
    prepared.row_mask = 0
    prepared.slot_match = 0
    prepared.slot_row = 0
    prepared.skips = 0


@kernel
def prepare_operation(
    plan: Plan, tile: Tile, operation: Operation, index: i64, prepared: TileOperation
) -> None:
    """Fill in a tile operation; the places of the bits are those of its stage."""
    is_diagonal = plan.targets[index] == 0
    prepared.operation = index
    prepared.row_mask = 0
    prepared.slot_row = 0
    prepared.skips = 0
    if operation.flips != 0:
        prepare_pair(plan, tile, operation, prepared)
        return
    set_selectors(plan, tile, operation, prepared)
    if is_diagonal:
        prepare_diagonal(plan, tile, operation, prepared)
    else:
        prepare_mixing(plan, tile, operation, prepared)
    set_coefficients(operation, prepared, is_diagonal, True)
    if prepared.outer_mask != 0 or prepared.slot_match != ALL_BLOCKS:
        set_coefficients(operation, prepared, is_diagonal, False)
