"""A real matrix on a few index bits applied to all components: the inner loop.

`prepare` turns a matrix on some bits into a `Prepared`: for each setting of its bits that are
block bits, a *row*, the entries that differ from zero. A component of a row is a sum over columns,
and, for bits in the lanes, over the lanes that differ in these bits; so an entry is a vector of
coefficients, one for each lane, and the *slot* that it multiplies: a column, shuffled by a pattern
of lane bits. What no row needs is not computed, a row that stays as it is is not written.
"""

from diastase_engine.density_matrix.records import MOST_BITS, State
from diastase_engine.language import *
from diastase_engine.state_vector.state.parallel import run_parallel
from diastase_engine.state_vector.state.records import LANE_BITS, LANES
from diastase_engine.state_vector.tiles.sweeps import PARTNERS, next_block, spread

SLOTS = 1 << MOST_BITS
ABREAST_BITS = 2
ABREAST = 1 << ABREAST_BITS
"""Neighbouring vectors that are computed together where no bit of the matrix lies between them."""


class Prepared(Record):
    """A matrix, ready to be applied; what it points at lies behind it."""

    columns: i64
    shuffles: i64
    """2 to the number of its bits in the lanes."""
    lanes: i64
    """These, as a mask."""
    fixed: i64
    """Its other bits, as a mask of bits of the number of a vector."""
    kept: i64
    """The rows that stay as they are."""
    offsets: ptr[i64]
    """Where each column lies, in vectors."""
    starts: ptr[i64]
    """The first entry of each row, and the number of all."""
    slots: ptr[i64]
    coefficients: ptr[vector]


@inline
def _rounded(size: i64) -> i64:
    return (size + 63) & ~63


_PREPARED = (size_of(Prepared) + 63) // 64 * 64
_TABLES = 8 * (2 * SLOTS + 8)


@inline
def room_of(count: i64) -> i64:
    """Bytes that a matrix on so many bits may take when it is prepared."""
    return _PREPARED + _TABLES + (1 << (2 * count)) * (8 + 64) + 64


@kernel
def part_of(number: i64, count: i64, bits: ptr[i64], in_lanes: i64) -> i64:
    """The bits of a row's number that a lane has (`in_lanes`: 1), or that a column has."""
    place: i64 = 0
    part: i64 = 0
    # The last bit of a column's number is the last of the block bits.
    for k in range(count):
        t = count - 1 - k
        if in_lanes != 0:
            if bits[t] < LANE_BITS:
                part |= ((number >> bits[t]) & 1) << k
        elif bits[t] >= LANE_BITS:
            part |= ((number >> place) & 1) << k
            place += 1
    return part


@kernel
def lanes_of_shuffle(number: i64, lanes: i64) -> i64:
    """The pattern of lane bits of a shuffle's number."""
    return spread(number, lanes)


@kernel
def prepare(count: i64, bits: ptr[i64], matrix: ptr[f64], memory: ptr[f64]) -> i64:
    """Prepare a matrix in memory that has `room_of` it; return the bytes that it took."""
    prepared = cast(memory, Prepared)
    lanes: i64 = 0
    fixed: i64 = 0
    for k in range(count):
        if bits[k] < LANE_BITS:
            lanes |= 1 << bits[k]
        else:
            fixed |= 1 << (bits[k] - LANE_BITS)
    columns = 1 << count_ones(fixed)
    prepared.columns, prepared.shuffles = columns, 1 << count_ones(lanes)
    prepared.lanes, prepared.fixed, prepared.kept = lanes, fixed, 0
    tables = cast(memory + _PREPARED // 8, ptr[i64])
    prepared.offsets, prepared.starts = tables, tables + SLOTS
    start = cast(tables, ptr[f64]) + _TABLES // 8
    most = columns * columns * prepared.shuffles
    prepared.slots = cast(start, ptr[i64])
    prepared.coefficients = cast(start + (_rounded(8 * most) >> 3), ptr[vector])
    write_offsets(prepared, count, bits)
    entries: i64 = 0
    for row in range(columns):
        prepared.starts[row] = entries
        entries = write_row(prepared, count, bits, matrix, row, entries)
    prepared.starts[columns] = entries
    # Entries are few as a rule: what follows lies close behind them.
    slots = (_rounded(8 * most) >> 3) * 8
    return _PREPARED + _TABLES + slots + 64 * entries


@kernel
def write_offsets(prepared: Prepared, count: i64, bits: ptr[i64]) -> None:
    """Write where the columns lie."""
    for column in range(prepared.columns):
        place: i64 = 0
        offset: i64 = 0
        for k in range(count):
            bit = bits[count - 1 - k]
            if bit >= LANE_BITS:
                offset |= ((column >> place) & 1) << (bit - LANE_BITS)
                place += 1
        prepared.offsets[column] = offset


@kernel
def write_row(
    prepared: Prepared, count: i64, bits: ptr[i64], matrix: ptr[f64], row: i64, first: i64
) -> i64:
    """Write the entries of a row; return how many there are by then."""
    entries: i64 = first
    own = part_of(row, count, bits, 0)
    for column in range(prepared.columns):
        source = part_of(column, count, bits, 0)
        for shuffle_number in range(prepared.shuffles):
            pattern = lanes_of_shuffle(shuffle_number, prepared.lanes)
            coefficients = cast(prepared.coefficients + entries, ptr[stored])
            if write_coefficients(
                prepared, count, bits, matrix, own, source, pattern, coefficients
            ):
                prepared.slots[entries] = column * prepared.shuffles + shuffle_number
                entries += 1
    is_only = entries == first + 1
    if is_only and prepared.slots[first] == row * prepared.shuffles:
        numbers = cast(prepared.coefficients + first, ptr[stored])
        ones: i64 = 0
        for lane in static(range(LANES)):
            ones += 1 if numbers[lane] == 1.0 else 0
        if ones == LANES:
            prepared.kept = prepared.kept | (1 << row)
    return entries


@kernel
def write_coefficients(
    prepared: Prepared,
    count: i64,
    bits: ptr[i64],
    matrix: ptr[f64],
    row: i64,
    column: i64,
    pattern: i64,
    coefficients: ptr[stored],
) -> i1:
    """Write an entry's coefficients; whether one of them is not zero."""
    if prepared.lanes == 0:
        element = matrix[(row << count) | column]
        if element == 0.0:
            return False
        for lane in static(range(LANES)):
            coefficients[lane] = element
        return True
    some: i64 = 0
    for lane in range(LANES):
        here = row | part_of(lane, count, bits, 1)
        there = column | part_of(lane ^ pattern, count, bits, 1)
        element = matrix[(here << count) | there]
        coefficients[lane] = element
        some |= 0 if element == 0.0 else 1
    return some != 0


# --- applied --------------------------------------------------------------------------------------


@inline
def load_slots(
    prepared: Prepared, source: ptr[vector], base: i64, x: ptr[vector], width: int
) -> None:
    """Load all columns of some neighbouring vectors, shuffled in all ways."""
    shuffles, lanes = prepared.shuffles, prepared.lanes
    for column in range(prepared.columns):
        place = base + prepared.offsets[column]
        slot = x + column * shuffles * width
        for k in static(range(width)):
            slot[k] = source[place + k]
        if lanes != 0:
            filled: i64 = 1
            for lane in static(range(LANE_BITS)):
                if (lanes >> lane) & 1 == 1:
                    for k in range(filled * width):
                        slot[filled * width + k] = shuffle(slot[k], PARTNERS[lane])
                    filled <<= 1


@inline
def store_rows(
    prepared: Prepared, target: ptr[vector], base: i64, x: ptr[vector], width: int, copies: bool
) -> None:
    """Compute all rows of some neighbouring vectors."""
    for row in range(prepared.columns):
        place = base + prepared.offsets[row]
        if (prepared.kept >> row) & 1 == 0:
            sums = registers(vector, width)
            for k in static(range(width)):
                sums[k] = broadcast(0.0)
            entry: i64 = prepared.starts[row]
            end = prepared.starts[row + 1]
            while entry < end:
                a = prepared.coefficients[entry]
                slot = x + prepared.slots[entry] * width
                for k in static(range(width)):
                    sums[k] = sums[k] + a * slot[k]
                entry += 1
            for k in static(range(width)):
                target[place + k] = sums[k]
        elif copies:
            slot = x + row * prepared.shuffles * width
            for k in static(range(width)):
                target[place + k] = slot[k]


@inline
def apply_abreast(
    prepared: Prepared,
    source: ptr[vector],
    target: ptr[vector],
    first: i64,
    last: i64,
    width: int,
    copies: bool,
) -> None:
    """Apply a matrix to groups of `width` neighbouring vectors."""
    x = stack_array(vector, SLOTS * width)
    fixed = prepared.fixed | (width - 1)
    base: i64 = spread(first, ~fixed)
    for _ in range(last - first):
        load_slots(prepared, source, base, x, width)
        store_rows(prepared, target, base, x, width, copies)
        base = next_block(base, fixed)


@inline
def are_abreast(prepared: Prepared) -> i1:
    """Whether `ABREAST` vectors can be computed together."""
    return prepared.fixed & (ABREAST - 1) == 0


@inline
def groups_of(prepared: Prepared, count: i64) -> i64:
    """How many groups of vectors there are among `count` vectors."""
    groups = count >> count_ones(prepared.fixed)
    return groups >> ABREAST_BITS if are_abreast(prepared) and groups >= ABREAST else groups


@kernel
def apply_groups(
    prepared: Prepared, source: ptr[vector], target: ptr[vector], count: i64, first: i64, last: i64
) -> None:
    """Apply a matrix to some groups of the `count` vectors at `source`, to `target` or in place."""
    in_place = address(source) == address(target)
    if are_abreast(prepared) and count >> count_ones(prepared.fixed) >= ABREAST:
        if in_place:
            apply_abreast(prepared, source, target, first, last, ABREAST, False)
        else:
            apply_abreast(prepared, source, target, first, last, ABREAST, True)
    elif in_place:
        apply_abreast(prepared, source, target, first, last, 1, False)
    else:
        apply_abreast(prepared, source, target, first, last, 1, True)


@kernel
def apply_prepared(
    prepared: Prepared, source: ptr[vector], target: ptr[vector], count: i64
) -> None:
    """Apply a matrix to the `count` vectors at `source`, on this thread."""
    apply_groups(prepared, source, target, count, 0, groups_of(prepared, count))


class Pass(Record):
    """A matrix that is being applied by several threads."""

    prepared: Prepared
    source: ptr[vector]
    target: ptr[vector]
    count: i64


@kernel
def apply_part(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Apply it to some groups; `argument` is a `Pass`."""
    run = cast(argument, Pass)
    apply_groups(run.prepared, run.source, run.target, run.count, first, last)


SHARED_GROUPS = 1 << 8
"""Groups of vectors that a thread has at once."""
PARALLEL_VECTORS = 1 << 14
"""A loop over fewer takes less time than waking a thread."""


@kernel
def apply_to(prepared: Prepared, state: State, target: ptr[vector]) -> None:
    """Apply a matrix to a state, on all threads where it is large; the result goes to `target`."""
    count = 2 * state.blocks
    if count < PARALLEL_VECTORS:
        apply_prepared(prepared, state.amplitudes, target, count)
        return
    run = stack_record(Pass)
    run.prepared, run.source, run.target = prepared, state.amplitudes, target
    run.count = count
    groups = groups_of(prepared, count)
    run_parallel(code_of(apply_part), cast(run, ptr[f64]), groups, SHARED_GROUPS)
