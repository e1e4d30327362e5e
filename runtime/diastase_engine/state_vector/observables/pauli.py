"""Expectation and variance of a sum of Pauli words, in one sweep over the amplitudes.

A word P acts as `(P psi)[i] = i^q (-1)^parity(i & z) psi[i ^ x]`: each letter adds itself to the
masks x (X and Y) and z (Z and Y) and changes the phase. A word may have a wire several times, as
computed wires may turn out equal. Its product may be i times a word; the sum of these must vanish.

For every block, (O psi) is summed over the terms, sorted by x: terms with equal x share the load
of the partner block. Signs within a block are vectors made once for each term; between blocks they
are the parity of the block bits.
"""

from diastase_engine.call_context import OVERLAPPING_WIRES, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.device.sums import moments_there
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.queue import apply_waiting, flush_to_read
from diastase_engine.state_vector.state.checks import bit_of, cannot_run
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    State,
    Term,
    free,
)
from diastase_runtime.gate_table import PAULI_CODES

summed_there = if_gpu(moments_there)

PAULI_X, PAULI_Z = PAULI_CODES["X"], PAULI_CODES["Z"]
ROUNDING = 1e-12
"""Sums of numbers of magnitude 1 that are smaller than this are zero."""
XORS = derived(
    lambda lanes: [[lane ^ mask for lane in range(lanes)] for mask in range(lanes)], LANES
)


@kernel
def read_term(
    context: CallContext,
    state: State,
    site: i64,
    term: Term,
    coefficient: f64,
    count: i64,
    codes: ptr[i64],
    wires: ptr[i64],
) -> i1:
    """Set a term from its letters; false after an error."""
    x: i64 = 0
    z: i64 = 0
    quarter: i64 = 0
    for k in range(count):
        bit = bit_of(context, state, site, wires[k])
        if bit < 0:
            return False
        letter_x = 0 if codes[k] == PAULI_Z else 1
        letter_z = 0 if codes[k] == PAULI_X else 1
        # Y is -i ZX; the Z of a letter changes sign when it passes an X to its left.
        quarter += 3 * letter_x * letter_z + 2 * letter_z * ((x >> bit) & 1)
        x ^= letter_x << bit
        z ^= letter_z << bit
    signed = coefficient if quarter & 2 == 0 else -coefficient
    term.x, term.z = x, z
    term.real = signed if quarter & 1 == 0 else 0.0
    term.imaginary = signed if quarter & 1 == 1 else 0.0
    return True


@inline
def is_turned(term: Term) -> i1:
    """Whether a word is not Hermitian, but i times a Hermitian one."""
    has_imaginary = 0 if term.imaginary == 0.0 else 1
    return (has_imaginary + count_ones(term.x & term.z)) & 1 == 1 and (
        term.real != 0.0 or term.imaginary != 0.0
    )


@kernel
def is_hermitian_with(terms: ptr[Term], count: i64, k: i64) -> i1:
    """Whether the words that are i times the letters of word `k` add up to nothing."""
    total: f64 = 0.0
    size: f64 = 0.0
    for other in range(count):
        same = terms[other].x == terms[k].x and terms[other].z == terms[k].z
        if same and is_turned(terms[other]):
            part = terms[other].real + terms[other].imaginary  # one of them is zero
            total += part
            size += part if part > 0.0 else -part
    magnitude = total if total > 0.0 else -total
    return magnitude <= ROUNDING * size


@kernel
def repeated(count: i64, wires: ptr[i64]) -> i64:
    """Find a wire that occurs twice; there is one."""
    for k in range(count):
        for earlier in range(k):
            if wires[earlier] == wires[k]:
                return wires[k]
    return -1


@kernel
def swap_terms(first: Term, second: Term) -> None:
    """Exchange two terms."""
    x, z, real, imaginary = first.x, first.z, first.real, first.imaginary
    first.x, first.z = second.x, second.z
    first.real, first.imaginary = second.real, second.imaginary
    second.x, second.z, second.real, second.imaginary = x, z, real, imaginary


@kernel
def sift_down(terms: ptr[Term], start: i64, count: i64) -> None:
    """Heapsort's step: let a term sink until no larger one is below it."""
    root: i64 = start
    while 2 * root + 1 < count:
        child: i64 = 2 * root + 1
        if child + 1 < count and terms[child].x < terms[child + 1].x:
            child += 1
        if terms[root].x >= terms[child].x:
            return
        swap_terms(terms[root], terms[child])
        root = child


@kernel
def sort_terms(terms: ptr[Term], count: i64) -> None:
    """Heapsort by `x`: no memory, and no bad case for Hamiltonians of many thousand terms."""
    for k in range(count >> 1):
        sift_down(terms, (count >> 1) - 1 - k, count)
    for k in range(count - 1):
        end = count - 1 - k
        swap_terms(terms[0], terms[end])
        sift_down(terms, 0, end)


@kernel
def fill_weights(terms: ptr[Term], count: i64, weights: ptr[stored]) -> None:
    """For each term two vectors: its coefficient with the signs of the lanes."""
    for k in range(count):
        term = terms[k]
        for lane in static(range(LANES)):
            odd = count_ones(term.z & lane) & 1 == 1
            weights[2 * LANES * k + lane] = -term.real if odd else term.real
            weights[2 * LANES * k + LANES + lane] = -term.imaginary if odd else term.imaginary


@inline
def apply_terms(
    state: State, terms: ptr[Term], count: i64, weights: ptr[vector], block: i64, out: ptr[vector]
) -> None:
    """Write a block of O psi."""
    real = broadcast(0.0)
    imaginary = broadcast(0.0)
    k: i64 = 0
    while k < count:
        x = terms[k].x
        a = broadcast(0.0)
        b = broadcast(0.0)
        while k < count and terms[k].x == x:
            odd = count_ones(block & (terms[k].z >> LANE_BITS)) & 1
            sign = to_float(1 - 2 * odd)
            a += weights[2 * k] * sign
            b += weights[2 * k + 1] * sign
            k += 1
        partner = 2 * (block ^ (x >> LANE_BITS))
        u, w = state.amplitudes[partner], state.amplitudes[partner + 1]
        for lanes in static(range(1, LANES)):
            if x & LANE_MASK == lanes:
                u, w = shuffle(u, XORS[lanes]), shuffle(w, XORS[lanes])
        real += a * u - b * w
        imaginary += a * w + b * u
    out[0], out[1] = real, imaginary


@kernel
def sum_moments(
    state: State, terms: ptr[Term], count: i64, weights: ptr[vector], moments: ptr[f64]
) -> None:
    """Write <O> and <O O>."""
    mean = broadcast_wide(0.0)
    square = broadcast_wide(0.0)
    result = stack_array(vector, 2)
    for block in range(state.blocks):
        apply_terms(state, terms, count, weights, block, result)
        real, imaginary = result[0], result[1]
        x, y = state.amplitudes[2 * block], state.amplitudes[2 * block + 1]
        mean += widen(x * real + y * imaginary)
        square += widen(real * real + imaginary * imaginary)
    moments[0], moments[1] = horizontal_sum(mean), horizontal_sum(square)


@inline
def terms_of(memory: ptr[f64], count: i64) -> ptr[Term]:
    """Return the terms in the memory that `read_terms` made."""
    return cast(memory + 16 * count, ptr[Term])


@kernel
def read_terms(
    context: CallContext,
    state: State,
    site: i64,
    count: i64,
    coefficients: ptr[f64],
    offsets: ptr[i64],
    codes: ptr[i64],
    wires: ptr[i64],
) -> ptr[f64]:
    """Memory of the weights and then the terms of a sum; null of an empty one or after an error."""
    if cannot_run(context, state) or count < 1:
        return null(ptr[f64])
    memory = allocate(context, site, count * (2 * size_of(vector) + size_of(Term)))
    if is_null(memory):
        return memory
    terms = terms_of(memory, count)
    for k in range(count):
        start = offsets[k]
        length = offsets[k + 1] - start
        letters, places = codes + start, wires + start
        if not read_term(context, state, site, terms[k], coefficients[k], length, letters, places):
            free(memory)
            return null(ptr[f64])
    for k in range(count):
        if is_turned(terms[k]) and not is_hermitian_with(terms, count, k):
            start = offsets[k]
            wire = repeated(offsets[k + 1] - start, wires + start)
            fail(context, OVERLAPPING_WIRES, site, wire, 0)
            free(memory)
            return null(ptr[f64])
    sort_terms(terms, count)
    fill_weights(terms, count, cast(memory, ptr[stored]))
    return memory


@kernel
def pauli_moments(
    context: CallContext,
    state: State,
    site: i64,
    count: i64,
    coefficients: ptr[f64],
    offsets: ptr[i64],
    codes: ptr[i64],
    wires: ptr[i64],
    moments: ptr[f64],
) -> None:
    """Write <O> and <O O> of a sum of words, zeros after an error."""
    moments[0], moments[1] = 0.0, 0.0
    memory = read_terms(context, state, site, count, coefficients, offsets, codes, wires)
    if is_null(memory):
        return
    terms = terms_of(memory, count)
    if GPU == 1:
        apply_waiting(state)
        summed_there(state, terms, count, moments)
    else:
        flush_to_read(state)
        sum_moments(state, terms, count, cast(memory, ptr[vector]), moments)
    free(memory)
