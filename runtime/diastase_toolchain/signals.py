"""Signals that wait while work is done that cannot be left at any place.

    with signals_held():
        ...
        deliver_signals()  # a place where the work can be left
        ...

A signal's handler may raise between any two instructions of the main thread. MLIR's bindings do not
survive that: imported halfway, they are unloaded while they are still used; and a context that was
entered but is not left, as by a generator that nobody closes, aborts the process at its end.

Signals without a handler in Python act at once, as ever.
"""

import signal
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import FrameType

_NAMES = "SIGINT SIGTERM SIGALRM SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGVTALRM SIGPROF SIGXCPU".split()
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
"""Those whose handlers may raise in programs that we know of; to ask for all takes 0.2 ms."""

_handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
"""Of the signals that are held just now."""

_held: deque[tuple[int, FrameType | None]] = deque()
"""Signals that came meanwhile."""


@contextmanager
def signals_held() -> Generator[None]:
    """Hold signals until the end, or until `deliver_signals`; in other threads none arrive."""
    if threading.current_thread() is not threading.main_thread() or _handlers:
        yield
        return
    try:
        with ExitStack() as replaced:
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    replaced.callback(_give_back, number)
                    _handlers[number] = handler
                    signal.signal(number, _hold)
            yield
    finally:
        deliver_signals()


def deliver_signals() -> None:
    """Handle the signals that were held, as if they came now."""
    if _held and threading.current_thread() is threading.main_thread():
        number, frame = _held.popleft()
        try:
            handler = _handlers.get(number) or signal.getsignal(number)
            if callable(handler):
                handler(number, frame)
        finally:
            deliver_signals()


def _hold(number: int, frame: FrameType | None) -> None:
    _held.append((number, frame))


def _give_back(number: int) -> None:
    handler = _handlers.pop(number)
    if signal.getsignal(number) is _hold:
        signal.signal(number, handler)
