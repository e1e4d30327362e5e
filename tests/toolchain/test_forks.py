"""Forks wait for other threads that compile; where they do not end, the child says so."""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import jax.numpy as jnp
import numpy as np
import pytest
from llvmlite.binding import ffi

from diastase import qjit
from diastase_toolchain import forks
from diastase_toolchain.errors import ForkedWhileCompilingError
from diastase_toolchain.machine_code import target_machine
from forks import forked

pytestmark = pytest.mark.filterwarnings("ignore:.*fork")


@contextmanager
def compiling_thread(until: Callable[[], object]) -> Generator[None]:
    """Inside, another thread compiles until something has happened."""
    begun = threading.Event()

    def work() -> None:
        with forks.without_forks():
            begun.set()
            until()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        thread.join()


def status(check: Callable[[], bool]) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(forked(check), 0)[1])


def compiles() -> bool:
    return float(qjit(lambda x: jnp.sin(x) + 2)(1.0)) == np.sin(1.0) + 2


def refuses() -> bool:
    with pytest.raises(ForkedWhileCompilingError, match="when this process was forked"):
        compiles()
    return True


def test_a_fork_waits_for_a_thread_that_compiles():
    ended = []

    def until() -> None:
        threading.Event().wait(0.3)
        ended.append(True)

    with compiling_thread(until):
        assert status(lambda: bool(ended) and compiles()) == 0


def test_where_a_thread_goes_on_the_child_calls_what_is_compiled_and_compiles_nothing(monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    known = qjit(lambda x: x + 1)
    known(1.0)
    over = threading.Event()
    with compiling_thread(over.wait):
        assert status(lambda: float(known(2.0)) == 3.0 and refuses()) == 0
        over.set()
    assert status(compiles) == 0


def ends(child: int, seconds: float = 30.0) -> bool:
    """Whether a child ends well in so many seconds; it is killed if it does not end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, ended = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(ended) == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def test_a_child_destroys_nothing_that_a_thread_had_whose_locks_are_held(monkeypatch):
    """It hung before it ran anything: llvmlite locks to destroy a target machine."""
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    over = threading.Event()

    def within_llvm() -> None:
        target_machine()
        with ffi.lib._lock:
            over.wait()

    with compiling_thread(within_llvm):
        has_ended = ends(forked(lambda: True))
        over.set()
    assert has_ended
    assert not forks._compilations.kept


def test_a_fork_waits_for_a_thread_that_collects_what_llvm_made():
    """A thread that compiles nothing has llvmlite's lock, as it destroys somebody's modules."""
    begun = threading.Event()

    def destroy() -> None:
        with ffi.lib._lock:
            begun.set()
            time.sleep(0.3)

    def compiles_what_no_cache_has() -> bool:
        number = time.time()
        return float(qjit(lambda x: x + number)(1.0)) == 1.0 + number

    thread = threading.Thread(target=destroy)
    thread.start()
    begun.wait()
    assert ends(forked(compiles_what_no_cache_has))
    thread.join()
    assert compiles_what_no_cache_has()


def test_who_compiles_may_fork():
    statuses = []

    @qjit
    def function(x):
        statuses.append(status(lambda: True))
        return x * 2

    assert float(function(2.0)) == 4.0
    assert statuses == [0]


def test_children_compile_whatever_other_threads_compile():
    over = threading.Event()

    def compile_on() -> None:
        for number in range(1000):
            qjit(lambda x: x * (number + 0.5))(1.0)  # noqa: B023
            if over.is_set():
                break

    threads = [threading.Thread(target=compile_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [status(compiles) for _ in range(4)] == [0] * 4
    finally:
        over.set()
        for thread in threads:
            thread.join()
