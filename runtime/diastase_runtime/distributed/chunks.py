"""How many calls make a chunk, which is one task of the cluster.

In: how many calls there are, how long one takes, how many threads the workers have. A task costs
the scheduler and its worker some milliseconds, so chunks must not be small; work is shared out
evenly, and a worker that dies loses little, if they are not large. The numbers are those that
docs/cluster.md has measured, rounded up.
"""

import math
from itertools import pairwise

TASK = 0.003
"""Seconds of processors' time that a task costs, on the scheduler and on its worker."""
SCHEDULER = 0.0015
"""Seconds of which are the scheduler's: more tasks than one in that time it cannot give out."""
_SHORTEST, _LONGEST = 5 * TASK, 10.0
_WORTHWHILE = 50 * TASK
_PER_THREAD = 4
"""Chunks for each thread, so that none is waited for long at the end."""


def chunk_size(calls: int, seconds: float, threads: int) -> int:
    """Calls in a chunk, where each takes so long."""
    work = calls * max(seconds, 1e-9)
    of_thread = work / threads
    wanted = min(of_thread, max(of_thread / _PER_THREAD, _WORTHWHILE), _LONGEST)
    wanted = max(wanted, _SHORTEST, work / _most_chunks(work, threads))
    return max(1, min(calls, math.ceil(calls * wanted / work)))


def _most_chunks(work: float, threads: int) -> float:
    """How many the scheduler gives out in the time in which threads compute them.

    With one for each of some of the threads, that is `work / chunks`; with more than one for each
    of them all, `work / threads`.
    """
    return max(min(threads, math.sqrt(work / SCHEDULER)), work / (threads * SCHEDULER), 1)


def bounds(first: int, calls: int, size: int) -> list[tuple[int, int]]:
    """First calls of the chunks from there on, and how many each has, evenly."""
    number = math.ceil((calls - first) / size)
    edges = [first + (calls - first) * k // number for k in range(number + 1)] if number else []
    return [(edge, end - edge) for edge, end in pairwise(edges)]
