"""How many threads compiled programs may use at once; read when a program first needs the pool.

`DIASTASE_NUM_THREADS` says it, else the processors that this process may run on, and of how many
processors' time its control group may use (containers limit that, Kubernetes for example).
"""

import math
import os
from pathlib import Path

from diastase_runtime.errors import InvalidThreadsError

VARIABLE = "DIASTASE_NUM_THREADS"
MOST_THREADS = 1024

_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def number_of_threads() -> int:
    """At least 1; raises for a variable that is no number of threads."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return max(1, min(_processors(), _quota(), MOST_THREADS))
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_THREADS):
        raise InvalidThreadsError(variable=VARIABLE, value=text, most=MOST_THREADS)
    return int(text)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota() -> int:
    """Return the processors whose time the control group may use, rounded up; many if no limit.

    Inside a container the process's own group is the root of what it sees, in version 2 as in 1.
    """
    try:
        quota, period = (_CONTROL_GROUPS / "cpu.max").read_text().split()
        return math.ceil(int(quota) / int(period))
    except (OSError, ValueError):  # no such file, or "max"
        pass
    try:
        quota, period = (
            int((_CONTROL_GROUPS / "cpu" / f"cpu.cfs_{name}_us").read_text())
            for name in ("quota", "period")
        )
    except (OSError, ValueError):
        return MOST_THREADS
    return math.ceil(quota / period) if quota > 0 else MOST_THREADS
