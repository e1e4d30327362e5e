"""What a thread that compiles is doing just now, in a word, for whoever watches it.

    with watched("trace") as activity:      # in the thread that compiles
        ...                                 # another thread reads activity.step

Steps are told by `enter`, which does nothing in a thread that nobody watches.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

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
