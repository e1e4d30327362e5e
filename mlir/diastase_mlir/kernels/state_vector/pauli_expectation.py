"""Expectation value of a sum of Pauli words: one pass over the amplitudes for each distinct x.

In: terms as `pauli.read_terms` makes them, sorted by x. With S(x, z) = sum over i of
(-1)^parity(i & z) conj(psi[i]) psi[i ^ x] and coefficient a + ib, a term adds a Re S - b Im S.

* Half is enough: exchanging i and i ^ x conjugates a product and multiplies its sign by that of
  x & z. So either Re S or Im S vanishes (which: the parity of x & z), and in the other both halves
  are equal. Only blocks whose bit `gap`, the highest of x, is zero are visited; *places* count
  them, with that bit taken out, and `Word.z` is z for places.
* Terms whose x differ only inside of a chunk of blocks are added up chunk by chunk, so that a large
  state is read from memory once for all of them.
* Signs for many z at once: the products of a group of blocks are kept in a small buffer. For a few
  words their signs are applied one by one. For many, a Walsh-Hadamard transform of the buffer
  gives the sums for every z of the group; bits above the group give one sign for all of it.
"""

from diastase_mlir.kernels.language import (
    Record,
    cast,
    code_of,
    count_ones,
    derived,
    f64,
    horizontal_sum,
    i64,
    inline,
    kernel,
    lane_numbers,
    ptr,
    shuffle,
    size_of,
    stack_array,
    static,
    stored,
    vector,
    widen,
)
from diastase_mlir.kernels.state_vector.parallel import run_parallel
from diastase_mlir.kernels.state_vector.pauli import XORS, Term
from diastase_mlir.kernels.state_vector.records import LANE_BITS, LANE_MASK, LANES, State

GROUP_BITS = 6
GROUP = 1 << GROUP_BITS
"""Blocks whose products are kept: 4 KiB for each of real and imaginary parts."""
CHUNK_BITS = 12
CHUNK = 1 << CHUNK_BITS
"""Blocks that are visited for one x after the other: these and their partners fit the cache."""
MOST_PARTS = 64
MOST_ONE_BY_ONE = 4
"""More words than this, with one x, are worth a transform."""
LANE_SIGNS = derived(
    lambda lanes: [
        [1.0 - 2.0 * ((lane & z).bit_count() & 1) for lane in range(lanes)] for z in range(lanes)
    ],
    LANES,
)
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


@kernel
def same_x(terms: ptr[Term], count: i64, shift: i64) -> i64:
    """Return how many of the first terms agree in the bits of x above `shift`."""
    end: i64 = 1
    while end < count and terms[end].x >> shift == terms[0].x >> shift:
        end += 1
    return end


@kernel
def sum_for_x(
    state: State,
    x: i64,
    words: ptr[Word],
    count: i64,
    chunk: i64,
    places: i64,
    lane_signs: ptr[vector],
) -> f64:
    """Return the part of all words of one x and of a chunk of places, group by group."""
    gap = gap_of(x >> LANE_BITS)
    counts = stack_array(i64, 2)
    counts[0], counts[1] = 0, 0
    for k in range(count):
        odd = words[k].is_odd
        counts[odd] = counts[odd] + 1
    size: i64 = GROUP if places > GROUP else places
    products = stack_array(vector, 2 * GROUP)
    total: f64 = 0.0
    for group in range((places + GROUP - 1) >> GROUP_BITS):
        start = chunk * places + group * size
        fill_group(state, start, size, gap, x, products)
        for odd in static(range(2)):
            if counts[odd] > MOST_ONE_BY_ONE:
                transform(products + odd * GROUP, size)
        for k in range(count):
            word = words[k]
            value = sum_of_word(word, start, size, counts[word.is_odd], products, lane_signs)
            total += word.weight * value
    return total


class Terms(Record):
    """Terms whose x agree above the chunks, while they are added up."""

    state: State
    terms: ptr[Term]
    words: ptr[Word]
    count: i64
    lane_signs: ptr[vector]
    chunks: i64
    """How many chunks each part has."""
    halves_number: i64
    sums: ptr[f64]
    """The result of each part."""


@kernel
def sum_of_chunk(run: Terms, chunk: i64) -> f64:
    """Return the part of a chunk."""
    state, terms, words, count = run.state, run.terms, run.words, run.count
    blocks = state.blocks if state.blocks < CHUNK else CHUNK
    total: f64 = 0.0
    first: i64 = 0
    while first < count:
        x = terms[first].x
        end = first + same_x(terms + first, count - first, 0)
        places = blocks
        if run.halves_number == 0 and x >> LANE_BITS != 0:
            places = blocks >> 1
        signs = run.lane_signs
        total += sum_for_x(state, x, words + first, end - first, chunk, places, signs)
        first = end
    return total


@kernel
def sum_parts(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Add up parts `first` to `last`; `argument` is a `Terms`."""
    run = cast(argument, Terms)
    for part in range(first, last):
        total: f64 = 0.0
        for chunk in range(part * run.chunks, (part + 1) * run.chunks):
            total += sum_of_chunk(run, chunk)
        run.sums[part] = total


@kernel
def sum_in_chunks(
    state: State, terms: ptr[Term], count: i64, words: ptr[Word], lane_signs: ptr[vector]
) -> f64:
    """Return the part of terms whose x agree above the chunks, chunk by chunk.

    Chunks are added up in parts that do not depend on the number of threads.
    """
    blocks = state.blocks if state.blocks < CHUNK else CHUNK
    memory = stack_array(i64, size_of(Terms) // 8)
    sums = stack_array(f64, MOST_PARTS)
    run = cast(memory, Terms)
    run.state = state
    run.terms = terms
    run.words = words
    run.count = count
    run.lane_signs = lane_signs
    run.sums = sums
    first_gap = gap_of(terms[0].x >> LANE_BITS)
    # A gap above the chunks halves their number, one inside halves their places.
    halves_number = first_gap != NO_GAP and 1 << first_gap >= blocks
    run.halves_number = 1 if halves_number else 0
    all_blocks = state.blocks >> 1 if halves_number else state.blocks
    parts: i64 = (all_blocks + CHUNK - 1) >> CHUNK_BITS
    run.chunks = 1
    while parts > MOST_PARTS:
        parts >>= 1
        run.chunks = 2 * run.chunks
    run_parallel(code_of(sum_parts), cast(memory, ptr[f64]), parts, 1)
    total: f64 = 0.0
    for part in range(parts):
        total += sums[part]
    return total


@kernel
def expectation_of_terms(state: State, terms: ptr[Term], count: i64, words: ptr[Word]) -> f64:
    """Return <O> for sorted terms; `words` is room for as many."""
    lane_signs = stack_array(vector, LANES)
    for z in static(range(LANES)):
        lane_signs[z] = lane_numbers(LANE_SIGNS[z])
    for k in range(count):
        read_word(terms[k], gap_of(terms[k].x >> LANE_BITS), words[k])
    total: f64 = 0.0
    first: i64 = 0
    while first < count:
        end = first + same_x(terms + first, count - first, LANE_BITS + CHUNK_BITS)
        total += sum_in_chunks(state, terms + first, end - first, words + first, lane_signs)
        first = end
    return total
