"""What this process may have: processors' time, memory, threads for compiled programs.

Containers are control groups (Docker, Kubernetes). Inside of one the process's own group is the
root of what it sees, in version 2 of control groups as in version 1; of limits further up in a
hierarchy that it sees, nothing is known here.

`DIASTASE_NUM_THREADS` says how many threads compiled programs may use at once, read when a program
first needs the pool; else the processors that this process may run on, and of how many processors'
time its control group may use.
"""

import math
import os
from functools import cache
from pathlib import Path

from diastase_runtime.errors import InvalidThreadsError

_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def processor_quota() -> int | None:
    """Processors whose time the group may use, rounded up; None where there is no limit."""
    try:
        quota, period = _read("cpu.max").split()
    except (OSError, ValueError):
        quota, period = _number("cpu/cpu.cfs_quota_us"), _number("cpu/cpu.cfs_period_us")
    try:
        processors = int(quota or -1) / int(period or 0)
    except (ValueError, ZeroDivisionError):  # "max", or no such file
        return None
    return math.ceil(processors) if processors > 0 else None


@cache
def available_memory() -> int:
    """Bytes of the machine's memory, or fewer if the group may not have them; 0 if not known.

    Linux grants more than there is, and kills the process when it is used. The memory of other
    processes is not counted: what they could give up is not knowable from here.
    """
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        physical = 0
    limits = [physical, _number("memory.max"), _number("memory/memory.limit_in_bytes")]
    return min((limit for limit in limits if limit and limit > 0), default=0)


def _number(file: str) -> int | None:
    """Return the number in a file, None where there is none: no file, or "max"."""
    try:
        return int(_read(file))
    except (OSError, ValueError):
        return None


def _read(file: str) -> str:
    return (_CONTROL_GROUPS / file).read_text()


VARIABLE = "DIASTASE_NUM_THREADS"
MOST_THREADS = 1024


def number_of_threads() -> int:
    """At least 1; raises for a variable that is no number of threads."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return max(1, min(_processors(), processor_quota() or MOST_THREADS, MOST_THREADS))
    is_number = len(text) < 20 and text.isascii() and text.isdigit()  # Python reads none of 5000
    if not (is_number and 1 <= int(text) <= MOST_THREADS):
        raise InvalidThreadsError(variable=VARIABLE, value=text, most=MOST_THREADS)
    return int(text)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
