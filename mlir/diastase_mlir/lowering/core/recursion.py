"""Room for what descends into regions, of which a program may have many within each other.

Each level takes a dozen of Python's frames, and Python allows a thousand of them by default: a
`cond` within eighty others was too much. The limit is one for all threads, so it is put back when
nobody needs it any more.
"""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

_FRAMES = 10_000
"""Ten times what JAX has for tracing, so all that it has traced fits."""

_lock = threading.Lock()
_limits: list[int] = []
"""The limit before, once for each block that is under way."""


@contextmanager
def deep_recursion() -> Generator[None]:
    """Allow deep recursion inside of the block, in every thread."""
    with _lock:
        _limits.append(_limits[0] if _limits else sys.getrecursionlimit())
        sys.setrecursionlimit(max(_FRAMES, _limits[0]))
    try:
        yield
    finally:
        with _lock:
            before = _limits.pop()
            if not _limits:
                sys.setrecursionlimit(before)
