"""Build the whole engine in a process of its own, behind a program that runs with a part of it.

In: which engine, the key of what our process would build, and the file that it is to be in, or none
where it is to be in the cache. LLVM takes seconds for it, Python's lock would be held for one of
them, and short programs would never come to its end: so it is no thread. Where there is a cache the
process lives on when ours ends, as long as it takes; else it ends with ours. It yields to whatever
else is to be done, is told neither of Ctrl-C nor of a terminal that goes, and has no files open
that ours has.
"""

import atexit
import fcntl
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROGRAM = """\
import os, sys
os.nice(5)
sys.path[:] = {path}
from diastase_mlir.kernels.engine import build_whole
sys.exit(not build_whole(*{arguments}))
"""


def has_python() -> bool:
    """Whether we know of a Python to run: a program that embeds it names itself."""
    return Path(sys.executable or "").name.startswith("python")


def build_behind(engine: str, key: str, library: Path | None = None) -> bool:
    """Build an engine and wait until it is there; whether it is."""
    path = [os.path.abspath(folder) for folder in sys.path]
    arguments = (engine, key, None if library is None else str(library))
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=path, arguments=arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return False
    if library is not None:
        atexit.register(_end, process, os.getpid())
    return process.wait() == 0


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    if os.getpid() == owner:  # not at the end of a forked child
        process.kill()


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Be the only process that builds for this folder: others find what this one has built."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: several processes build the same
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
