"""Groups of amplitudes on a GPU: wires are given amplitudes, or projected onto a vector.

In a group these wires take all their values, the others stand still. Values have the first wire as
the most significant; `masks` has the bit of the state for each bit of a value, the lowest first.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import add_up_apart, amplitude, put
from diastase_engine.state_vector.device.records import THREAD_BITS, THREADS
from diastase_engine.state_vector.tiles.sweeps import spread


class Groups(Record):
    """Words of `give_amplitudes` and `project`."""

    numbers: ptr[stored]
    vector: ptr[f64]
    """Two numbers for each value, from the first one on."""
    masks: ptr[i64]
    mask: i64
    """All of these."""
    group_bits: i64
    """Of the numbers of groups."""
    first: i64
    values: i64
    """How many values there are, in `give_amplitudes` from the first one on."""
    width_bits: i64
    """Of `project`: how many bits the number of a group's threads has."""


@inline
def place_of(masks: ptr[i64], origin: i64, value: i64) -> i64:
    """Where a value of a group is."""
    place: i64 = origin
    rest: i64 = value
    while rest != 0:
        place |= masks[count_trailing_zeros(rest)]
        rest &= rest - 1
    return place


@kernel
def give_amplitudes(block: i64, run: Groups) -> None:
    """Give each value the amplitude of zero in its group times its number in the vector.

    Zero itself has a launch of its own, the last one; where its amplitude is zero, all stay.
    """
    for thread in each_thread():
        number = block * THREADS + thread
        index = number >> run.group_bits
        if index < run.values:
            origin = spread(number & ((1 << run.group_bits) - 1), ~run.mask)
            before = amplitude(run.numbers, origin)
            x, y = lane_of(before, 0), lane_of(before, 1)
            if x != 0.0 or y != 0.0:
                a, b = run.vector[2 * index], run.vector[2 * index + 1]
                place = place_of(run.masks, origin, run.first + index)
                put(run.numbers, place, pair_of(x * a - y * b, x * b + y * a))


@kernel
def project(block: i64, run: Groups) -> None:
    """Replace each group by the vector times its inner product with the group."""
    real, imaginary = shared_array(f64, THREADS), shared_array(f64, THREADS)
    width = 1 << run.width_bits
    for thread in each_thread():
        sums = registers(f64, 2)
        sums[0], sums[1] = 0.0, 0.0
        group = (block << (THREAD_BITS - run.width_bits)) | (thread >> run.width_bits)
        if group >> run.group_bits == 0:
            origin = spread(group, ~run.mask)
            for value in range(thread & (width - 1), run.values, width):
                number = amplitude(run.numbers, place_of(run.masks, origin, value))
                x, y = lane_of(number, 0), lane_of(number, 1)
                a, b = run.vector[2 * value], run.vector[2 * value + 1]
                sums[0], sums[1] = sums[0] + (a * x + b * y), sums[1] + (a * y - b * x)
        real[thread], imaginary[thread] = sums[0], sums[1]
    add_up_apart(real, width)
    add_up_apart(imaginary, width)
    for thread in each_thread():
        group = (block << (THREAD_BITS - run.width_bits)) | (thread >> run.width_bits)
        if group >> run.group_bits == 0:
            origin = spread(group, ~run.mask)
            x, y = real[thread & ~(width - 1)], imaginary[thread & ~(width - 1)]
            for value in range(thread & (width - 1), run.values, width):
                a, b = run.vector[2 * value], run.vector[2 * value + 1]
                place = place_of(run.masks, origin, value)
                put(run.numbers, place, pair_of(a * x - b * y, a * y + b * x))
