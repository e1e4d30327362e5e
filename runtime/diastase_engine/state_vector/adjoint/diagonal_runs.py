"""Diagonal operations that follow each other in a part, undone on a piece together.

All of them multiply state and adjoint by the same phases, so `v = Im conj(adjoint) state` is the
same before and after each: their sums are sums of one set of *values* v, and what is done to the
amplitudes is one product with the *phases* of all. Both are made apart from the amplitudes. An
operation repeats itself after `size` blocks, twice its highest bit in the piece, so it is

- multiplied into the phases of so many blocks, which are repeated for operations of larger size:
  the smallest first;
- given the sum of the values of so many blocks, to which those of the others have been added: the
  largest first.

A layer of ZZ rotations, each of which would walk through both pieces, costs a few such walks; the
product itself is made by the tile that comes next, if there is one (`tiles`). Operations in a run
are in the order of their sizes (`sort_runs`). Values have the precision of amplitudes, as what they
are made of, and are added pairwise.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.records import (
    BY_ZERO,
    SIDE_SUMS,
    SUMS,
    Backward,
    Pass,
    Undone,
    Work,
)
from diastase_engine.state_vector.adjoint.tile_records import RunUndone, Step
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK
from diastase_engine.state_vector.tiles.sweeps import next_block

SHORTEST = 3
"""Fewer are undone one by one."""


@kernel
def size_in_piece(operation: Undone, blocks: i64) -> i64:
    """After how many blocks of a piece an operation is the same again."""
    bits = ((operation.mask | (1 << operation.target)) >> LANE_BITS) & (blocks - 1)
    size: i64 = 1
    while size <= bits:
        size <<= 1
    return size


@kernel
def sort_runs(run: Backward, part: i64, blocks: i64) -> None:
    """Put the operations of each run in a part into the order of their sizes."""
    first = run.ends[part - 1] if part > 0 else 0
    for k in range(first, run.ends[part]):
        index = run.order[k]
        operation = run.undone[index]
        operation.size = size_in_piece(operation, blocks)
        place: i64 = k
        while (
            operation.changes == 0
            and place > first
            and run.undone[run.order[place - 1]].changes == 0
            and run.undone[run.order[place - 1]].size > operation.size
        ):
            run.order[place] = run.order[place - 1]
            place -= 1
        run.order[place] = index


@kernel
def prepare_in_run(operation: Undone, blocks: i64, prepared: RunUndone) -> None:
    """Write what an operation is multiplied into phases by, on a piece of so many blocks."""
    inside = blocks - 1
    mask, value = operation.mask >> LANE_BITS, operation.value >> LANE_BITS
    prepared.inner_mask, prepared.inner_value = mask & inside, value & inside
    prepared.outer_mask, prepared.outer_value = mask & ~inside, value & ~inside
    prepared.size = operation.size
    lanes = lanes_match(operation.mask & LANE_MASK, operation.value & LANE_MASK)
    in_lanes = operation.target < LANE_BITS
    bit = 1 << operation.target
    row = 0 if in_lanes else bit >> LANE_BITS
    prepared.inner_row, prepared.outer_row = row & inside, row & ~inside
    is_one = lanes_match(bit, bit)
    zero, one = operation.otherwise, operation.matched
    vectors = cast(prepared, ptr[vector])
    for k in static(range(4)):
        for part in static(range(2)):
            first = broadcast(zero[part])
            second = broadcast(zero[6 + part])
            if k >= 2:
                first = select(lanes, broadcast(one[part]), first)
                second = select(lanes, broadcast(one[6 + part]), second)
            if in_lanes:
                vectors[2 * k + part] = select(is_one, second, first)
            else:
                vectors[2 * k + part] = second if k % 2 == 1 else first
    has_lanes = operation.mask & LANE_MASK != 0
    wants_otherwise = operation.wants_otherwise
    prepared.wants[0] = wants_otherwise
    prepared.wants[1] = operation.wants_matched | (wants_otherwise if has_lanes else 0)


@kernel
def multiply_phases(phases: ptr[vector], had: i64, prepared: RunUndone, base: i64) -> i64:
    """Multiply phases of `had` blocks by those of an operation; of how many they are then."""
    size = prepared.size if prepared.size > had else had
    matches = to_integer(base & prepared.outer_mask == prepared.outer_value)
    row = to_integer(base & prepared.outer_row != 0)
    mask, value = prepared.inner_mask, prepared.inner_value
    inner_row = prepared.inner_row
    vectors = cast(prepared, ptr[vector])
    block: i64 = size - 1
    # From the last to the first: what is repeated is read before it is changed.
    while block >= 0:
        side = to_integer(block & mask == value) & matches
        own = row | to_integer(block & inner_row != 0)
        factor = vectors + (4 * side + 2 * own)
        source = 2 * (block & (had - 1))
        x, y, a, b = phases[source], phases[source + 1], factor[0], factor[1]
        phases[2 * block], phases[2 * block + 1] = x * a - y * b, x * b + y * a
        block -= 1
    return size


@kernel
def make_phases(work: Work, step: Step, first: i64, blocks: i64, base: i64) -> None:
    """Write the phases of a run on a piece; `first` is where its stage begins."""
    phases, prepared = work.phases, work.run.prepared
    phases[0], phases[1] = broadcast(1.0), broadcast(0.0)
    size: i64 = 1
    for k in range(step.begin, step.end):
        size = multiply_phases(phases, size, cast(prepared[k - first], RunUndone), base)
    for k in range(2 * size, 2 * blocks):
        phases[k] = phases[k - 2 * size]


@kernel
def multiply_all(each: Pass, phases: ptr[vector], values: ptr[vector]) -> None:
    """Multiply state and adjoint by the phases, and write the values."""
    state, adjoint = each.state, each.adjoint
    for block in range(each.blocks):
        p = 2 * block
        a, b = phases[p], phases[p + 1]
        x, y, l, m = state[p], state[p + 1], adjoint[p], adjoint[p + 1]  # noqa: E741
        values[block] = l * y - m * x
        state[p], state[p + 1] = x * a - y * b, x * b + y * a
        adjoint[p], adjoint[p + 1] = l * a - m * b, l * b + m * a


@kernel
def fold(values: ptr[vector], size: i64) -> None:
    """Add the second half of the values of so many blocks to the first."""
    half = size >> 1
    for k in range(half):
        values[k] = values[k] + values[half + k]


@kernel
def sum_values(values: ptr[vector], size: i64, fixed: i64, value: i64, sums: ptr[wide]) -> None:
    """Add the values of the blocks of which some bits are these."""
    length = fixed & -fixed if fixed != 0 else size
    first, second = broadcast(0.0), broadcast(0.0)
    block: i64 = 0
    while block < size:
        own = values + (block | value)
        if length == 1:
            first += own[0]
        else:
            for k in range(length >> 1):
                first += own[2 * k]
                second += own[2 * k + 1]
        block = next_block(block | (length - 1), fixed)
    sums[0] = sums[0] + widen(first + second)


@kernel
def sum_rows(
    prepared: RunUndone, values: ptr[vector], fixed: i64, value: i64, row: i64, sums: ptr[wide]
) -> None:
    """The same for both rows of a diagonal operation, or the one that there is."""
    bit = prepared.inner_row
    if bit == 0:
        sum_values(values, prepared.size, fixed, value, sums + row)
    else:
        sum_values(values, prepared.size, fixed | bit, value, sums)
        sum_values(values, prepared.size, fixed | bit, value | bit, sums + 1)


@kernel
def sum_operation(prepared: RunUndone, values: ptr[vector], base: i64, sums: ptr[wide]) -> None:
    """Add the values of both sides to the sums of an operation."""
    mask, value = prepared.inner_mask, prepared.inner_value
    row = to_integer(base & prepared.outer_row != 0)
    otherwise, matched = sums + BY_ZERO, sums + (SIDE_SUMS + BY_ZERO)
    wants_otherwise = prepared.wants[0] != 0
    if base & prepared.outer_mask != prepared.outer_value:
        if wants_otherwise:
            sum_rows(prepared, values, 0, 0, row, otherwise)
        return
    if prepared.wants[1] != 0:
        sum_rows(prepared, values, mask, value, row, matched)
    # With several bits in the mask, `otherwise` is the identity, and nothing depends on it.
    if mask != 0 and wants_otherwise:
        sum_rows(prepared, values, mask, value ^ mask, row, otherwise)


@kernel
def sum_run(work: Work, step: Step, first: i64, blocks: i64, base: i64, sums: ptr[wide]) -> None:
    """Add the values on a piece to all sums of a run; `sums` are those of the first operation."""
    values, prepared = work.values, work.run.prepared
    size: i64 = blocks
    k: i64 = step.end - 1
    while k >= step.begin:
        operation = cast(prepared[k - first], RunUndone)
        if operation.wants[0] | operation.wants[1] != 0:
            while size > operation.size:
                fold(values, size)
                size >>= 1
            sum_operation(operation, values, base, sums + SUMS * (k - step.begin))
        k -= 1


@kernel
def undo_run(work: Work, each: Pass, step: Step, first: i64, base: i64, sums: ptr[wide]) -> None:
    """Undo the operations of a run by themselves."""
    make_phases(work, step, first, each.blocks, base)
    multiply_all(each, work.phases, work.values)
    sum_run(work, step, first, each.blocks, base, sums)
