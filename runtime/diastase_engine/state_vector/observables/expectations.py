"""Expectation values and variances of Hermitian observables, from their first two moments.

In: a matrix, or terms as `pauli.read_terms` makes them, sorted by x. With S(x, z) = sum over i of
(-1)^parity(i & z) conj(psi[i]) psi[i ^ x] and coefficient a + ib, a term adds a Re S - b Im S; one
pass over half of the amplitudes for each distinct x finds S for many z at once (`pauli_products`).

Terms whose x differ only inside of a chunk of blocks are added up chunk by chunk, so that a large
state is read from memory once for all of them.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU
from diastase_engine.state_vector.gates.dense import matrix_moments
from diastase_engine.state_vector.observables.pauli import Term, pauli_moments, read_terms, terms_of
from diastase_engine.state_vector.observables.pauli_products import (
    GROUP,
    GROUP_BITS,
    LANE_SIGNS,
    MOST_ONE_BY_ONE,
    NO_GAP,
    Word,
    fill_group,
    gap_of,
    read_word,
    sum_of_word,
    transform,
)
from diastase_engine.state_vector.queue.memory import free
from diastase_engine.state_vector.queue.queue import flush
from diastase_engine.state_vector.state.records import LANE_BITS, LANES, State
from diastase_engine.threads.loops import run_parallel

CHUNK_BITS = 12

CHUNK = 1 << CHUNK_BITS
"""Blocks that are visited for one x after the other: these and their partners fit the cache."""

MOST_PARTS = 64


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
    run = stack_record(Terms)
    sums = stack_array(f64, MOST_PARTS)
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
    run_parallel(code_of(sum_parts), cast(run, ptr[f64]), parts, 1)
    total: f64 = 0.0
    for part in range(parts):
        total += sums[part]
    return total


@kernel
def mean_of_terms(state: State, memory: ptr[f64], count: i64) -> f64:
    """Return <O> of what `read_terms` made; nothing waits."""
    terms = terms_of(memory, count)
    # The weights that lie before the terms are for sums that are applied.
    words = cast(memory, ptr[Word])
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


@kernel
def expval_pauli(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> f64:
    """Return expectation value of a sum of Pauli words."""
    if GPU == 1:
        moments = stack_array(f64, 2)
        pauli_moments(
            context, state, site, n_terms, coefficients, term_offsets, pauli_codes, wires, moments
        )
        return moments[0]
    memory = read_terms(
        context, state, site, n_terms, coefficients, term_offsets, pauli_codes, wires
    )
    if is_null(memory):
        return 0.0
    flush(state)
    mean = mean_of_terms(state, memory, n_terms)
    free(memory)
    return mean


@kernel
def var_pauli(
    context: CallContext,
    state: State,
    site: i64,
    n_terms: i64,
    coefficients: ptr[f64],
    term_offsets: ptr[i64],
    pauli_codes: ptr[i64],
    wires: ptr[i64],
) -> f64:
    """Variance of a sum of Pauli words."""
    moments = stack_array(f64, 2)
    pauli_moments(
        context, state, site, n_terms, coefficients, term_offsets, pauli_codes, wires, moments
    )
    return moments[1] - moments[0] * moments[0]


@kernel
def expval_matrix(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
) -> f64:
    """Return expectation value of a Hermitian matrix on some wires."""
    moments = stack_array(f64, 2)
    matrix_moments(context, state, site, n_wires, wires, matrix, moments)
    return moments[0]


@kernel
def var_matrix(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
) -> f64:
    """Variance of a Hermitian matrix on some wires."""
    moments = stack_array(f64, 2)
    matrix_moments(context, state, site, n_wires, wires, matrix, moments)
    return moments[1] - moments[0] * moments[0]
