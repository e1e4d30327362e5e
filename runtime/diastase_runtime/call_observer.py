"""Watching programs run: an observer sees every entry into compiled code, and every way back.

In: an `Observer`, one for the process, or none. The loaded programs of the process are told when
that changes, and call through the observer only while there is one: where nothing is observed,
a call does no more than it would without this module.
"""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol


class Observer(Protocol):
    """What is told of programs that run, in the thread that runs them."""

    def entry(self, program: Any, native: Callable[..., None]) -> Callable[..., None]:
        """Return what is to be called in the place of a program's entry."""
        ...

    def callback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is to be called in the place of a Python function that a program calls."""
        ...

    def loaded(self) -> None:
        """A program was loaded."""
        ...


class Observable(Protocol):
    """A loaded program."""

    def observed_by(self, observer: Observer | None) -> None:
        """From now on this observer is to be told."""
        ...


class _Observation:
    """Who watches, and all that can be watched."""

    def __init__(self) -> None:
        self.observer: Observer | None = None
        self.programs: weakref.WeakSet[Any] = weakref.WeakSet()
        self.lock = threading.RLock()

    def begin_again(self) -> None:
        """In a forked process, whose parent's other threads may have held the lock."""
        self.lock = threading.RLock()


_OBSERVATION = _Observation()
os.register_at_fork(after_in_child=_OBSERVATION.begin_again)


def register(program: Observable) -> None:
    """Note a program that was just loaded, which is observed if any is."""
    with _OBSERVATION.lock:
        _OBSERVATION.programs.add(program)
        if _OBSERVATION.observer is not None:
            _OBSERVATION.observer.loaded()
            program.observed_by(_OBSERVATION.observer)


def observe(observer: Observer | None) -> None:
    """Let this observer, or nobody, be told from now on."""
    with _OBSERVATION.lock:
        _OBSERVATION.observer = observer
        for program in list(_OBSERVATION.programs):
            program.observed_by(observer)


def registered() -> list[Any]:
    """The programs that are loaded."""
    with _OBSERVATION.lock:
        return list(_OBSERVATION.programs)


def observe_again() -> None:
    """Say once more who observes: entries of programs have changed."""
    with _OBSERVATION.lock:
        observe(_OBSERVATION.observer)


def called_back(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that a program calls, as the observer wants to see it called."""
    observer = _OBSERVATION.observer
    return function if observer is None else observer.callback(function)
