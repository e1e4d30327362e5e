"""Build the whole engine in a process of its own, behind a program that runs with a part of it.

In: which engine, the key of what our process would build, and the folder of the cache that it is to
be in. LLVM takes seconds for it, Python's lock would be held for one of them, and short programs
would never come to its end: so it is no thread. The process is nobody's child, for which the user's
`os.wait` would wait; it yields to whatever else is to be done, is told neither of Ctrl-C nor of a
terminal that goes, and has no files open that ours has.

Who builds holds a lock of the folder until it ends, however it ends: so of several processes one
builds, and all know when to look. The cache says whether there is an engine then.
"""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_PROGRAM = """\
import os
if os.fork():
    os._exit(0)
os.nice(5)
import sys, threading
if {parent} >= 0:
    threading.Thread(target=lambda: (os.read({parent}, 1), os._exit(1)), daemon=True).start()
sys.path[:] = {path}
from diastase_engine.libraries.engine import build_whole
if os.fstat({lock}).st_nlink:  # or somebody has removed the folder
    build_whole({engine!r}, {key!r})
"""

_PYTHON = re.compile(r"python(\d+(\.\d+)*)?(\.exe)?")

_locks: set[int] = set()
"""Descriptors that a forked child must not keep, or it would hold our locks as long as it lives."""


def has_python() -> bool:
    """Whether we know of a Python to run: a program that embeds it names itself."""
    return _PYTHON.fullmatch(Path(sys.executable or "").name) is not None


def build_behind(
    engine: str, key: str, folder: Path, find: Callable[[], object], *, outlives: bool
) -> None:
    """Have an engine built if none is found, and return when nobody builds in the folder.

    `outlives`: the process that builds goes on when ours has ended.
    """
    # No process may start, and the folder may be gone or know no locks.
    with suppress(OSError), ExitStack() as until_it_ended:
        with _alone(folder) as lock:
            if find() is not None:
                return
            parent = -1
            if not outlives:
                parent, ours = os.pipe()
                until_it_ended.callback(os.close, ours)
            try:
                _start(engine, key, folder, lock, parent)
            finally:
                if parent >= 0:
                    os.close(parent)
        with _alone(folder):  # which is when the other one has ended
            pass


def _start(engine: str, key: str, folder: Path, lock: int, parent: int) -> None:
    path = [os.path.abspath(entry) for entry in sys.path]
    program = _PROGRAM.format(path=path, engine=engine, key=key, lock=lock, parent=parent)
    cache = {"DIASTASE_CACHE": "1", "DIASTASE_CACHE_DIR": str(folder.parent)}
    subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**os.environ, **cache},
        start_new_session=True,
        pass_fds=[descriptor for descriptor in (lock, parent) if descriptor >= 0],
    ).wait()


@contextmanager
def _alone(folder: Path) -> Generator[int]:
    """Wait until nobody else builds for this folder, nor may begin; a descriptor of the lock.

    A process that is given the descriptor keeps the lock.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    _locks.add(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        _locks.discard(descriptor)
        os.close(descriptor)


def _leave_locks() -> None:
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_leave_locks)
