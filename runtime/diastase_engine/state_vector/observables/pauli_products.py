"""Sums of signed products of amplitudes for many Pauli words at once: S(x, z) of `expectations`.

Half of the amplitudes is enough: exchanging i and i ^ x conjugates a product and multiplies its
sign by that of x & z. So either Re S or Im S vanishes (which: the parity of x & z), and in the
other both halves are equal. Only blocks whose bit `gap`, the highest of x, is zero are visited;
*places* count them, with that bit taken out, and `Word.z` is z for places.

The products conj(psi[i]) psi[i ^ x] of a group of blocks are kept in a small buffer. For a few
words their signs are applied one by one. For many, a Walsh-Hadamard transform of the buffer gives
the sums for every z of the group; bits above the group give one sign for all of it.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.observables.pauli import XORS, Term
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, LANES, State

NO_GAP = 62


class Word(Record):
    """A term, for one x."""

    z: i64
    """On places: lanes, then blocks."""
    is_odd: i64
    """Whether it needs the imaginary parts of the products."""
    weight: f64


@inline
def block_at(place: i64, gap: i64) -> i64:
    """Return the block of a place."""
    return ((place >> gap) << (gap + 1)) | (place & ((1 << gap) - 1))


@kernel
def gap_of(flip: i64) -> i64:
    """Return the highest bit of the block part of x, or a bit that no block has."""
    if flip == 0:
        return NO_GAP
    gap: i64 = 0
    while flip >> gap > 1:
        gap += 1
    return gap


@kernel
def read_word(term: Term, gap: i64, word: Word) -> None:
    """Prepare a term."""
    blocks = term.z >> LANE_BITS
    low = blocks & ((1 << gap) - 1)
    word.z = (((blocks >> (gap + 1)) << gap | low) << LANE_BITS) | (term.z & LANE_MASK)
    word.is_odd = count_ones(term.x & term.z) & 1
    both_halves = 1.0 if gap == NO_GAP else 2.0
    word.weight = both_halves * (term.real if word.is_odd == 0 else -term.imaginary)


GROUP_BITS = 6

GROUP = 1 << GROUP_BITS
"""Blocks whose products are kept: 4 KiB for each of real and imaginary parts."""

MOST_ONE_BY_ONE = 4
"""More words than this, with one x, are worth a transform."""

LANE_SIGNS = derived(
    lambda lanes: [
        [1.0 - 2.0 * ((lane & z).bit_count() & 1) for lane in range(lanes)] for z in range(lanes)
    ],
    LANES,
)


@inline
def write_products(
    state: State,
    start: i64,
    size: i64,
    gap: i64,
    flip: i64,
    lanes: list[int],
    products: ptr[vector],
) -> None:
    """Fill a group, for the (static) order in which x leaves the lanes."""
    for k in range(size):
        block = block_at(start + k, gap)
        partner = 2 * (block ^ flip)
        u, w = state.amplitudes[2 * block], state.amplitudes[2 * block + 1]
        x = shuffle(state.amplitudes[partner], lanes)
        y = shuffle(state.amplitudes[partner + 1], lanes)
        products[k] = u * x + w * y
        products[GROUP + k] = u * y - w * x


@kernel
def fill_group(
    state: State, start: i64, size: i64, gap: i64, x: i64, products: ptr[vector]
) -> None:
    """Write conj(psi[i]) psi[i ^ x] for the blocks of a group, imaginary parts after real ones."""
    for lanes in static(range(LANES)):
        if x & LANE_MASK == lanes:
            write_products(state, start, size, gap, x >> LANE_BITS, XORS[lanes], products)


@inline
def exchange_sums(buffer: ptr[vector], first: i64, second: i64) -> None:
    """Replace two elements by their sum and their difference."""
    a, b = buffer[first], buffer[second]
    buffer[first] = a + b
    buffer[second] = a - b


@kernel
def transform(buffer: ptr[vector], size: i64) -> None:
    """Walsh and Hadamard: element z becomes the sum over all k of (-1)^parity(k & z) element k."""
    stride: i64 = 1
    while stride < size:
        first: i64 = 0
        for _ in range(size >> 1):
            exchange_sums(buffer, first, first + stride)
            first = ((first | stride) + 1) & ~stride
        stride = 2 * stride
    for k in range(size):
        v = buffer[k]
        for bit in static(range(LANE_BITS)):
            v = v * lane_numbers(LANE_SIGNS[1 << bit]) + shuffle(v, XORS[1 << bit])
        buffer[k] = v


@kernel
def signed_sum(buffer: ptr[vector], size: i64, z: i64, lane_signs: ptr[vector]) -> f64:
    """Return the same sum for one z, from a buffer that was not transformed."""
    signs = stack_array(f64, 2)
    signs[0], signs[1] = 1.0, -1.0
    blocks = z >> LANE_BITS
    total = widen(buffer[0])
    for k in range(1, size):
        total += widen(buffer[k]) * signs[count_ones(k & blocks) & 1]
    return horizontal_sum(total * widen(lane_signs[z & LANE_MASK]))


@inline
def sum_of_word(
    word: Word, start: i64, size: i64, count: i64, products: ptr[vector], lane_signs: ptr[vector]
) -> f64:
    """Return the sum over a group, which is transformed if `count` says that it was worth it."""
    inside = word.z & ((size << LANE_BITS) - 1)
    buffer = products + GROUP * word.is_odd
    value: f64 = 0.0
    if count > MOST_ONE_BY_ONE:
        value = cast(buffer, ptr[stored])[inside]
    else:
        value = signed_sum(buffer, size, inside, lane_signs)
    odd = count_ones((word.z >> LANE_BITS) & start) & 1
    return -value if odd == 1 else value
