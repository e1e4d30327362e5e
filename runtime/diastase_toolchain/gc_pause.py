"""Python's garbage collector, kept from scanning all of JAX and PennyLane while we make objects.

Importing, tracing and lowering make many objects, nearly all of which live on: each collection
looks at all of them again and finds nothing, which took half the time of compiling large programs.
`fewer_collections` lets it wait for more objects, in all threads, until the outermost `with` ends.
Collections still happen, so cyclic garbage that a user's function makes cannot pile up without end;
and a collector that the user has switched off, or made lazier than we do, is left as it is.
"""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

_OBJECTS = 200_000
"""New objects after which young ones are looked at; some tens of megabytes."""


@dataclass
class _Deferred:
    """Who is inside now, and what to go back to."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    depth: int = 0
    before: tuple[int, int, int] = (0, 0, 0)
    during: tuple[int, int, int] = (0, 0, 0)


_deferred = _Deferred()


@contextmanager
def fewer_collections() -> Generator[None]:
    """Collect garbage rarely inside."""
    with _deferred.lock:
        if _deferred.depth == 0:
            _begin(_deferred)
        _deferred.depth += 1
    try:
        yield
    finally:
        with _deferred.lock:
            _deferred.depth -= 1
            if _deferred.depth == 0 and gc.get_threshold() == _deferred.during:
                gc.set_threshold(*_deferred.before)


def _begin(deferred: _Deferred) -> None:
    young, *older = deferred.before = deferred.during = gc.get_threshold()
    if 0 < young < _OBJECTS:
        gc.set_threshold(_OBJECTS, *older)
        deferred.during = gc.get_threshold()
