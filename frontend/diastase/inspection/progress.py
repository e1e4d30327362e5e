"""A line on the terminal about a compilation that takes long: what it does, and since when.

    diastase: compiling circuit: optimise, 4 s

It appears after two seconds, is written over every half second and wiped out at the end. Without a
terminal (pipes, notebooks, tests), and with `DIASTASE_PROGRESS=0`, nothing is written and no thread
is started.
"""

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TextIO

from diastase_toolchain.background import Activity, watched

_PATIENCE, _PAUSE = 2.0, 0.5
_OFF = ("0", "false", "off")
_shown = threading.Lock()
"""Held by the compilation that has the line; others, in other threads, go without."""


@contextmanager
def progress_of(name: str) -> Generator[None]:
    """Inside, the function of this name is compiled, which the user may want to know."""
    terminal = sys.stderr
    if not _is_wanted(terminal) or not _shown.acquire(blocking=False):
        yield
        return
    try:
        with watched("trace") as activity, _line(terminal, name, activity):
            yield
    finally:
        _shown.release()


def _is_wanted(terminal: TextIO | None) -> bool:
    if terminal is None or os.environ.get("DIASTASE_PROGRESS", "").lower() in _OFF:
        return False
    with suppress(ValueError, OSError, AttributeError):  # closed, or no file at all
        return terminal.isatty()
    return False


@contextmanager
def _line(terminal: TextIO, name: str, activity: Activity) -> Generator[None]:
    """Write the line from another thread until the block ends."""
    finished = threading.Event()
    start = time.monotonic()

    def write() -> None:
        width = 0
        pause = _PATIENCE
        while not finished.wait(pause):
            seconds = int(time.monotonic() - start)
            text = f"diastase: compiling {name}: {activity.step}, {seconds} s"
            _write(terminal, f"\r{text:<{width}}")
            width, pause = len(text), _PAUSE
        _write(terminal, f"\r{'':<{width}}\r" if width else "")

    thread = threading.Thread(target=write, name="diastase-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def _write(terminal: TextIO, text: str) -> None:
    with suppress(ValueError, OSError):  # the terminal is gone
        terminal.write(text)
        terminal.flush()
