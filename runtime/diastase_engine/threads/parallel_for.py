"""Run a loop on all threads: the pool's C functions.

`parallel_for` may be called by any thread at any time. It never waits for the pool: where somebody
else has it, or the loop is inside of another, the thread runs the whole loop by itself. After a
`fork` the child has none of the threads, and a mutex perhaps locked by one of them; so the pool
belongs to a process, and the first loop in another process makes it anew. (`forget`, called in
the child by Python, makes sure of it even where a process has the number of one before it.)
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.threads.blas import forget_blas
from diastase_engine.threads.python import poll_now
from diastase_engine.threads.workers import (
    BODY,
    POOL,
    SPINS,
    lock,
    make_condition,
    make_mutex,
    make_workers,
    process_number,
    read_clock,
    unlock,
    wait_for,
    wait_until,
    wake_one,
    work,
)

SECOND = 1_000_000_000
WAIT = SECOND // 20
"""Nanoseconds between two polls of a thread that waits for the others."""


@kernel
def parallel_for(function: code, argument: ptr[f64], count: i64, grain: i64) -> None:
    """Call `function` (a `BODY`) for all of 0..count-1, in chunks of `grain`, in any order.

    Where it runs on one thread it gets them all in one call.
    """
    run_job(function, argument, count, grain, null(CallContext))


@kernel
def run_job(
    function: code, argument: ptr[f64], count: i64, grain: i64, context: CallContext
) -> None:
    """The same for the call of this context, if there is one: it is polled for while waiting."""
    pool = POOL
    if count <= 0:
        return
    if count > grain and atomic_load(pool.threads) > 1 and take():
        if pool.workers < atomic_load(pool.threads) - 1:
            make_workers()
        open_job(function, argument, count, grain)
        work(0)
        close_job(context)
        atomic_store(pool.busy, 0)
        return
    call_through(function, BODY, argument, 0, count, 0)


@kernel
def take() -> i1:
    """Try to get the pool for this thread, made anew if it is another process's."""
    pool = POOL
    own = to_integer(process_number())
    seen = atomic_load(pool.process)
    if seen != own:
        if seen == -own or atomic_compare_exchange(pool.process, seen, -own) != seen:
            return False
        make_pool()
        atomic_store(pool.process, own)
    return atomic_compare_exchange(pool.busy, 0, 1) == 0


@kernel
def make_pool() -> None:
    """Make a pool without workers; nobody else touches it before `process` says that it is made."""
    pool = POOL
    make_mutex(pool.mutex, null(ptr[i64]))
    make_condition(pool.wake, null(ptr[i64]))
    make_condition(pool.done, null(ptr[i64]))
    pool.workers = 0
    pool.sleepers = 0
    pool.places = 0
    atomic_store(pool.joined, 0)
    atomic_store(pool.generation, 0)
    atomic_store(pool.busy, 0)


@kernel
def open_job(function: code, argument: ptr[f64], count: i64, grain: i64) -> None:
    """Let workers join, as many as there can be chunks for beside this thread's first."""
    pool = POOL
    places: i64 = 0
    covered: i64 = grain
    while covered < count and places < atomic_load(pool.threads) - 1:
        places += 1
        covered += grain
    lock(pool.mutex)
    pool.function = function
    pool.argument = argument
    pool.count = count
    pool.grain = grain
    pool.places = places
    atomic_store(pool.next, 0)
    atomic_add(pool.generation, 1)
    asleep = places if places < pool.sleepers else pool.sleepers
    unlock(pool.mutex)
    for _ in range(asleep):
        wake_one(pool.wake)


@kernel
def close_job(context: CallContext) -> None:
    """Let nobody join any more, and wait for those that have."""
    pool = POOL
    lock(pool.mutex)
    pool.places = 0
    unlock(pool.mutex)
    for _ in range(SPINS):
        if atomic_load(pool.joined) == 0:
            return
        pause()
    lock(pool.mutex)
    while atomic_load(pool.joined) != 0:
        if is_null(context):
            wait_for(pool.done, pool.mutex)
        else:
            unlock(pool.mutex)
            poll_now(context)
            lock(pool.mutex)
            if atomic_load(pool.joined) != 0:
                wait_a_while(pool.done, pool.mutex)
    unlock(pool.mutex)


@kernel
def wait_a_while(condition: ptr[i64], mutex: ptr[i64]) -> None:
    """Wait for a condition, for less than a second."""
    until = stack_array(i64, 2)
    read_clock(0, until)
    until[1] += WAIT
    if until[1] >= SECOND:
        until[0] += 1
        until[1] -= SECOND
    wait_until(condition, mutex, until)


@kernel
def configure(threads: i64) -> None:
    """Say how many threads may work, from the next loop on."""
    atomic_store(POOL.threads, threads)


@kernel
def thread_count() -> i64:
    """How many threads may work."""
    return atomic_load(POOL.threads)


@kernel
def forget() -> None:
    """Called in a child process: the pool is another process's, whatever its number."""
    atomic_store(POOL.process, 0)
    forget_blas()
