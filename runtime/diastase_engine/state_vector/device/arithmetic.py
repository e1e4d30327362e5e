"""Complex numbers and sums in kernels of grids."""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, LANES

THREADS = setting("threads")
"""Of a block: those of `records` in what is built for a GPU, fewer in tests."""


@inline
def position(index: i64) -> i64:
    """Where the real part of an amplitude lies; the imaginary part is `LANES` further."""
    return ((index >> LANE_BITS) << (LANE_BITS + 1)) | (index & LANE_MASK)


@inline
def amplitude(numbers: ptr[stored], index: i64) -> pair:
    """The amplitude of this index."""
    place = position(index)
    return pair_of(numbers[place], numbers[place + LANES])


@inline
def put(numbers: ptr[stored], index: i64, value: pair) -> None:
    """Write the amplitude of this index."""
    place = position(index)
    numbers[place] = lane_of(value, 0)
    numbers[place + LANES] = lane_of(value, 1)


@inline
def coefficient(numbers: ptr[stored], number: int) -> pair:
    """One of a row of complex numbers."""
    return pair_of(numbers[2 * number], numbers[2 * number + 1])


@inline
def times(a: pair, z: pair) -> pair:
    """Product of complex numbers."""
    turned = shuffle(z, [1, 0]) * pair_of(-1.0, 1.0)
    return shuffle(a, [0, 0]) * z + shuffle(a, [1, 1]) * turned


@inline
def squared(z: pair) -> f64:
    """Squared magnitude."""
    x, y = lane_of(z, 0), lane_of(z, 1)
    return x * x + y * y


@inline
def add_up_apart(parts: ptr[f64], width: i64) -> None:
    """Add up a number of each thread, in halves, for each group of `width` threads.

    The sum is that of the group's first thread; the width is a power of two.
    """
    half: i64 = width >> 1
    while half > 0:
        for thread in each_thread():
            if thread & (width - 1) < half:
                parts[thread] = parts[thread] + parts[thread + half]
        half = half >> 1


@inline
def add_up(parts: ptr[f64]) -> None:
    """The same for all threads of the block; the sum is the first."""
    add_up_apart(parts, THREADS)


@inline
def write_sums(parts: ptr[f64], others: ptr[f64], sums: ptr[f64]) -> None:
    """Add up two numbers of each thread, and write both sums."""
    add_up(parts)
    add_up(others)
    for thread in each_thread():
        if thread == 0:
            sums[0], sums[1] = parts[0], others[0]
