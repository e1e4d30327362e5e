"""The thread pool through ctypes: what it hands out, who gets it, forks, and that it sleeps."""

import ctypes
import os
import threading
import time
from collections.abc import Callable

import pytest

from diastase_engine import threads_library
from diastase_runtime.abi import library_symbol
from forks import forked

I64, POINTER = ctypes.c_int64, ctypes.c_void_p
BODY = ctypes.CFUNCTYPE(None, POINTER, I64, I64, I64)
Call = tuple[int, int, int]
"""First and last iteration, and the worker."""


class Pool:
    """The pool of this process, and what it calls."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(threads_library()))

    def configure(self, threads: int) -> None:
        self._library[library_symbol("threads", "configure")](I64(threads))

    def run(self, count: int, grain: int, action: Callable[[int], object] = lambda _: 0):
        """Run `action` for the first iteration of every chunk; gives the calls that were made."""
        calls: list[Call] = []

        @BODY
        def body(_: int, first: int, last: int, worker: int) -> None:
            calls.append((first, last, worker))
            action(first)

        run = self._library[library_symbol("threads", "parallel_for")]
        run(body, POINTER(), I64(count), I64(grain))
        return sorted(calls)


@pytest.fixture
def pool():
    pool = Pool()
    pool.configure(3)
    yield pool
    pool.configure(1)


def chunks(calls: list[Call]) -> list[tuple[int, int]]:
    return [(first, last) for first, last, _ in calls]


@pytest.mark.parametrize(("count", "grain"), [(1, 1), (7, 3), (8, 4), (100, 1), (5, 9)])
def test_every_iteration_runs_once(pool: Pool, count: int, grain: int) -> None:
    for _ in range(20):
        calls = pool.run(count, grain)
        expected = [(first, min(first + grain, count)) for first in range(0, count, grain)]
        assert chunks(calls) == expected
        assert {worker for *_, worker in calls} <= {0, 1, 2}
    assert pool.run(0, 3) == pool.run(-1, 3) == []


def test_threads_share_the_work_and_no_number(pool: Pool) -> None:
    at_work: list[threading.Thread] = []
    together = threading.Barrier(3)

    def action(first: int) -> None:
        if first < 3:
            together.wait(30)  # three threads are here at once, or this raises
        at_work.append(threading.current_thread())

    calls = pool.run(3, 1, action)
    assert sorted(worker for *_, worker in calls) == [0, 1, 2]
    assert threading.current_thread() in at_work


def test_one_thread_makes_none(pool: Pool) -> None:
    pool.configure(1)
    assert pool.run(10, 2, lambda _: threading.get_ident()) == [(0, 10, 0)]


def test_a_loop_inside_of_a_loop_runs_by_itself(pool: Pool) -> None:
    inner: list[list[Call]] = []
    pool.run(4, 1, lambda _: inner.append(pool.run(6, 2)))
    assert inner == [[(0, 6, 0)]] * 4


def test_a_second_caller_runs_by_itself(pool: Pool) -> None:
    entered, leave = threading.Event(), threading.Event()

    def action(_: int) -> None:
        entered.set()
        leave.wait(30)

    first = threading.Thread(target=pool.run, args=(2, 1, action))
    first.start()
    entered.wait(30)
    assert pool.run(6, 2) == [(0, 6, 0)]
    leave.set()
    first.join()
    assert len(pool.run(6, 2)) == 3


@pytest.mark.filterwarnings("ignore:.*fork")  # that a child may deadlock, which is what we test
def test_a_forked_child_makes_its_own(pool: Pool) -> None:
    """Also where another thread has the pool, and its mutex, as the process forks."""
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            pool.run(50, 1)

    busy = threading.Thread(target=keep_busy)
    busy.start()

    def makes_its_own() -> bool:
        right = all(len(pool.run(9, 2)) in (1, 5) for _ in range(20))
        return right and len(pool.run(9, 2)) == 5

    children: list[int] = []
    for _ in range(5):
        children.append(forked(makes_its_own))
    statuses = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    busy.join()
    assert statuses == [0] * 5
    assert len(pool.run(9, 2)) == 5


def test_idle_threads_sleep(pool: Pool) -> None:
    pool.run(100, 1)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.02
