"""Memory, loops on the thread pool, and polls for signals, of transforms.

The runtime hands the pool's functions over when it loads the library (`use_threads`); without them,
as in tests of the library alone, every loop runs on one thread and nothing polls.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.language import *
from diastase_engine.threads.workers import BODY

aligned_alloc = external("aligned_alloc", [i64, i64], ptr[f64])
free = external("free", [ptr[f64]])

ALIGNMENT = 64
PARALLEL_POINTS = 1 << 14
"""A transform of fewer takes less time than it does to wake a thread."""
_CHUNKS = 8
"""Of a loop, for each thread: one that is late has little left to do."""
_PARALLEL_FOR = signature([code, ptr[f64], i64, i64])
_THREAD_COUNT = signature([], i64)
_POLL = signature([CallContext])


class Threads(Record):
    """The pool's functions, or null."""

    parallel_for: code
    thread_count: code
    poll_now: code


_THREADS = shared(Threads)


@kernel
def use_threads(parallel_for: code, thread_count: code, poll: code, poll_now: code) -> None:
    """Say where the pool is."""
    threads = _THREADS
    threads.parallel_for = parallel_for
    threads.thread_count = thread_count
    threads.poll_now = poll_now


@inline
def divide(number: i64, divisor: i64) -> i64:
    """The quotient, rounded to zero, of numbers below 2**53."""
    return to_integer(to_float(number) / to_float(divisor))


@kernel
def run_parallel(body: code, argument: ptr[f64], count: i64, points: i64) -> None:
    """Run all of 0..count-1, on threads if so many points of transforms are worth it."""
    threads = _THREADS
    if count == 1 or points < PARALLEL_POINTS or is_null(threads.parallel_for):
        call_through(body, BODY, argument, 0, count, 0)
        return
    workers = call_through(threads.thread_count, _THREAD_COUNT)
    grain: i64 = divide(count, workers * _CHUNKS)
    if grain < 1:
        grain = 1
    call_through(threads.parallel_for, _PARALLEL_FOR, body, argument, count, grain)


@kernel
def is_over(context: CallContext) -> i1:
    """Whether the call has failed; lets Python handle signals before."""
    threads = _THREADS
    if not is_null(threads.poll_now):
        call_through(threads.poll_now, _POLL, context)
    return context.code != 0


@kernel
def allocate(context: CallContext, site: i64, size: i64) -> ptr[f64]:
    """Aligned memory, or an error and null."""
    rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1)
    if context.memory == 0 or rounded < context.memory:
        memory = aligned_alloc(ALIGNMENT, rounded)
        if not is_null(memory):
            return memory
    fail(context, OUT_OF_MEMORY, site, rounded, 0)
    return null(ptr[f64])
