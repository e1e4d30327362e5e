"""The one pool of a process.

What threads write at the same time has a cache line of its own. A *job* is a loop: `count`
iterations in chunks of `grain`, handed out by the counter `next`. A worker *joins* a job, works
until no chunk is left, and *leaves*; the thread that has called works, too. It then closes the job
and waits for those that have joined, so nobody ever waits for a worker that did not come.

There are as many places for workers as there is work for, numbered; who joins takes the last one.

Under the mutex: `places`, `sleepers`, changes of `generation` and `joined`, and the job.
"""

from typing import Annotated

from diastase_engine.language import Record, code, f64, i64, ptr, shared, signature

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
