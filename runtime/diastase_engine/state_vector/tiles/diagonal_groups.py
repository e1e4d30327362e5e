"""Diagonal operations that follow each other in a tile: gathered first, then applied together.

Those that depend on no other bits than the tile's (*tile bits*: lanes, then slots) are the same for
all groups of blocks: their product is a table of what each amplitude of a tile is multiplied by.

Another one that depends on at most one bit of the tile is, for one group of blocks, a number for
all of the tile times one more for the amplitudes whose tile bit is one. Many such operations are
multiplied into one vector: its lane k has the number of tile bit k, lane `COMMON_LANE` the one for
all. That is one complex product of a vector for each of them, instead of one for each block; at the
end the tile is multiplied by what was gathered.
So the controlled phases of a Fourier transform, or a layer of ZZ rotations, cost little more than
a few operations.

In: operations in the order of a tile. Out: how many of the first ones belong together, and their
tile operations. Projectors are not gathered: their quotient does not exist.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    SMALLEST_GROUP,
    Operation,
    State,
)
from diastase_engine.state_vector.tiles.plan_records import (
    SET_VECTORS,
    SLOTS,
    Plan,
    Tile,
    TileOperation,
)
from diastase_engine.state_vector.tiles.tile_codes import (
    APPLY_CODE,
    COMMON_LANE,
    GATHER_CODE,
    TABLE_CODE,
    tile_place,
)
from diastase_engine.state_vector.tiles.tile_operations import prepare_for_all, set_selectors

NONE, SEVERAL = -1, 64


class DiagonalGroup(Record):
    """What was found of a group."""

    length: i64
    inside: i64
    """How many lie inside of the tile, and are multiplied into a table if there are several."""
    gathered: i64
    """How many others there are, which are gathered if there are enough."""
    has_table: i64
    is_gathered: i64


@kernel
def bit_in_tile(plan: Plan, tile: Tile, operation: Operation) -> i64:
    """Return the only bit of the tile that an operation reads, or one of the two above."""
    found: i64 = NONE
    rest: i64 = operation.mask | (1 << operation.target)
    while rest != 0:
        bit = count_trailing_zeros(rest)
        if tile_place(plan, tile, bit) >= 0:
            if found != NONE:
                return SEVERAL
            found = bit
        rest &= rest - 1
    return found


@kernel
def is_phase_like(matrix: ptr[f64]) -> i1:
    """Whether both diagonal elements are of about size one, so that they can be divided by."""
    first = matrix[0] * matrix[0] + matrix[1] * matrix[1]
    last = matrix[6] * matrix[6] + matrix[7] * matrix[7]
    return first > 0.25 and first < 4.0 and last > 0.25 and last < 4.0


@kernel
def can_be_gathered(plan: Plan, tile: Tile, operation: Operation, index: i64) -> i1:
    """Whether an operation is diagonal, like a phase, and reads at most one bit of the tile."""
    if plan.targets[index] != 0 or not is_phase_like(operation.matched):
        return False
    if operation.mask != 0 and not is_phase_like(operation.otherwise):
        return False
    return bit_in_tile(plan, tile, operation) != SEVERAL


@kernel
def lies_inside(plan: Plan, tile: Tile, operation: Operation, index: i64) -> i1:
    """Whether an operation is diagonal and depends on bits of the tile only."""
    if plan.targets[index] != 0:
        return False
    rest: i64 = operation.mask | (1 << operation.target)
    while rest != 0:
        if tile_place(plan, tile, count_trailing_zeros(rest)) < 0:
            return False
        rest &= rest - 1
    return True


@kernel
def find_group(
    state: State, plan: Plan, tile: Tile, first: i64, count: i64, group: DiagonalGroup
) -> None:
    """Find how many of a tile's operations from `first` on are of either kind."""
    group.inside, group.gathered = 0, 0
    for k in range(first, count):
        index = plan.of_tile[k]
        if lies_inside(plan, tile, state.operations[index], index):
            group.inside += 1
        elif can_be_gathered(plan, tile, state.operations[index], index):
            group.gathered += 1
        else:
            break
    group.length = group.inside + group.gathered
    group.has_table = to_integer(group.inside > 1)
    group.is_gathered = to_integer(group.gathered >= SMALLEST_GROUP)


@kernel
def prepare_table(prepared: TileOperation) -> None:
    """Fill in the tile operation that multiplies the tile by a table, of ones so far."""
    prepare_for_all(prepared, TABLE_CODE)
    table = cast(prepared, ptr[vector])
    for block in static(range(1 << SLOTS)):
        table[2 * block], table[2 * block + 1] = broadcast(1.0), broadcast(0.0)


@kernel
def multiply_table(prepared: TileOperation, diagonal: TileOperation) -> None:
    """Multiply a table by a prepared operation that lies inside."""
    table, numbers = cast(prepared, ptr[vector]), cast(diagonal, ptr[vector])
    for block in static(range(1 << SLOTS)):
        matches = (diagonal.slot_match >> block) & 1
        own = numbers + (SET_VECTORS * matches + 2 * ((diagonal.slot_row >> block) & 1))
        real, imaginary = table[2 * block], table[2 * block + 1]
        table[2 * block] = own[0] * real - own[1] * imaginary
        table[2 * block + 1] = own[0] * imaginary + own[1] * real


@kernel
def element(operation: Operation, matches: i64, row: i64) -> ptr[f64]:
    """Address of a diagonal element."""
    matrix = operation.matched if matches != 0 else operation.otherwise
    return matrix + 6 * row


@kernel
def divide(left: ptr[f64], right: ptr[f64], quotient: ptr[f64]) -> None:
    """Divide complex numbers; one by the same is exactly one."""
    x, y = left[0], left[1]
    a, b = right[0], right[1]
    if x == a and y == b:
        quotient[0], quotient[1] = 1.0, 0.0
        return
    size = a * a + b * b
    quotient[0] = (x * a + y * b) / size
    quotient[1] = (y * a - x * b) / size


@kernel
def set_factors(
    operation: Operation, prepared: TileOperation, bit: i64, lane: i64, matches: i64, row: i64
) -> None:
    """Write what is multiplied into the gathered numbers for one outcome of the tests.

    `bit` is the bit in the tile, if any: the target, or a selector.
    """
    zero, one = element(operation, matches, row), element(operation, matches, row)
    if bit == operation.target:
        zero, one = element(operation, matches, 0), element(operation, matches, 1)
    elif bit != NONE:
        wanted = (operation.value >> bit) & 1
        zero = element(operation, matches & (1 - wanted), row)
        one = element(operation, matches & wanted, row)
    quotient = stack_array(f64, 2)
    divide(one, zero, quotient)
    vectors = cast(prepared, ptr[vector]) + (SET_VECTORS * matches + 2 * row)
    for part in static(range(2)):
        vectors[part] = broadcast(1.0 if part == 0 else 0.0)
        numbers = cast(vectors + part, ptr[stored])
        numbers[COMMON_LANE] = zero[part]
        if bit != NONE:
            numbers[lane] = quotient[part]
    is_identity = zero[0] == 1.0 and zero[1] == 0.0 and quotient[0] == 1.0 and quotient[1] == 0.0
    if is_identity:
        prepared.skips = prepared.skips | (1 << (2 * matches + row))


@kernel
def prepare_gathered(
    plan: Plan, tile: Tile, operation: Operation, index: i64, prepared: TileOperation
) -> None:
    """Fill in the tile operation that multiplies into the gathered numbers."""
    bit = bit_in_tile(plan, tile, operation)
    lane = tile_place(plan, tile, bit) if bit != NONE else 0
    set_selectors(plan, tile, operation, prepared)
    prepared.operation = index
    prepared.code = GATHER_CODE
    prepared.slot_row = 0
    prepared.skips = 0
    prepared.row_mask = 0
    if bit != operation.target:
        prepared.row_mask = 1 << (plan.place[operation.target] - LANE_BITS)
    for row in static(range(2)):
        set_factors(operation, prepared, bit, lane, 1, row)
        if operation.mask != 0:
            set_factors(operation, prepared, bit, lane, 0, row)


@kernel
def prepare_application(prepared: TileOperation) -> None:
    """Fill in the tile operation that multiplies the tile by the gathered numbers."""
    prepare_for_all(prepared, APPLY_CODE)
