"""Collections of garbage are deferred while we make objects; nothing else about them changes."""

import gc
import threading
from collections.abc import Generator

import pytest

from diastase import qjit
from diastase_toolchain.gc_pause import fewer_collections


@pytest.fixture(autouse=True)
def thresholds() -> Generator[tuple[int, int, int]]:
    """The collector as it was before the test, put back after it."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_thresholds_are_as_before_after_the_outermost(thresholds: tuple[int, int, int]) -> None:
    with fewer_collections():
        with fewer_collections():
            assert gc.get_threshold()[0] > thresholds[0]
        assert gc.get_threshold()[0] > thresholds[0]
    assert gc.get_threshold() == thresholds


def test_thresholds_are_as_before_after_an_error(thresholds: tuple[int, int, int]) -> None:
    with pytest.raises(ZeroDivisionError), fewer_collections():
        raise ZeroDivisionError
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("own", [(0, 10, 10), (10_000_000, 10, 10)])
def test_a_collector_that_is_off_or_lazier_is_left_alone(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with fewer_collections():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_the_user_sets_meanwhile_stays() -> None:
    with fewer_collections():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_threads_that_overlap_leave_it_as_it_was(thresholds: tuple[int, int, int]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with fewer_collections():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with fewer_collections():
        thread.start()
        inside.wait()
    assert gc.get_threshold() != thresholds
    leave.set()
    thread.join()
    assert gc.get_threshold() == thresholds


def test_tracing_defers_them_and_calls_do_not(thresholds: tuple[int, int, int]) -> None:
    seen: list[tuple[int, int, int]] = []

    @qjit
    def f(x: float) -> float:
        seen.append(gc.get_threshold())
        return x + 1

    assert f(1.0) == 2.0
    assert seen[0][0] > thresholds[0]
    assert gc.get_threshold() == thresholds
