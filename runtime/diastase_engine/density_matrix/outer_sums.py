"""Derivatives by the elements of a matrix: sums of products of an adjoint and a state.

A loss changes by a . dR r where R acts on some index bits; so the derivative by R[i, j] is the sum
of a[i, k] r[j, k] over all settings k of the other bits. Sums are of fixed parts of the components,
whose number depends on sizes alone, so they do not depend on the number of threads.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.records import State, index_bits
from diastase_engine.density_matrix.transfer import (
    PARALLEL_VECTORS,
    SLOTS,
    Prepared,
    lanes_of_shuffle,
    load_slots,
    part_of,
)
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.parallel import run_parallel
from diastase_engine.state_vector.state.records import LANES, free, memset
from diastase_engine.state_vector.tiles.sweeps import next_block, spread

PART_BITS = 4
PARTS = 1 << PART_BITS


class OuterSums(Record):
    """What is being summed up."""

    prepared: Prepared
    state: ptr[vector]
    adjoint: ptr[vector]
    sums: ptr[wide]
    each: i64
    """Sums of a part: for each row, one for each slot."""
    groups: i64
    """Of vectors, in a part."""


@kernel
def sum_parts(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Sum some parts up; `argument` is an `OuterSums`."""
    run = cast(argument, OuterSums)
    prepared = run.prepared
    x = stack_array(vector, SLOTS)
    slots = prepared.columns * prepared.shuffles
    for part in range(first, last):
        sums = run.sums + part * run.each
        base: i64 = spread(part * run.groups, ~prepared.fixed)
        for _ in range(run.groups):
            load_slots(prepared, run.state, base, x, 1)
            for row in range(prepared.columns):
                a = run.adjoint[base + prepared.offsets[row]]
                own = sums + row * slots
                for slot in range(slots):
                    own[slot] = own[slot] + widen(a * x[slot])
            base = next_block(base, prepared.fixed)


@kernel
def sum_outer(
    context: CallContext, site: i64, prepared: Prepared, count: i64, bits: ptr[i64],
    state: ptr[vector], adjoint: ptr[vector], vectors: i64, out: ptr[f64],
) -> None:  # fmt: skip
    """Write the derivatives by the elements of a prepared matrix on `count` bits, row-major."""
    run = stack_record(OuterSums)
    groups = vectors >> count_ones(prepared.fixed)
    parts = PARTS if vectors >= PARALLEL_VECTORS and groups >= PARTS else 1
    run.prepared, run.state, run.adjoint = prepared, state, adjoint
    run.each = prepared.columns * prepared.columns * prepared.shuffles
    run.groups = groups if parts == 1 else groups >> PART_BITS
    size = 8 * LANES * run.each
    memory = allocate(context, site, parts * size)
    if is_null(memory):
        return
    memset(memory, 0, parts * size)
    run.sums = cast(memory, ptr[wide])
    argument = cast(run, ptr[f64])
    if parts == 1:
        sum_parts(argument, 0, 1, 0)
    else:
        run_parallel(code_of(sum_parts), argument, parts, 1)
    memset(out, 0, 8 << (2 * count))
    for row in range(prepared.columns):
        here = part_of(row, count, bits, 0)
        for column in range(prepared.columns):
            there = part_of(column, count, bits, 0)
            for number in range(prepared.shuffles):
                pattern = lanes_of_shuffle(number, prepared.lanes)
                slot = (row * prepared.columns + column) * prepared.shuffles + number
                add_lanes(run, parts, slot, count, bits, here, there, pattern, out)
    free(memory)


@kernel
def add_lanes(
    run: OuterSums, parts: i64, slot: i64, count: i64, bits: ptr[i64], here: i64, there: i64,
    pattern: i64, out: ptr[f64],
) -> None:  # fmt: skip
    """Add the lanes of one sum, of all parts, to the elements that they are of."""
    for part in range(parts):
        numbers = cast(run.sums + part * run.each + slot, ptr[f64])
        for lane in range(LANES):
            row = here | part_of(lane, count, bits, 1)
            column = there | part_of(lane ^ pattern, count, bits, 1)
            place = (row << count) | column
            out[place] = out[place] + numbers[lane]


@kernel
def sum_outer_gathered(
    state: State, count: i64, bits: ptr[i64], vector_of: ptr[stored], adjoint: ptr[stored],
    out: ptr[f64],
) -> None:  # fmt: skip
    """The same for a matrix of any size, component by component."""
    size = 1 << count
    memset(out, 0, 8 * size * size)
    fixed: i64 = 0
    for k in range(count):
        fixed |= 1 << bits[k]
    base: i64 = 0
    for _ in range((1 << index_bits(state)) >> count):
        for row in range(size):
            a = adjoint[base | offset_of(row, count, bits)]
            if a != 0.0:
                for column in range(size):
                    place = row * size + column
                    r = vector_of[base | offset_of(column, count, bits)]
                    out[place] = out[place] + a * r
        base = ((base | fixed) + 1) & ~fixed


@kernel
def offset_of(row: i64, count: i64, bits: ptr[i64]) -> i64:
    """Where the components of a row lie."""
    offset: i64 = 0
    for k in range(count):
        offset |= ((row >> (count - 1 - k)) & 1) << bits[k]
    return offset
