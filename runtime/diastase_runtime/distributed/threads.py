"""How many threads programs have while elements run, in this process.

Results may depend on that number in their last digits, so all processes of a map have the same. The
thread pools of saved functions belong to the process: maps that want other numbers wait for each
other, and afterwards there are as many as before. Calls that others make meanwhile have so many,
too.
"""

import ctypes
import os
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from diastase_runtime.abi import Artifact, library_symbol
from diastase_runtime.libraries import BlasThreads, blas_threads, thread_pool
from diastase_runtime.process_limits import number_of_threads


class _Use:
    """Who computes with how many threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.number, self.users = 0, 0
        self.pools: set[Path] = set()
        self.blas: BlasThreads | None = None
        self.blas_before = 0


_of_process = [_Use()]


def _forget() -> None:
    _of_process[0] = _Use()  # a forked child has none of the threads that compute


os.register_at_fork(after_in_child=_forget)


@contextmanager
def threads_at_once(number: int, artifacts: Iterable[Artifact]) -> Generator[None]:
    """Let programs have so many threads, each of them, as long as this goes on."""
    use = _of_process[0]
    with use.changed:
        use.changed.wait_for(lambda: use.users == 0 or use.number == number)
        use.number = number
        use.users += 1
        try:
            _configure(use, list(artifacts))
        except BaseException:
            _leave(use)
            raise
    try:
        yield
    finally:
        with use.changed:
            _leave(use)


def _configure(use: _Use, artifacts: list[Artifact]) -> None:
    pools = {artifact.threads for artifact in artifacts if artifact.threads is not None}
    for pool in pools - use.pools:
        _set(pool, use.number)
        use.pools.add(pool)
    imported = {entry.library for artifact in artifacts for entry in artifact.imports}
    if use.blas is None and imported & {"lapack", "blas"}:
        use.blas = blas_threads()
        if use.blas is not None:
            use.blas_before = use.blas.get()
            use.blas.set(use.number)


def _leave(use: _Use) -> None:
    use.users -= 1
    if use.users:
        return
    for pool in use.pools:
        _set(pool, number_of_threads())
    if use.blas is not None:
        use.blas.set(use.blas_before)
    use.pools.clear()
    use.blas = None
    use.changed.notify_all()


def _set(pool: Path, number: int) -> None:
    thread_pool(pool)[library_symbol("threads", "configure")](ctypes.c_int64(number))
