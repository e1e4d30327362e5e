"""BLAS beside the pool: while products are shared out here, BLAS itself runs on one thread.

SciPy's OpenBLAS has threads of its own. They wait for each other without letting go of the
processor, and on a busy computer a product that takes 0.1 ms so takes 10. It can be told how many
to use, but for the whole process only; so it is told 1 when the first product of ours begins, and
what it was told before when the last one ends. Whoever else calls it in between gets one thread.
"""

from diastase_engine.language import *
from diastase_engine.threads.workers import Line

_GET = signature([], i64)
_SET = signature([i64])


class Guard(Record):
    """How BLAS is told, and who needs it to be alone."""

    get_threads: code
    set_threads: code
    lock: Line
    users: i64
    before: i64
    """What it was told before the first of the users."""


_GUARD = shared(Guard)


@kernel
def use_blas(get_threads: code, set_threads: code) -> None:
    """Say how OpenBLAS is told its number of threads; called once, before any product."""
    guard = _GUARD
    guard.get_threads = get_threads
    guard.set_threads = set_threads


@kernel
def blas_begin() -> None:
    """From here on, BLAS runs on one thread."""
    guard = _GUARD
    if is_null(guard.set_threads):
        return
    while atomic_compare_exchange(guard.lock, 0, 1) != 0:
        pause()
    if guard.users == 0:
        # The function gives 32 bits; what stands above them in the register is undefined.
        guard.before = call_through(guard.get_threads, _GET) & 0xFFFF
        call_through(guard.set_threads, _SET, 1)
    guard.users += 1
    atomic_store(guard.lock, 0)


@kernel
def blas_end() -> None:
    """From here on, as far as this product goes, BLAS runs on as many as it was told before."""
    guard = _GUARD
    if is_null(guard.set_threads):
        return
    while atomic_compare_exchange(guard.lock, 0, 1) != 0:
        pause()
    guard.users -= 1
    if guard.users == 0:
        call_through(guard.set_threads, _SET, guard.before)
    atomic_store(guard.lock, 0)


@kernel
def forget_blas() -> None:
    """Called in a child process: the products of other threads will never end in it."""
    guard = _GUARD
    atomic_store(guard.lock, 0)
    if guard.users > 0:
        guard.users = 0
        call_through(guard.set_threads, _SET, guard.before)
