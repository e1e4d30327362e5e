"""How many threads compiled programs may use at once; read when a program first needs the pool.

`DIASTASE_NUM_THREADS` says it, else the processors that this process may run on, and of how many
processors' time its control group may use (containers limit that, Kubernetes for example).
"""

import os

from diastase_runtime.cgroups import processor_quota
from diastase_runtime.errors import InvalidThreadsError

VARIABLE = "DIASTASE_NUM_THREADS"
MOST_THREADS = 1024


def number_of_threads() -> int:
    """At least 1; raises for a variable that is no number of threads."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return max(1, min(_processors(), processor_quota() or MOST_THREADS, MOST_THREADS))
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_THREADS):
        raise InvalidThreadsError(variable=VARIABLE, value=text, most=MOST_THREADS)
    return int(text)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
