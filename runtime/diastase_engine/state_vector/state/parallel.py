"""Loops of the engine on the thread pool; whole states set to zero and copied by them.

The pool is another library, whose functions the runtime hands over when it loads the engine
(`use_threads`). Where it has not, as in tests of the engine alone, every loop runs on one thread.

A body is a kernel `(argument, first, last, worker)`; see `threads.workers.BODY`. Whatever
a body adds up must not depend on the number of threads: partial results belong to fixed parts of
the iterations, never to workers, and are summed in their order.

Large memory is written in pieces: the system gives pages as they are first written to, and clears
each; so threads help even where one of them could use up all of the memory's bandwidth.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import LANE_BITS, State, memcpy, memset
from diastase_engine.threads.workers import BODY

PARALLEL_QUBITS = derived(lambda lane_bits: 11 + lane_bits, LANE_BITS)
"""A loop over all amplitudes of fewer takes less time than waking a thread."""
PARALLEL_BLOCKS = 1 << 11
"""The same in blocks."""
_PARALLEL_FOR = signature([code, ptr[f64], i64, i64])
_THREAD_COUNT = signature([], i64)
_POLL = signature([CallContext])


class Threads(Record):
    """The pool's functions, or null."""

    parallel_for: code
    thread_count: code
    poll: code
    poll_now: code


_THREADS = shared(Threads)


@kernel
def use_threads(parallel_for: code, thread_count: code, poll: code, poll_now: code) -> None:
    """Say where the pool is, before any state is made."""
    threads = _THREADS
    threads.parallel_for = parallel_for
    threads.thread_count = thread_count
    threads.poll = poll
    threads.poll_now = poll_now


@kernel
def run_parallel(body: code, argument: ptr[f64], count: i64, grain: i64) -> None:
    """Run all of 0..count-1, in chunks of `grain`, on the threads that are free."""
    threads = _THREADS
    if is_null(threads.parallel_for):
        call_through(body, BODY, argument, 0, count, 0)
        return
    call_through(threads.parallel_for, _PARALLEL_FOR, body, argument, count, grain)


@kernel
def is_interrupted(state: State) -> i1:
    """Whether the call that a state belongs to is over; lets Python handle signals before.

    What works on large states asks often: any part of it may take long.
    """
    threads = _THREADS
    if not is_null(threads.poll):
        poll = threads.poll if state.blocks < PARALLEL_BLOCKS else threads.poll_now
        call_through(poll, _POLL, state.context)
    return state.context.code != 0


@kernel
def is_over(context: CallContext) -> i1:
    """The same of a call that may have waited for long."""
    threads = _THREADS
    if not is_null(threads.poll_now):
        call_through(threads.poll_now, _POLL, context)
    return context.code != 0


@kernel
def thread_count() -> i64:
    """How many threads may work: numbers of workers are below."""
    threads = _THREADS
    if is_null(threads.thread_count):
        return 1
    return call_through(threads.thread_count, _THREAD_COUNT)


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
