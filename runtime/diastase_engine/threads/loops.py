"""Loops of the other libraries on the thread pool, and their polls for signals.

Each library that runs loops has this for itself. The pool is a library of its own, whose functions
the runtime hands over when it loads the other one (`use_threads`). Where it has not, as in tests of
a library alone, every loop runs on one thread and nothing polls.

A body is a kernel `(argument, first, last, worker)`; see `workers.BODY`. Whatever a body adds up
must not depend on the number of threads: partial results belong to fixed parts of the iterations,
never to workers, and are summed in their order.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.threads.workers import BODY

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
    """Say where the pool is, before anything else is called."""
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
def thread_count() -> i64:
    """How many threads may work: numbers of workers are below."""
    threads = _THREADS
    if is_null(threads.thread_count):
        return 1
    return call_through(threads.thread_count, _THREAD_COUNT)


@kernel
def is_over_asked_often(context: CallContext) -> i1:
    """Whether a call is over; lets Python handle signals before, if it has been asked for long."""
    threads = _THREADS
    if not is_null(threads.poll):
        call_through(threads.poll, _POLL, context)
    return context.code != 0


@kernel
def is_over(context: CallContext) -> i1:
    """The same where much time may have passed since the last poll."""
    threads = _THREADS
    if not is_null(threads.poll_now):
        call_through(threads.poll_now, _POLL, context)
    return context.code != 0
