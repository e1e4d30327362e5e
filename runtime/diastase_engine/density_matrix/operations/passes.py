"""A real matrix on at most four index bits, applied in one walk over the state.

Numbers are vectors of LANES neighbours: the low bits of an index are lanes, all others are blocks'.
In a group of blocks (all values of the matrix's block bits) the *sources* are the group's vectors,
and each of them again with the lanes exchanged by every setting of the matrix's lane bits. A row of
the result is a sum of sources times vectors of coefficients, of which only those are kept that are
not zero: so permutations, diagonals and matrices in blocks cost what they have.
"""

from typing import Annotated

from diastase_engine.density_matrix.state.digits import index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.observables.pauli import XORS
from diastase_engine.state_vector.state.parallel import PARALLEL_BLOCKS, is_interrupted
from diastase_engine.state_vector.state.records import LANE_BITS, LANES, MOST_LANE_BITS, State
from diastase_engine.threads.loops import run_parallel

MOST_BITS = 4
MOST_SOURCES = 1 << MOST_BITS
MOST_LANES = 1 << MOST_LANE_BITS
WIDTH = 4
"""Groups that are multiplied at once."""
_GRAIN = 1 << 9
"""Groups that a thread takes at once."""


class Pass(Record):
    """A matrix as it is applied."""

    state: State
    mask: i64
    """Bits of blocks that it changes."""
    rows: i64
    lanes: i64
    """How many lane bits it changes."""
    lane_bits: Annotated[ptr[i64], MOST_BITS]
    offsets: Annotated[ptr[i64], MOST_SOURCES]
    """Of the blocks of a group."""
    of_block: Annotated[ptr[i64], MOST_SOURCES]
    of_lane: Annotated[ptr[i64], MOST_LANES]
    """What each block of a group, and each lane, adds to the number of a row."""
    exchanges: Annotated[ptr[i64], MOST_SOURCES]
    """By which bits each setting of the lane bits exchanges lanes."""
    starts: Annotated[ptr[i64], MOST_SOURCES + 1]
    """Of each row, the first of its terms."""
    sources: Annotated[ptr[i64], MOST_SOURCES * MOST_SOURCES]
    """Of each term."""
    coefficients: ptr[vector]
    """Likewise."""


@inline
def exchange_lanes(numbers: vector, bit: i64) -> vector:
    """The vector with the lanes exchanged that differ in a bit."""
    result = registers(vector, 1)
    result[0] = numbers
    for k in static(range(LANE_BITS)):
        if bit == k:
            result[0] = shuffle(numbers, XORS[1 << k])
    return result[0]


@kernel
def divide_bits(run: Pass, count: i64, bits: ptr[i64]) -> None:
    """Fill what depends on the bits only: a row is of its block's and of its lane's part."""
    run.mask, run.rows, run.lanes = 0, 1, 0
    run.offsets[0], run.of_block[0], run.exchanges[0] = 0, 0, 0
    for lane in range(LANES):
        run.of_lane[lane] = 0
    for k in range(count):
        place, bit = 1 << (count - 1 - k), bits[k]
        if bit < LANE_BITS:
            for lane in range(LANES):
                if (lane >> bit) & 1 == 1:
                    run.of_lane[lane] = run.of_lane[lane] | place
            settings = 1 << run.lanes
            for j in range(settings):
                run.exchanges[settings | j] = run.exchanges[j] | (1 << bit)
            run.lane_bits[run.lanes] = bit
            run.lanes += 1
        else:
            block = 1 << (bit - LANE_BITS)
            run.mask |= block
            for j in range(run.rows):
                run.offsets[run.rows | j] = run.offsets[j] | block
                run.of_block[run.rows | j] = run.of_block[j] | place
            run.rows = 2 * run.rows


@kernel
def prepare_pass(run: Pass, count: i64, bits: ptr[i64], matrix: ptr[f64]) -> None:
    """Fill a pass, whose coefficients have memory, for a matrix of 2^count rows."""
    divide_bits(run, count, bits)
    size = 1 << count
    numbers = cast(run.coefficients, ptr[stored])
    terms: i64 = 0
    settings = 1 << run.lanes
    for row in range(run.rows):
        run.starts[row] = terms
        for column in range(run.rows):
            for j in range(settings):
                found: i64 = 0
                for lane in range(LANES):
                    line = matrix + size * (run.of_block[row] | run.of_lane[lane])
                    exchanged = run.of_lane[lane ^ run.exchanges[j]]
                    number = line[run.of_block[column] | exchanged]
                    numbers[LANES * terms + lane] = number
                    if number != 0.0:
                        found = 1
                if found != 0:
                    run.sources[terms] = column * settings + j
                    terms += 1
    run.starts[run.rows] = terms


@inline
def multiply_groups(run: Pass, bases: ptr[i64], sources: ptr[vector], width: int) -> None:
    """Apply it to so many (static) groups at once, which share what is read of each term."""
    numbers, lanes, coefficients = run.state.amplitudes, run.lanes, run.coefficients
    for column in range(run.rows):
        source = sources + width * (column << lanes)
        for k in static(range(width)):
            source[k] = numbers[bases[k] + run.offsets[column]]
        for i in range(lanes):
            for j in range(width << i):
                source[(width << i) + j] = exchange_lanes(source[j], run.lane_bits[i])
    term: i64 = 0
    totals = registers(vector, width)
    for row in range(run.rows):
        for k in static(range(width)):
            totals[k] = broadcast(0.0)
        end = run.starts[row + 1]
        while term < end:
            coefficient, source = coefficients[term], sources + width * run.sources[term]
            for k in static(range(width)):
                totals[k] = totals[k] + coefficient * source[k]
            term += 1
        for k in static(range(width)):
            numbers[bases[k] + run.offsets[row]] = totals[k]


@kernel
def run_pass(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Apply it to some groups; `argument` is a `Pass`."""
    run = cast(argument, Pass)
    mask = run.mask
    sources, bases = stack_array(vector, WIDTH * MOST_SOURCES), stack_array(i64, WIDTH)
    group: i64 = 0
    rest: i64 = first
    for k in range(64):
        if (mask >> k) & 1 == 0:
            group |= (rest & 1) << k
            rest = rest >> 1
    done: i64 = first
    while done + WIDTH <= last:
        for k in static(range(WIDTH)):
            bases[k] = group
            group = ((group | mask) + 1) & ~mask
        multiply_groups(run, bases, sources, WIDTH)
        done += WIDTH
    while done < last:
        bases[0] = group
        group = ((group | mask) + 1) & ~mask
        multiply_groups(run, bases, sources, 1)
        done += 1


@kernel
def apply_in_pass(state: State, count: i64, bits: ptr[i64], matrix: ptr[f64]) -> None:
    """Apply a matrix on at most `MOST_BITS` bits."""
    if is_interrupted(state):
        return
    run = stack_record(Pass)
    run.state = state
    run.coefficients = stack_array(vector, MOST_SOURCES * MOST_SOURCES)
    prepare_pass(run, count, bits, matrix)
    state.applied += 1
    state.stages += 1
    high = index_bits(state) - LANE_BITS
    vectors = 1 << high if high > 0 else 1
    groups = vectors >> count_ones(run.mask)
    if state.blocks < PARALLEL_BLOCKS:
        run_pass(cast(run, ptr[f64]), 0, groups, 0)
    else:
        run_parallel(code_of(run_pass), cast(run, ptr[f64]), groups, _GRAIN)
