"""How many threads there are: the environment variable, affinity, control groups."""

import os
from pathlib import Path

import pytest

from diastase_runtime import process_limits
from diastase_runtime.errors import InvalidThreadsError
from diastase_runtime.process_limits import VARIABLE, number_of_threads


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of control groups that limits nothing, and 12 processors."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(process_limits, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    return tmp_path


def test_the_variable_says_it(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, number in (("1", 1), (" 16 ", 16), ("1024", 1024), ("", 12), (" ", 12)):
        monkeypatch.setenv(VARIABLE, text)
        assert number_of_threads() == number


@pytest.mark.parametrize("text", ["0", "-2", "two", "1.5", "1025", "٣"])
def test_other_values_are_refused(groups: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InvalidThreadsError, match=VARIABLE) as caught:
        number_of_threads()
    assert repr(text) in str(caught.value)


def test_affinity_and_quota(groups: Path) -> None:
    assert number_of_threads() == 12
    limit = groups / "cpu.max"
    for text, number in (("max 100000", 12), ("250000 100000", 3), ("1000 100000", 1), ("", 12)):
        limit.write_text(text)
        assert number_of_threads() == number


def test_quota_of_the_first_version(groups: Path) -> None:
    folder = groups / "cpu"
    folder.mkdir()
    (folder / "cpu.cfs_period_us").write_text("100000")
    for quota, number in (("-1", 12), ("400000", 4), ("0", 12)):
        (folder / "cpu.cfs_quota_us").write_text(quota)
        assert number_of_threads() == number
