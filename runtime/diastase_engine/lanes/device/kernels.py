"""What a GPU does for lane registers: gates, weights, probabilities and expectation values.

Amplitudes lie there as on the host, in groups of eight lanes (`lanes.records`), but each in its own
place: X and CNOT are applied as any gate. Threads next to each other have the lanes of a group,
then the next amplitudes of it, and so on. What is summed for each lane is summed by one block for
each group, whose threads are eight columns; halves of each column are added up.
"""

from typing import Annotated

from diastase_engine.lanes.records import MATRIX, WIDTH
from diastase_engine.language import *
from diastase_engine.state_vector.device.records import THREADS
from diastase_engine.state_vector.state.records import MAX_QUBITS, Term
from diastase_engine.state_vector.tiles.sweeps import next_block, spread

LANE_BITS = 3
LANE_MASK = WIDTH - 1
COLUMN = THREADS // WIDTH
"""Threads of a block that have the same lane."""
WEIGHTS = 4
"""Of each lane: both weights of a bit, and the real and imaginary part of the coherence."""


class LaneGate(Record):
    """Words of `sweep_lanes`: a matrix for each lane, where some bits have given values."""

    numbers: ptr[f64]
    matrices: ptr[f64]
    """As the host has them: eight vectors for each group."""
    form: i64
    """Which numbers of the matrices there are; the others are zero, whatever lies there."""
    qubits: i64
    pair_bits: i64
    """2^pair_bits pairs of each lane."""
    fixed: i64
    value: i64
    flips: i64
    threads: i64


class LaneSums(Record):
    """Words of the kernels that sum up for each lane."""

    numbers: ptr[f64]
    out: ptr[f64]
    qubits: i64
    bit: i64
    """Of `weigh_lanes`."""
    terms: ptr[f64]
    """`Term`s of `add_lane_words`."""
    n_terms: i64
    lanes: i64


class LaneOutcomes(Record):
    """Words of `add_outcomes`: probabilities by the values of some bits, a row for each lane."""

    numbers: ptr[f64]
    out: ptr[f64]
    qubits: i64
    count: i64
    """Of the bits."""
    fixed: i64
    """The bits, as a mask."""
    threads: i64
    bits: Annotated[ptr[i64], MAX_QUBITS]
    """The first of them is the most significant of an outcome."""


class LaneStart(Record):
    """Words of `begin_lanes_there`: zeros become |0...0> in each lane."""

    numbers: ptr[f64]
    qubits: i64
    lanes: i64


@inline
def place_there(qubits: i64, group: i64, index: i64, lane: i64) -> i64:
    """Where the real part of an amplitude lies; the imaginary one is `WIDTH` further."""
    return (((group << qubits) + index) << (LANE_BITS + 1)) | lane


@inline
def element(run: LaneGate, group: i64, lane: i64, k: int) -> f64:
    """A (static) number of the matrix of a lane."""
    place = ((group * MATRIX + k) << LANE_BITS) | lane
    return run.matrices[place] if (run.form >> k) & 1 == 1 else 0.0


@kernel
def begin_lanes_there(block: i64, run: LaneStart) -> None:
    """Set the first amplitude of each lane."""
    for thread in each_thread():
        lane = block * THREADS + thread
        if lane < run.lanes:
            run.numbers[place_there(run.qubits, lane >> LANE_BITS, 0, lane & LANE_MASK)] = 1.0


@kernel
def sweep_lanes(block: i64, run: LaneGate) -> None:
    """Multiply pairs of amplitudes by the lanes' matrices; see `lanes.sweeps`."""
    for thread in each_thread():
        number = block * THREADS + thread
        if number < run.threads:
            lane, rest = number & LANE_MASK, number >> LANE_BITS
            group = rest >> run.pair_bits
            first = spread(rest & ((1 << run.pair_bits) - 1), ~run.fixed) | run.value
            here = place_there(run.qubits, group, first, lane)
            there = place_there(run.qubits, group, first ^ run.flips, lane)
            x, y = run.numbers[here], run.numbers[here + WIDTH]
            u, v = run.numbers[there], run.numbers[there + WIDTH]
            a, b = element(run, group, lane, 0), element(run, group, lane, 1)
            c, d = element(run, group, lane, 2), element(run, group, lane, 3)
            run.numbers[here] = a * x - b * y + c * u - d * v
            run.numbers[here + WIDTH] = a * y + b * x + c * v + d * u
            a, b = element(run, group, lane, 4), element(run, group, lane, 5)
            c, d = element(run, group, lane, 6), element(run, group, lane, 7)
            run.numbers[there] = a * x - b * y + c * u - d * v
            run.numbers[there + WIDTH] = a * y + b * x + c * v + d * u


@inline
def add_up_columns(parts: ptr[f64]) -> None:
    """Add up what the threads of each lane have, in halves; the sums come first."""
    half: i64 = THREADS >> 1
    while half >= WIDTH:
        for thread in each_thread():
            if thread < half:
                parts[thread] = parts[thread] + parts[thread + half]
        half = half >> 1


@kernel
def weigh_lanes(group: i64, run: LaneSums) -> None:
    """Write the weights of a bit and its coherence in the lanes of a group; see `lanes.measure`."""
    zero, one = shared_array(f64, THREADS), shared_array(f64, THREADS)
    real, imaginary = shared_array(f64, THREADS), shared_array(f64, THREADS)
    bit = 1 << run.bit
    for thread in each_thread():
        lane = thread & LANE_MASK
        sums = registers(f64, WEIGHTS)
        for k in static(range(WEIGHTS)):
            sums[k] = 0.0
        for pair_number in range(thread >> LANE_BITS, 1 << (run.qubits - 1), COLUMN):
            first = spread(pair_number, ~bit)
            here = place_there(run.qubits, group, first, lane)
            there = place_there(run.qubits, group, first | bit, lane)
            x, y = run.numbers[here], run.numbers[here + WIDTH]
            u, v = run.numbers[there], run.numbers[there + WIDTH]
            sums[0] = sums[0] + (x * x + y * y)
            sums[1] = sums[1] + (u * u + v * v)
            sums[2] = sums[2] + (x * u + y * v)
            sums[3] = sums[3] + (y * u - x * v)
        zero[thread], one[thread] = sums[0], sums[1]
        real[thread], imaginary[thread] = sums[2], sums[3]
    add_up_columns(zero)
    add_up_columns(one)
    add_up_columns(real)
    add_up_columns(imaginary)
    for thread in each_thread():
        if thread < WIDTH:
            own = run.out + ((group * WEIGHTS) << LANE_BITS) + thread
            own[0], own[WIDTH] = zero[thread], one[thread]
            own[2 * WIDTH], own[3 * WIDTH] = real[thread], imaginary[thread]


@kernel
def add_lane_words(group: i64, run: LaneSums) -> None:
    """Write the expectation values of words in the lanes of a group; see `lanes.readout`."""
    parts = shared_array(f64, THREADS)
    for number in range(run.n_terms):
        for thread in each_thread():
            term = cast(run.terms, ptr[Term])[number]
            lane = thread & LANE_MASK
            total: f64 = 0.0
            for index in range(thread >> LANE_BITS, 1 << run.qubits, COLUMN):
                here = place_there(run.qubits, group, index, lane)
                there = place_there(run.qubits, group, index ^ term.x, lane)
                x, y = run.numbers[here], run.numbers[here + WIDTH]
                u, v = run.numbers[there], run.numbers[there + WIDTH]
                part = term.real * (x * u + y * v) - term.imaginary * (x * v - y * u)
                total += part if count_ones(index & term.z) & 1 == 0 else -part
            parts[thread] = total
        add_up_columns(parts)
        for thread in each_thread():
            if thread < WIDTH:
                run.out[number * run.lanes + (group << LANE_BITS) + thread] = parts[thread]


@kernel
def add_outcomes(block: i64, run: LaneOutcomes) -> None:
    """Write the probability of an outcome in a lane: each thread one of them."""
    for thread in each_thread():
        number = block * THREADS + thread
        if number < run.threads:
            lane, rest = number & LANE_MASK, number >> LANE_BITS
            group, outcome = rest >> run.count, rest & ((1 << run.count) - 1)
            value: i64 = 0
            for k in range(run.count):
                value |= ((outcome >> (run.count - 1 - k)) & 1) << run.bits[k]
            total: f64 = 0.0
            index: i64 = 0
            for _ in range(1 << (run.qubits - run.count)):
                here = place_there(run.qubits, group, index | value, lane)
                x, y = run.numbers[here], run.numbers[here + WIDTH]
                total += x * x + y * y
                index = next_block(index, run.fixed)
            run.out[(((group << LANE_BITS) | lane) << run.count) | outcome] = total
