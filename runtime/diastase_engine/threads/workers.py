"""The one pool of a process, and its workers: wait, awake and then asleep, join a job, leave.

What threads write at the same time has a cache line of its own. A *job* is a loop: `count`
iterations in chunks of `grain`, handed out by the counter `next`. A worker *joins* a job, works
until no chunk is left, and *leaves*; the thread that has called works, too. It then closes the job
and waits for those that have joined, so nobody ever waits for a worker that did not come.

There are as many places for workers as there is work for, numbered; who joins takes the last one.

Under the mutex: `places`, `sleepers`, changes of `generation` and `joined`, and the job.
"""

import signal
from typing import Annotated

from diastase_engine.call_context import DEFAULT_ENVIRONMENT, set_environment
from diastase_engine.language import *

create_thread = external("pthread_create", [ptr[i64], ptr[i64], code, ptr[f64]], i32)
detach_thread = external("pthread_detach", [i64], i32)
make_mutex = external("pthread_mutex_init", [ptr[i64], ptr[i64]], i32)
lock = external("pthread_mutex_lock", [ptr[i64]], i32)
unlock = external("pthread_mutex_unlock", [ptr[i64]], i32)
make_condition = external("pthread_cond_init", [ptr[i64], ptr[i64]], i32)
wait_for = external("pthread_cond_wait", [ptr[i64], ptr[i64]], i32)
wait_until = external("pthread_cond_timedwait", [ptr[i64], ptr[i64], ptr[i64]], i32)
read_clock = external("clock_gettime", [i32, ptr[i64]], i32)
wake_one = external("pthread_cond_signal", [ptr[i64]], i32)
fill_signals = external("sigfillset", [ptr[i64]], i32)
mask_signals = external("pthread_sigmask", [i32, ptr[i64], ptr[i64]], i32)
process_number = external("getpid", [], i32)

SET_MASK = int(signal.SIG_SETMASK)
SIGNAL_WORDS = 16
"""A `sigset_t` has 128 bytes on Linux, fewer elsewhere."""


Line = Annotated[ptr[i64], 8]
"""A cache line, of which the first number is used; large enough for a mutex or a condition."""

BODY = signature([ptr[f64], i64, i64, i64])
"""`body(argument, first, last, worker)`: iterations first..last-1. No two calls at the same time
have the same `worker`, which is below the number of threads and the number of chunks."""


class Pool(Record):
    """See above."""

    process: Line
    """The process that the threads are in; negative while that process makes a pool."""
    busy: Line
    """1 while a thread has the pool: others, and loops inside of its loop, run by themselves."""
    next: Line
    generation: Line
    """The number of the latest job: what idle workers look at."""
    joined: Line
    """How many workers are inside of the job."""
    threads: Line
    """How many threads may work, the caller among them; what `configure` says."""
    mutex: Line
    wake: Line
    """Condition: there is a job."""
    done: Line
    """Condition: the last worker has left."""
    workers: i64
    """How many there are."""
    sleepers: i64
    places: i64
    """How many workers may still join the job, 0 where there is none: the next one's number."""
    function: code
    argument: ptr[f64]
    count: i64
    grain: i64


POOL = shared(Pool)


SPINS = 1000
"""Pauses before sleep, some 10 to 50 us: the next loop of a program mostly comes sooner. Sleeping
and waking take 3 us each."""


@kernel
def work(worker: i64) -> None:
    """Run chunks of the job until there are no more."""
    pool = POOL
    count, grain = pool.count, pool.grain
    while True:
        first = atomic_add(pool.next, 1) * grain
        if first >= count:
            return
        last = first + grain if first + grain < count else count
        call_through(pool.function, BODY, pool.argument, first, last, worker)


@kernel
def run_worker(argument: ptr[f64]) -> ptr[f64]:
    """Return never."""
    pool = POOL
    seen: i64 = 0
    set_environment(DEFAULT_ENVIRONMENT)
    while True:
        for _ in range(SPINS):
            if atomic_load(pool.generation) != seen:
                break
            pause()
        lock(pool.mutex)
        while pool.places == 0 or atomic_load(pool.generation) == seen:
            pool.sleepers += 1
            wait_for(pool.wake, pool.mutex)
            pool.sleepers -= 1
        seen = atomic_load(pool.generation)
        number = pool.places
        pool.places = number - 1
        atomic_add(pool.joined, 1)
        unlock(pool.mutex)
        work(number)
        leave()
    return null(ptr[f64])


@kernel
def leave() -> None:
    """Leave the job; the last one wakes the thread that waits for it."""
    pool = POOL
    lock(pool.mutex)
    if atomic_add(pool.joined, -1) == 1:
        wake_one(pool.done)
    unlock(pool.mutex)


@kernel
def make_workers() -> None:
    """Make the workers that are missing, as many as the system grants; under `busy`.

    They are to get no signals: Python's handlers belong to its main thread.
    """
    pool = POOL
    handle = stack_array(i64, 1)
    signals = stack_array(i64, SIGNAL_WORDS)
    before = stack_array(i64, SIGNAL_WORDS)
    fill_signals(signals)
    mask_signals(SET_MASK, signals, before)
    wanted = atomic_load(pool.threads) - 1
    while pool.workers < wanted:
        if create_thread(handle, null(ptr[i64]), code_of(run_worker), null(ptr[f64])) != 0:
            atomic_store(pool.threads, pool.workers + 1)
            break
        detach_thread(handle[0])
        pool.workers += 1
    mask_signals(SET_MASK, before, null(ptr[i64]))
