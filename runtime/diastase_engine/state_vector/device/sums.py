"""Weights, expectation values and probabilities of a state on a GPU, whose operations are applied.

Each block of a launch writes what it has added up; the host adds these in their order.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.driver import (
    allocate_on_device,
    copy_to_device,
    copy_to_host,
    launch,
    release_on_device,
)
from diastase_engine.state_vector.device.records import (
    MOST_BLOCKS,
    THREAD_BITS,
    THREADS,
    Folding,
    Scaling,
    Sums,
)
from diastase_engine.state_vector.device.residence import (
    bits_there,
    bring,
    change_there,
    device_room,
)
from diastase_engine.state_vector.state.records import State, Term, free, malloc, memset
from diastase_runtime.abi import GRIDS

ADD_WEIGHTS, ADD_WORDS = GRIDS.index("add_weights"), GRIDS.index("add_words")
MULTIPLY_ALL = GRIDS.index("multiply_all")
WRITE_WEIGHTS, FOLD = GRIDS.index("write_weights"), GRIDS.index("fold")
SUMS_BYTES = 2 * MOST_BLOCKS * 8
"""Of two numbers for each block."""


@inline
def blocks_for(count: i64) -> i64:
    """Blocks that have a thread for each."""
    return (count + THREADS - 1) >> THREAD_BITS


@kernel
def add_up_blocks(state: State, blocks: i64, sums: ptr[f64]) -> None:
    """Add to two sums what each block has written at the beginning of `device_plan`, in order."""
    parts = stack_array(f64, 2 * MOST_BLOCKS)
    if copy_to_host(state, parts, state.device_plan, 16 * blocks):
        for block in range(blocks):
            sums[0], sums[1] = sums[0] + parts[2 * block], sums[1] + parts[2 * block + 1]


@kernel
def add_up_there(state: State, grid: i64, run: Sums, sums: ptr[f64]) -> None:
    """Launch a kernel that adds up, and add up its blocks."""
    sums[0], sums[1] = 0.0, 0.0
    run.numbers = cast(at(state.device), ptr[stored])
    run.count = 1 << bits_there(state)
    blocks: i64 = blocks_for(run.count)
    if blocks > MOST_BLOCKS:
        blocks = MOST_BLOCKS
    run.stride = blocks << THREAD_BITS
    run.sums = at(state.device_plan)
    launch(state, grid, blocks, cast(run, ptr[i64]), size_of(Sums))
    add_up_blocks(state, blocks, sums)


@kernel
def weights_there(state: State, mask: i64, weights: ptr[f64]) -> None:
    """Write the weight of the amplitudes with a bit 0, and with it 1; zeros after an error."""
    weights[0], weights[1] = 0.0, 0.0
    run = stack_record(Sums)
    run.mask, run.n_terms = mask, 0
    run.terms = null(ptr[f64])
    if bring(state) and device_room(state, SUMS_BYTES):
        add_up_there(state, ADD_WEIGHTS, run, weights)


@kernel
def mean_there(state: State, terms: ptr[Term], count: i64) -> f64:
    """Return the mean of terms, sorted by the bits that they flip; 0 after an error."""
    run, sums = stack_record(Sums), stack_array(f64, 2)
    run.mask, run.n_terms = 0, count
    size = count * size_of(Term)
    if not bring(state) or not device_room(state, SUMS_BYTES + size):
        return 0.0
    where = state.device_plan + SUMS_BYTES
    run.terms = at(where)
    if not copy_to_device(state, where, cast(terms, ptr[f64]), size):
        return 0.0
    add_up_there(state, ADD_WORDS, run, sums)
    return sums[0]


@kernel
def normalise_there(state: State) -> None:
    """Divide all amplitudes by the norm, where it is a number."""
    weights = stack_array(f64, 2)
    weights_there(state, 0, weights)
    if weights[0] > 0.0 and state.context.code == 0:
        run = stack_record(Scaling)
        run.numbers = cast(at(state.device), ptr[stored])
        run.count = 2 << bits_there(state)
        run.factor = 1.0 / square_root(weights[0])
        words = cast(run, ptr[i64])
        change_there(state)
        launch(state, MULTIPLY_ALL, blocks_for(run.count), words, size_of(Scaling))


@kernel
def fold_all(state: State, here: i64, there: i64, kept: i64) -> i64:
    """Add up over all bits but those that are kept; return which of two places has the sums."""
    run = stack_record(Folding)
    run.numbers = cast(at(state.device), ptr[stored])
    bits: i64 = bits_there(state)
    run.source, run.target, run.count, run.bit = at(there), at(here), 1 << bits, 0
    launch(state, WRITE_WEIGHTS, blocks_for(run.count), cast(run, ptr[i64]), size_of(Folding))
    found: i64 = here
    other: i64 = there
    bit: i64 = bits - 1
    while bit >= 0:
        if (kept >> bit) & 1 == 0:
            run.source, run.target, run.bit = at(found), at(other), bit
            run.count = run.count >> 1
            words = cast(run, ptr[i64])
            launch(state, FOLD, blocks_for(run.count), words, size_of(Folding))
            found, other = other, found
        bit -= 1
    return found


@kernel
def sort_folded(folded: ptr[f64], count: i64, bits: ptr[i64], kept: i64, out: ptr[f64]) -> None:
    """Order sums as the wires are, the first of which is the most significant."""
    for index in range(1 << count):
        place: i64 = 0
        for k in range(count):
            rank = count_ones(kept & ((1 << bits[k]) - 1))
            place = (place << 1) | ((index >> rank) & 1)
        out[place] = folded[index]


@kernel
def marginal_there(state: State, count: i64, bits: ptr[i64], out: ptr[f64]) -> None:
    """Write probabilities by the values of some bits, zeros after an error."""
    memset(out, 0, 8 << count)
    kept: i64 = 0
    for k in range(count):
        kept |= 1 << bits[k]
    size = 8 << bits_there(state)
    folded = malloc(8 << count)
    if is_null(folded):
        fail(state.context, OUT_OF_MEMORY, state.site, 8 << count, 0)
    elif bring(state):
        # Three quarters of what the amplitudes take.
        here = allocate_on_device(state, size + (size >> 1))
        if here != 0:
            found = fold_all(state, here, here + size, kept)
            if copy_to_host(state, folded, found, 8 << count):
                sort_folded(folded, count, bits, kept, out)
            release_on_device(here)
    free(folded)
