"""What loops over states have in common; whole states set to zero and copied by loops.

Large memory is written in pieces: the system gives pages as they are first written to, and clears
each; so threads help even where one of them could use up all of the memory's bandwidth.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, State, memcpy, memset
from diastase_engine.threads.loops import (
    is_over,
    is_over_asked_often,
    run_parallel,
    thread_count,
)

PARALLEL_QUBITS = derived(lambda lane_bits: 11 + lane_bits, LANE_BITS)
"""A loop over all amplitudes of fewer takes less time than waking a thread."""
PARALLEL_BLOCKS = 1 << 11
"""The same in blocks."""


@kernel
def is_interrupted(state: State) -> i1:
    """Whether the call that a state belongs to is over; lets Python handle signals before.

    What works on large states asks often: any part of it may take long.
    """
    if state.blocks < PARALLEL_BLOCKS:
        return is_over_asked_often(state.context)
    return is_over(state.context)


@kernel
def workers_on(state: State, parts: i64) -> i64:
    """How many workers a loop over so many parts of a state can have."""
    if state.qubits < PARALLEL_QUBITS:
        return 1
    threads = thread_count()
    return threads if threads < parts else parts


PIECE_BITS = 21
PIECE = 1 << PIECE_BITS
"""Bytes: a huge page, so that no two threads wait for the same one."""


class Bulk(Record):
    """What is written, and from where; zeros where `source` is null."""

    target: ptr[f64]
    source: ptr[f64]
    size: i64


@kernel
def write_pieces(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Write pieces `first` to `last`; `argument` is a `Bulk`."""
    bulk = cast(argument, Bulk)
    start = first * PIECE
    size = last * PIECE - start if last * PIECE < bulk.size else bulk.size - start
    target = bulk.target + (start >> 3)
    if is_null(bulk.source):
        memset(target, 0, size)
    else:
        memcpy(target, bulk.source + (start >> 3), size)


@kernel
def write_bulk(target: ptr[f64], source: ptr[f64], size: i64) -> None:
    """Copy memory, or set it to zero where `source` is null."""
    bulk = stack_record(Bulk)
    bulk.target = target
    bulk.source = source
    bulk.size = size
    run_parallel(code_of(write_pieces), cast(bulk, ptr[f64]), (size + PIECE - 1) >> PIECE_BITS, 1)


@kernel
def clear(target: ptr[f64], size: i64) -> None:
    """Set memory to zero."""
    write_bulk(target, null(ptr[f64]), size)
