"""From a waiting operation that keeps the parity of two bits to a tile operation.

Its coefficients are, for two slots, the matrix of equal bits and then that of different ones, and
`slot_match` has a bit for each that says whether it is more than the identity. Where the other bit
is a lane, the lanes have the numbers of their own parity; for two lanes, those of their row, too.
"""

from diastase_engine.language import (
    broadcast,
    cast,
    count_trailing_zeros,
    i64,
    inline,
    kernel,
    lane_set,
    lanes_match,
    ptr,
    select,
    static,
    vector,
)
from diastase_engine.state_vector.state.records import LANE_BITS, Operation
from diastase_engine.state_vector.state.small_matrices import is_identity
from diastase_engine.state_vector.tiles.plan_records import SET_VECTORS, Plan, Tile, TileOperation
from diastase_engine.state_vector.tiles.sweeps import is_real, is_turning
from diastase_engine.state_vector.tiles.tile_bits import tile_place
from diastase_engine.state_vector.tiles.tile_codes import (
    GENERAL_CODE,
    PAIR_CODE,
    PAIR_KIND,
    PAIR_TARGET,
    REAL_CODE,
    TURNING_CODE,
)

FIRST_ROW, LAST_ROW = (0, 1, 2, 3), (6, 7, 4, 5)
"""Elements of a matrix: the diagonal one of a row, then the other, each as two numbers."""


@inline
def of_parity(operation: Operation, is_odd: lane_set, index: int) -> vector:
    """One number of the two matrices: in some lanes of one, elsewhere of the other."""
    odd, even = operation.matched[index], operation.otherwise[index]
    return select(is_odd, broadcast(odd), broadcast(even))


@inline
def of_lane(bit: i64) -> lane_set:
    """Say for each lane whether this bit is one."""
    return lanes_match(1 << bit, 1 << bit)


@kernel
def set_pair_coefficients(operation: Operation, other: i64, vectors: ptr[vector]) -> None:
    """Write the coefficients."""
    if other >= LANE_BITS:
        for k in static(range(8)):
            vectors[k] = broadcast(operation.otherwise[k])
            vectors[SET_VECTORS + k] = broadcast(operation.matched[k])
    elif operation.target >= LANE_BITS:
        for k in static(range(8)):
            vectors[k] = of_parity(operation, of_lane(other), k)
    else:
        is_last, is_other = of_lane(operation.target), of_lane(other)
        for k in static(range(4)):
            first = of_parity(operation, is_other, FIRST_ROW[k])
            # Where the target is one, the other bit was flipped with it.
            odd, even = operation.matched[LAST_ROW[k]], operation.otherwise[LAST_ROW[k]]
            last = select(is_other, broadcast(even), broadcast(odd))
            vectors[k] = select(is_last, last, first)
            vectors[4 + k] = vectors[k]


@kernel
def prepare_pair(plan: Plan, tile: Tile, operation: Operation, prepared: TileOperation) -> None:
    """Fill in the tile operation; it has no selectors."""
    other = count_trailing_zeros(operation.flips)
    kind: i64 = GENERAL_CODE
    if is_real(operation):
        kind = REAL_CODE
    elif is_turning(operation):
        kind = TURNING_CODE
    target_place = tile_place(plan, tile, operation.target)
    other_place = tile_place(plan, tile, other)
    prepared.code = PAIR_CODE + kind * PAIR_KIND + target_place * PAIR_TARGET + other_place
    prepared.outer_mask, prepared.outer_value = 0, 0
    prepared.slot_match = 0 if is_identity(operation.otherwise) else 1
    prepared.slot_match |= 0 if is_identity(operation.matched) else 2
    set_pair_coefficients(operation, other, cast(prepared, ptr[vector]))
