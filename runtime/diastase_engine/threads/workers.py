"""What workers do all their life: wait, first awake and then asleep, join a job, leave it."""

from diastase_engine.call_context import DEFAULT, set_environment
from diastase_engine.language import (
    atomic_add,
    atomic_load,
    atomic_store,
    call_through,
    code_of,
    f64,
    i64,
    kernel,
    null,
    pause,
    ptr,
    stack_array,
)
from diastase_engine.threads.records import BODY, POOL
from diastase_engine.threads.system import (
    SET_MASK,
    SIGNAL_WORDS,
    create_thread,
    detach_thread,
    fill_signals,
    lock,
    mask_signals,
    unlock,
    wait_for,
    wake_one,
)

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
    set_environment(DEFAULT)
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
