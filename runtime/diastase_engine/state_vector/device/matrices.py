"""Any matrix on a few wires on a GPU, with controls: applied, or measured as an observable.

A block has a chunk of the state in the memory that its threads share, as in a stage; the matrix's
bits are among those of the chunk. A thread computes a few rows of products, each for one amplitude.
The matrix and where its rows lie are sent before, as the amplitudes' numbers. Bits outside of the
chunk that are controls have their value: blocks are for those amplitudes only.
"""

from typing import Annotated

from diastase_engine.call_context import OUT_OF_MEMORY, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import (
    amplitude,
    put,
    squared,
    times,
    write_sums,
)
from diastase_engine.state_vector.device.driver import copy_to_device, launch
from diastase_engine.state_vector.device.launches import fill_upper
from diastase_engine.state_vector.device.records import (
    MOST_BLOCKS,
    SLOT_BITS,
    STAGE_BITS,
    THREADS,
)
from diastase_engine.state_vector.device.residence import (
    bits_there,
    bring,
    change_there,
    device_room,
)
from diastase_engine.state_vector.device.stages import AMPLITUDES, with_upper
from diastase_engine.state_vector.device.sums import SUMS_BYTES, add_up_blocks
from diastase_engine.state_vector.plan.plan import fill_up
from diastase_engine.state_vector.plan.plan_memory import room_in_buffer
from diastase_engine.state_vector.state.records import BLOCK_BYTES, LANE_BITS, State
from diastase_engine.state_vector.tiles.sweeps import place_of, spread
from diastase_runtime.abi import GRIDS

APPLY_MATRIX, ADD_MOMENTS = GRIDS.index("apply_matrix"), GRIDS.index("add_moments")
MOST_TARGETS_THERE = STAGE_BITS
"""Matrices on more wires, 256 MiB and more, are applied on the host."""


class Product(Record):
    """Words of `apply_matrix` and `add_moments`."""

    numbers: ptr[stored]
    matrix: ptr[pair]
    """Row-major."""
    offsets: ptr[i64]
    """Where the amplitude of each row lies in a chunk, from that of row 0."""
    places: ptr[i64]
    """Where in an index of a chunk the bits of a row are, the most significant one first."""
    rows: i64
    n_targets: i64
    mask: i64
    value: i64
    """Controls, and those that must be one."""
    bits: i64
    size: i64
    """Bits of the chunk, and how many."""
    outer: i64
    """Bits that are counted by blocks."""
    chunks: i64
    blocks: i64
    sums: ptr[f64]
    """Two for each block, of `add_moments`."""
    upper: Annotated[ptr[i64], SLOT_BITS]
    """As in a `Stage`."""


@inline
def index_of(run: Product, start: i64, local: i64) -> i64:
    """Return the index of an amplitude of a chunk; `start` is that of its thread's first."""
    return with_upper(run.upper, start, local)


@inline
def start_of(run: Product, number: i64, thread: i64) -> i64:
    """Return the index of a thread's first amplitude of a chunk."""
    outside = spread(number, run.outer) | (run.value & ~run.bits)
    return outside | spread(thread, run.bits)


@inline
def load_chunk(run: Product, number: i64, chunk: ptr[pair]) -> None:
    """Copy a chunk into the block's memory."""
    for thread in each_thread():
        start = start_of(run, number, thread)
        for k in range(AMPLITUDES):
            local = thread + k * THREADS
            if local < 1 << run.size:
                chunk[local] = amplitude(run.numbers, index_of(run, start, local))


@inline
def product_at(run: Product, chunk: ptr[pair], local: i64) -> pair:
    """Return one amplitude of the matrix times a chunk."""
    first = local & ~run.offsets[run.rows - 1]
    row = run.matrix + place_of(local, run.n_targets, run.places) * run.rows
    total: pair = pair_of(0.0, 0.0)
    for column in range(run.rows):
        total += times(row[column], chunk[first | run.offsets[column]])
    return total


@kernel
def apply_matrix(block: i64, run: Product) -> None:
    """Multiply the amplitudes of a chunk whose controls match."""
    chunk = shared_array(pair, 1 << STAGE_BITS)
    load_chunk(run, block, chunk)
    for thread in each_thread():
        start = start_of(run, block, thread)
        for k in range(AMPLITUDES):
            local = thread + k * THREADS
            if local < 1 << run.size:
                index = index_of(run, start, local)
                if index & run.mask == run.value:
                    put(run.numbers, index, product_at(run, chunk, local))


@kernel
def add_moments(block: i64, run: Product) -> None:
    """Add up <O> and <O O> of a Hermitian matrix over every so-manieth chunk."""
    chunk = shared_array(pair, 1 << STAGE_BITS)
    mean, square = shared_array(f64, THREADS), shared_array(f64, THREADS)
    for thread in each_thread():
        mean[thread], square[thread] = 0.0, 0.0
    for number in range(block, run.chunks, run.blocks):
        load_chunk(run, number, chunk)
        for thread in each_thread():
            first: f64 = mean[thread]
            second: f64 = square[thread]
            for k in range(AMPLITUDES):
                local = thread + k * THREADS
                if local < 1 << run.size:
                    left, right = chunk[local], product_at(run, chunk, local)
                    first += lane_of(left, 0) * lane_of(right, 0)
                    first += lane_of(left, 1) * lane_of(right, 1)
                    second += squared(right)
            mean[thread], square[thread] = first, second
    write_sums(mean, square, run.sums + 2 * block)


@kernel
def write_matrix(state: State, run: Product, bits: ptr[i64], matrix: ptr[f64]) -> i64:
    """Write what is sent of a matrix into the state's buffer; return its bytes, 0 after an error.

    That is the matrix, the offsets of its rows and its places.
    """
    count = run.n_targets
    matrix_bytes = (BLOCK_BYTES >> LANE_BITS) << (2 * count)
    size = matrix_bytes + 8 * (run.rows + count)
    if not room_in_buffer(state, size):
        fail(state.context, OUT_OF_MEMORY, state.site, size, 0)
        return 0
    numbers = cast(state.buffer, ptr[stored])
    for k in range(2 << (2 * count)):
        numbers[k] = matrix[k]
    offsets = cast(state.buffer + (matrix_bytes >> 3), ptr[i64])
    places = offsets + run.rows
    offsets[0] = 0
    for k in range(count):
        places[k] = count_ones(run.bits & ((1 << bits[k]) - 1))
    for k in range(count):  # the last wire is the least significant bit of a row
        for row in range(1 << k):
            offsets[(1 << k) | row] = offsets[row] | (1 << places[count - 1 - k])
    return size


@kernel
def send_matrix(
    state: State,
    run: Product,
    count: i64,
    bits: ptr[i64],
    mask: i64,
    value: i64,
    matrix: ptr[f64],
) -> i1:
    """Have a matrix and the amplitudes there, and fill in the words; false after an error."""
    all_bits = bits_there(state)
    run.size = STAGE_BITS if STAGE_BITS < all_bits else all_bits
    targets: i64 = 0
    for k in range(count):
        targets |= 1 << bits[k]
    run.bits = fill_up(targets, run.size, (1 << all_bits) - 1)
    run.outer = ~(run.bits | mask)
    run.rows, run.n_targets, run.mask, run.value = 1 << count, count, mask, value
    run.chunks = 1 << (all_bits - run.size - count_ones(mask & ~run.bits))
    fill_upper(run.upper, run.bits, run.size)
    size = write_matrix(state, run, bits, matrix)
    if size == 0 or not bring(state) or not device_room(state, SUMS_BYTES + size):
        return False
    to_matrix = state.device_plan + SUMS_BYTES
    to_offsets = to_matrix + size - 8 * (run.rows + count)
    run.numbers, run.sums = cast(at(state.device), ptr[stored]), at(state.device_plan)
    run.matrix = cast(at(to_matrix), ptr[pair])
    run.offsets = cast(at(to_offsets), ptr[i64])
    run.places = run.offsets + run.rows
    return copy_to_device(state, to_matrix, state.buffer, size)


@kernel
def multiply_there(
    state: State, count: i64, bits: ptr[i64], mask: i64, value: i64, matrix: ptr[f64]
) -> None:
    """Apply a matrix to bits, where controls match."""
    run = stack_record(Product)
    if send_matrix(state, run, count, bits, mask, value, matrix):
        change_there(state)
        launch(state, APPLY_MATRIX, run.chunks, cast(run, ptr[i64]), size_of(Product))


@kernel
def moments_there(
    state: State, count: i64, bits: ptr[i64], matrix: ptr[f64], moments: ptr[f64]
) -> None:
    """Write <O> and <O O> of a Hermitian matrix, zeros after an error."""
    moments[0], moments[1] = 0.0, 0.0
    run = stack_record(Product)
    if send_matrix(state, run, count, bits, 0, 0, matrix):
        run.blocks = MOST_BLOCKS if MOST_BLOCKS < run.chunks else run.chunks
        launch(state, ADD_MOMENTS, run.blocks, cast(run, ptr[i64]), size_of(Product))
        add_up_blocks(state, run.blocks, moments)
