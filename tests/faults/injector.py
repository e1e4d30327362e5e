"""The C library's functions, failing when told to: `injector.c`, compiled and loaded before all.

    with Fault("files", first=3, error="ENOSPC").armed(folder) as strikes:
        ...                     # the third call that concerns a file below the folder fails
    strikes()                   # how often that was, and what failed first

A process has them if it was started with `environment(library)`.
"""

import ctypes
import errno
import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ALWAYS = 1 << 40
_KINDS = ("none", "files", "memory", "libraries", "threads", "processes")


def build(folder: Path) -> Path:
    """Compile the library into a folder."""
    library = folder / "injector.so"
    source = Path(__file__).with_suffix(".c")
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(library)]
    subprocess.run(["cc", *flags, str(source)], check=True)
    return library


def environment(library: Path) -> dict[str, str]:
    """What a process is started with."""
    return {**os.environ, "LD_PRELOAD": str(library)}


@dataclass(frozen=True)
class Fault:
    """The calls that fail: of a kind, from the first one on, so many times."""

    kind: str
    error: str = "ENOMEM"
    first: int = 1
    times: int = 1

    @contextmanager
    def armed(self, folder: Path) -> Generator[Callable[[], tuple[int, str]]]:
        """Let calls that concern this folder fail; gives how often that happened, and where."""
        injector = ctypes.CDLL(None)
        injector.faults_place.restype = ctypes.c_char_p
        injector.faults_struck.restype = ctypes.c_long
        injector.faults_arm(
            _KINDS.index(self.kind),
            ctypes.c_long(self.first),
            ctypes.c_long(self.times),
            getattr(errno, self.error),
            os.fsencode(folder),
        )
        try:
            yield lambda: (injector.faults_struck(), os.fsdecode(injector.faults_place()))
        finally:
            injector.faults_disarm()


def move_clock(seconds: int) -> None:
    """Let the time of day be another one; that of files stays."""
    ctypes.CDLL(None).faults_clock(ctypes.c_long(seconds))
