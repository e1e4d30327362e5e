"""A process is forked while no other thread of it compiles.

A forked child has the locks that other threads held, and not the threads that would open them:
Python's, and those of MLIR, LLVM and llvmlite, of which we know nothing. So `os.fork`, and
`multiprocessing` where it forks, waits until the other threads have compiled what they compile
(`without_forks`), and who wants to begin to compile waits for the fork. What the forking thread
compiles itself goes on in both processes.

The trap: the other thread may wait for the one that forks. After `PATIENCE` seconds the process is
forked nevertheless, and compiling in the child is a `ForkedWhileCompilingError`. Before the child
runs anything, Python destroys what was in `threading.local` of the other threads; LLVM's and MLIR's
objects take their locks to be destroyed, so the child keeps them (`kept_at_forks`). And a thread
that does not compile may collect garbage of one that did: what takes locks to be destroyed is
destroyed before the fork, or after it (`held_at_forks`).
"""

import os
import threading
import weakref
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from diastase_toolchain.errors import ForkedWhileCompilingError

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that a fork waits for other threads."""


class Lock(Protocol):
    """`threading.RLock`: a fork inside of who holds it must not wait for itself."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, or give up after so many seconds."""
        ...

    def release(self) -> None:
        """Let go of it."""
        ...


@dataclass
class _Compilations:
    """Who compiles, by threads, and how many threads want to fork."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    depths: Counter[int] = field(default_factory=Counter)
    forks: int = 0
    were_cut: bool = False
    """Whether this process was forked while another thread compiled."""
    of_threads: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)
    kept: list[Any] = field(default_factory=list)
    """All of these while a process is forked, and in a child for good."""
    locks: list[Lock] = field(default_factory=list)
    held: dict[int, list[Lock]] = field(default_factory=dict)
    """By the thread that forks, until it has forked."""

    def of_others(self) -> bool:
        return self.depths.keys() - {threading.get_ident()} != set()


_compilations = _Compilations()


@contextmanager
def without_forks(*, for_another: bool = False) -> Generator[None]:
    """Compile inside; `for_another`: for a thread that is inside, and that a fork waits for."""
    own, me = _compilations, threading.get_ident()
    with own.changed:
        if me not in own.depths and not for_another:
            if own.were_cut:
                raise ForkedWhileCompilingError
            own.changed.wait_for(lambda: not own.forks)
        own.depths[me] += 1
    try:
        yield
    finally:
        with own.changed:
            own.depths[me] -= 1
            if not own.depths[me]:
                del own.depths[me]
                own.changed.notify_all()


def kept_at_forks(of_thread: T) -> T:
    """The same object, which is in `threading.local`; a child never destroys those of others."""
    _compilations.of_threads.add(of_thread)
    return of_thread


def held_at_forks(lock: Lock) -> None:
    """Have who forks take a lock before, and let go of it in both processes."""
    _compilations.locks.append(lock)


def _let_go() -> None:
    for lock in _compilations.held.pop(threading.get_ident(), ()):
        lock.release()


def _before() -> None:
    own = _compilations
    with own.changed:
        own.forks += 1
        own.changed.wait_for(lambda: not own.of_others(), PATIENCE)
        own.kept += own.of_threads
    taken = [lock for lock in own.locks if lock.acquire(timeout=PATIENCE)]
    own.held[threading.get_ident()] = taken


def _after_in_parent() -> None:
    own = _compilations
    _let_go()
    with own.changed:
        own.forks -= 1
        if not own.forks:
            own.kept.clear()
        own.changed.notify_all()


def _after_in_child() -> None:
    own, me = _compilations, threading.get_ident()
    _let_go()
    own.changed, own.forks = threading.Condition(), 0
    own.were_cut = own.were_cut or own.of_others()
    own.depths = Counter({me: own.depths[me]} if me in own.depths else {})


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
