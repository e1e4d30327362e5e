"""A sum of Pauli words applied to a state and added to another: the seed of many sweeps back.

Groups of blocks come one after the other, on all threads. For each x of the words (`pauli`), the
coefficients of a group's blocks are made first: one vector for all of them where no z has bits in
the group, else one for each block. Those of many words are a Walsh-Hadamard transform of their
weights, as the sums of `pauli_products` are of the amplitudes' products.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.device.linear_algebra import add_applied_there
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.observables.linear_algebra import can_meet, can_meet_there
from diastase_engine.state_vector.observables.pauli import XORS, Term, read_terms, terms_of
from diastase_engine.state_vector.observables.pauli_products import (
    GROUP,
    GROUP_BITS,
    MOST_ONE_BY_ONE,
    transform,
)
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, LANES, State, free
from diastase_engine.threads.loops import run_parallel

both_there, added_there = if_gpu(can_meet_there), if_gpu(add_applied_there)

TOGETHER = 4
"""Groups that a thread takes at once."""


class AppliedSum(Record):
    """A sum that is being applied."""

    target: ptr[vector]
    source: ptr[vector]
    terms: ptr[Term]
    weights: ptr[vector]
    """For each term two vectors, real and imaginary parts with the signs of the lanes."""
    count: i64
    blocks: i64
    """Of a group."""


class SameX(Record):
    """Words of one x, while they are applied to a group."""

    x: i64
    first: i64
    end: i64
    start: i64
    """The group's first block."""
    step: i64
    """0 where all blocks have the same coefficients, else 1."""
    has_imaginary: i64
    coefficients: ptr[vector]
    """Real parts for each block of a group, and then imaginary ones."""


@inline
def sign_of(block: i64, z: i64) -> f64:
    """1 or -1."""
    return to_float(1 - 2 * (count_ones(block & z) & 1))


@kernel
def add_one_by_one(run: AppliedSum, words: SameX, k: i64) -> None:
    """Write the coefficients of a block of the group."""
    a, b = broadcast(0.0), broadcast(0.0)
    for index in range(words.first, words.end):
        sign = sign_of(words.start + k, run.terms[index].z >> LANE_BITS)
        a += run.weights[2 * index] * sign
        b += run.weights[2 * index + 1] * sign
    words.coefficients[k], words.coefficients[GROUP + k] = a, b


@kernel
def add_transformed(run: AppliedSum, words: SameX) -> None:
    """Write the coefficients of all blocks of the group."""
    size = run.blocks
    for part in static(range(2)):
        buffer = words.coefficients + part * GROUP
        for k in range(size):
            buffer[k] = broadcast(0.0)
        if part == 0 or words.has_imaginary != 0:
            for index in range(words.first, words.end):
                term = run.terms[index]
                blocks = term.z >> LANE_BITS
                place = (blocks & (size - 1)) << LANE_BITS | (term.z & LANE_MASK)
                number = term.real if part == 0 else term.imaginary
                sums = cast(buffer, ptr[stored])
                sums[place] = sums[place] + number * sign_of(words.start, blocks)
            transform(buffer, size)


@kernel
def set_coefficients(run: AppliedSum, words: SameX) -> None:
    """Write the coefficients of the words in a group."""
    inside: i64 = 0
    words.has_imaginary = 0
    for index in range(words.first, words.end):
        inside |= (run.terms[index].z >> LANE_BITS) & (run.blocks - 1)
        if run.terms[index].imaginary != 0.0:
            words.has_imaginary = 1
    words.step = 0 if inside == 0 else 1
    if inside == 0:
        add_one_by_one(run, words, 0)
    elif words.end - words.first > MOST_ONE_BY_ONE:
        add_transformed(run, words)
    else:
        for k in range(run.blocks):
            add_one_by_one(run, words, k)


@inline
def add_shuffled(
    run: AppliedSum, words: SameX, sums: ptr[vector], lanes: list[int], imaginary: bool
) -> None:
    """Add what a group gets, for the (static) order in which x leaves the lanes."""
    source, start, flip, step = run.source, words.start, words.x >> LANE_BITS, words.step
    real_parts, imaginary_parts = words.coefficients, words.coefficients + GROUP
    for k in range(run.blocks):
        partner = 2 * ((start + k) ^ flip)
        a = real_parts[k * step]
        u, w = shuffle(source[partner], lanes), shuffle(source[partner + 1], lanes)
        if imaginary:
            b = imaginary_parts[k * step]
            sums[2 * k] = sums[2 * k] + a * u - b * w
            sums[2 * k + 1] = sums[2 * k + 1] + a * w + b * u
        else:
            sums[2 * k], sums[2 * k + 1] = sums[2 * k] + a * u, sums[2 * k + 1] + a * w


@kernel
def add_words(run: AppliedSum, words: SameX, sums: ptr[vector]) -> None:
    """Add what a group gets from all words of an x."""
    set_coefficients(run, words)
    for lanes in static(range(LANES)):
        if words.x & LANE_MASK == lanes:
            if words.has_imaginary != 0:
                add_shuffled(run, words, sums, XORS[lanes], True)
            else:
                add_shuffled(run, words, sums, XORS[lanes], False)


@kernel
def apply_to_groups(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Apply a sum to some groups; `argument` is an `AppliedSum`."""
    run = cast(argument, AppliedSum)
    size, terms = run.blocks, run.terms
    words = stack_record(SameX)
    sums, words.coefficients = stack_array(vector, 2 * GROUP), stack_array(vector, 2 * GROUP)
    for group in range(first, last):
        words.start = group * size
        target = run.target + 2 * words.start
        for k in range(2 * size):
            sums[k] = target[k]
        words.first = 0
        while words.first < run.count:
            words.x, words.end = terms[words.first].x, words.first + 1
            while words.end < run.count and terms[words.end].x == words.x:
                words.end += 1
            add_words(run, words, sums)
            words.first = words.end
        for k in range(2 * size):
            target[k] = sums[k]


@kernel
def add_pauli_sum(
    context: CallContext,
    target: State,
    source: State,
    site: i64,
    count: i64,
    coefficients: ptr[f64],
    offsets: ptr[i64],
    codes: ptr[i64],
    wires: ptr[i64],
) -> None:
    """`target += O source` for a sum of words O."""
    can_be = both_there if GPU == 1 else can_meet
    if not can_be(context, target, source, site):
        return
    memory = read_terms(context, source, site, count, coefficients, offsets, codes, wires)
    if is_null(memory):
        return
    if GPU == 1:
        added_there(target, source, terms_of(memory, count), count)
        free(memory)
        return
    run = stack_record(AppliedSum)
    run.target, run.source = target.amplitudes, source.amplitudes
    run.terms, run.count, run.weights = terms_of(memory, count), count, cast(memory, ptr[vector])
    run.blocks = GROUP if source.blocks > GROUP else source.blocks
    groups = (source.blocks + GROUP - 1) >> GROUP_BITS
    if source.qubits < PARALLEL_QUBITS:
        apply_to_groups(cast(run, ptr[f64]), 0, groups, 0)
    else:
        run_parallel(code_of(apply_to_groups), cast(run, ptr[f64]), groups, TOGETHER)
    free(memory)
