"""Whole states set to zero and copied: in pieces on the thread pool, where they are large.

The system gives pages as they are first written to, and clears each; so threads help even where
one of them could use up all of the memory's bandwidth.
"""

from diastase_engine.language import (
    Record,
    cast,
    code_of,
    f64,
    i64,
    is_null,
    kernel,
    null,
    ptr,
    size_of,
    stack_array,
)
from diastase_engine.state_vector.state.c_functions import memcpy, memset
from diastase_engine.state_vector.state.parallel import run_parallel

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
    memory = stack_array(i64, size_of(Bulk) // 8)
    bulk = cast(memory, Bulk)
    bulk.target = target
    bulk.source = source
    bulk.size = size
    run_parallel(code_of(write_pieces), cast(memory, ptr[f64]), (size + PIECE - 1) >> PIECE_BITS, 1)


@kernel
def clear(target: ptr[f64], size: i64) -> None:
    """Set memory to zero."""
    write_bulk(target, null(ptr[f64]), size)
