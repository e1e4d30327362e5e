"""What the system lets this process have: processors' time and memory, by its control group.

Containers are control groups (Docker, Kubernetes). Inside of one the process's own group is the
root of what it sees, in version 2 of control groups as in version 1; of limits further up in a
hierarchy that it sees, nothing is known here.
"""

import math
import os
from functools import cache
from pathlib import Path

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
