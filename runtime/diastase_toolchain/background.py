"""Compilation in a thread that Ctrl-C need not wait for, and what such a thread is doing just now.

Signals are handled in Python's main thread and nowhere else, so work in another thread is not
interrupted by them. Bindings that call Python back, as MLIR's do, would make other exceptions of
`KeyboardInterrupt`; and what LLVM does in one call nothing could interrupt. So the main thread only
waits. Where it gives up, the work goes on to its next step (`go_on`), and ends there.

Whoever wants to show what is being done watches a thread that compiles, whose steps are told by
`enter`; work that another thread does for it counts as its own:

    with watched("trace") as activity:      # in the thread that compiles
        ...                                 # another thread reads activity.step

The trap: a process may end before. Python ends threads where they take its lock again, which aborts
within MLIR's bindings, so the process waits for MLIR's current step, and for a linker, which is
ended at once; and C's `exit` destroys what LLVM still uses, so `exit` is left before that.
"""

import atexit
import ctypes
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from diastase_toolchain.forks import without_forks

T = TypeVar("T")


@dataclass
class Activity:
    """What is being done; written by the thread that does it."""

    step: str


class _OfThisThread(threading.local):
    activity: Activity | None = None


_here = _OfThisThread()


def enter(step: str) -> None:
    """Say what begins now."""
    if _here.activity is not None:
        _here.activity.step = step


def as_here(work: Callable[[], T]) -> Callable[[], T]:
    """Work that another thread does for this one: who watches this one sees it."""
    activity = _here.activity

    def run() -> T:
        _here.activity = activity
        with without_forks(for_another=True):  # which may go on when nobody waits any more
            return work()

    return run


@contextmanager
def watched(step: str) -> Generator[Activity]:
    """Watch this thread, which begins with this step."""
    activity = Activity(step)
    outer, _here.activity = _here.activity, activity
    try:
        yield activity
    finally:
        _here.activity = outer


_STACK = 64 << 20
"""Bytes that a thread may use, of which it gets what it uses: LLVM and MLIR recur deeply."""


_SIGNALS_WAIT = 0.5
"""Seconds, at most, for which a signal's handler is put off."""


class _Abandoned(BaseException):
    """Nobody waits any more."""


class _Thread(threading.Thread):
    """Does one piece of work after the other, until one is abandoned.

    It is kept from one compilation to the next: a new thread begins with a stack and a heap whose
    pages the system has yet to provide, which takes a tenth of the time for a small program.
    """

    def __init__(self) -> None:
        super().__init__(name="diastase-compile", daemon=True)
        self.abandoned = False
        self.may_be_ended = False
        self.tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        while not self.abandoned:
            self.tasks.get()()

    def abandon(self) -> None:
        """End after the current work, or at once where there is none."""
        self.abandoned = True
        self.tasks.put(lambda: None)


def go_on() -> None:
    """Go on with some work, if somebody still waits for it."""
    if getattr(threading.current_thread(), "abandoned", False):
        raise _Abandoned


def still_awaited() -> Callable[[], bool]:
    """Whether somebody waits for what this thread does; another thread may ask."""
    thread = threading.current_thread()
    return lambda: not getattr(thread, "abandoned", False)


def may_be_ended(now: bool = True) -> None:
    """Say that this work calls nothing of MLIR's any more, so that the process may end at once.

    Or that it may not: that the work has begun what it ends itself where nobody waits any more.
    """
    thread = threading.current_thread()
    if isinstance(thread, _Thread):
        thread.may_be_ended = now


def in_background(work: Callable[[], T]) -> T:
    """Do some work while this thread waits, interruptibly; at once where nothing interrupts it."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: Future[T] = Future()
    thread = _idle_thread()
    if thread is None:
        return work()
    thread.may_be_ended = False
    try:
        thread.tasks.put(partial(_run, as_here(work), outcome))
        while not outcome.done():
            # A signal that comes just before a thread begins to wait does not end its wait.
            with suppress(TimeoutError):
                outcome.exception(timeout=_SIGNALS_WAIT)
        result = outcome.result()
    except BaseException:
        if outcome.done():
            _idle.append(thread)
        else:
            thread.abandon()
            atexit.register(_let_process_end, thread)
        raise
    finally:
        del work, outcome  # an error's traceback would keep them until a garbage collection
    _idle.append(thread)
    return result


def begun_in_background(work: Callable[[], T]) -> "Future[T] | None":
    """Begin some work in another thread, and wait for it elsewhere; None if no thread can start."""
    thread = _idle_thread()
    if thread is None:
        return None
    outcome: Future[T] = Future()
    outcome.add_done_callback(lambda _: thread.abandon())
    thread.tasks.put(partial(_run, as_here(work), outcome))
    return outcome


def _run(work: Callable[[], T], outcome: "Future[T]") -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)
        del work, outcome


_idle: list[_Thread] = []
"""Threads that wait for work: one, or one for each handler of signals that compiled meanwhile."""


def _idle_thread() -> _Thread | None:
    """A thread that waits for work; none where the interpreter ends and has no new ones."""
    with suppress(IndexError):
        while True:
            thread = _idle.pop()
            if thread.is_alive():  # in a forked process it is not
                return thread
    thread = _Thread()
    with _stack_size:
        before = threading.stack_size(_STACK)
        try:
            thread.start()
        except RuntimeError:
            return None
        finally:
            threading.stack_size(before)
    return thread


_stack_size = threading.Lock()
"""Of whoever has changed it, which is for all threads."""


def _let_process_end(thread: _Thread) -> None:
    """Make it safe to end the process while work goes on for which nobody waits."""
    while thread.is_alive() and not thread.may_be_ended:
        thread.join(0.01)
    libc = ctypes.CDLL(None)
    if thread.is_alive() and hasattr(libc, "on_exit"):
        libc.fflush(None)
        # `exit` calls it first, with the status that the process ends with.
        libc.on_exit(libc._exit, None)
