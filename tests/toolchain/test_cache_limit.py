"""The size of the cache: what goes, what stays, and that nobody else is in the middle of it."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from diastase.__main__ import main
from diastase_runtime.abi import Artifact
from diastase_toolchain import cache, cache_limit
from diastase_toolchain.cache import CacheWarning, ProgramCache
from diastase_toolchain.cache_limit import entries, held, prune, size_of
from diastase_toolchain.errors import InvalidCacheLimitError

DAY = 86400.0


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A cache of its own, in which each look at the size is due."""
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_limit, "_BETWEEN", 0.0)
    monkeypatch.setattr(cache, "have_changed", lambda **_: False)
    return cache.program_cache()


def add(programs: ProgramCache, key: str, size: int = 1000, age: float = 0.0):
    """An entry whose library has this size, and that was found so long ago."""
    unbuilt = Artifact(name=f"of {key}", library=Path(), arguments=(), results=())
    artifact = programs.add(key, unbuilt, lambda path: path.write_bytes(key.encode() * size))
    used_ago(programs, key, age)
    return artifact


def used_ago(programs, key, age):
    os.utime(programs.directory / f"{key}.json", (time.time() - age,) * 2)


def names(programs):
    return [entry.name for entry in entries(programs.directory)]


def test_what_was_found_longest_ago_goes_first(programs):
    for key, days in {"a": 3, "b": 1, "c": 5, "d": 2}.items():
        add(programs, key, age=days * DAY)
    assert names(programs) == ["of c", "of a", "of d", "of b"]
    size = sum(entry.size for entry in entries(programs.directory))
    assert prune(programs.directory, size) == 0
    removed = prune(programs.directory, size - 1)
    assert names(programs) == ["of a", "of d", "of b"]
    assert 1000 < removed < 2000
    assert prune(programs.directory, 0) == size - removed
    assert [path.name for path in programs.directory.iterdir()] == ["building"]


def test_finding_an_entry_is_noted(programs):
    add(programs, "a", age=3 * DAY)
    add(programs, "b", age=2 * DAY)
    assert programs.find("a").name == "of a"
    assert programs.find("none") is None
    assert names(programs) == ["of b", "of a"]


def test_what_was_found_lately_stays(programs):
    add(programs, "a", age=3 * DAY)
    add(programs, "b", age=600)
    prune(programs.directory, 0)
    assert names(programs) == ["of b"]
    assert programs.find("b").library.exists()


def test_adding_removes_what_is_too_much(programs, monkeypatch):
    add(programs, "a", size=5000, age=3 * DAY)
    add(programs, "b", size=5000, age=DAY)
    monkeypatch.setenv("DIASTASE_CACHE_LIMIT", "12KB")
    add(programs, "c", size=5000)
    assert names(programs) == ["of b", "of c"]
    monkeypatch.setenv("DIASTASE_CACHE_LIMIT", "0")
    used_ago(programs, "c", DAY)
    add(programs, "d", size=50_000)
    assert names(programs) == ["of b", "of c", "of d"]


def test_it_is_not_looked_at_each_time(programs, monkeypatch):
    monkeypatch.setenv("DIASTASE_CACHE_LIMIT", "1KB")
    monkeypatch.setattr(cache_limit, "_BETWEEN", 1000.0)
    monkeypatch.setattr(cache_limit, "_looked", [time.monotonic()])
    add(programs, "a", age=DAY)
    add(programs, "b", age=DAY)
    assert names(programs) == ["of a", "of b"]


def test_a_library_goes_with_all_its_records(programs):
    artifact = add(programs, "a", age=3 * DAY)
    programs.link("other", replace(artifact, name="of a"))
    used_ago(programs, "other", 2 * DAY)
    add(programs, "b", age=2.5 * DAY)
    assert names(programs) == ["of b", "of a"]  # found by its other key
    prune(programs.directory, 0)
    assert list(programs.directory.glob("*.json")) == []
    assert not artifact.library.exists()


def test_what_is_no_entry_is_left_alone(programs):
    add(programs, "a", age=DAY)
    for name, text in {"x.json": "{", "y.json": "[]", "z.json": '{"artifact": 3}'}.items():
        (programs.directory / name).write_text(text)
    lost = {"artifact": json.dumps({"library": "none.so", "name": "lost"})}
    (programs.directory / "lost.json").write_text(json.dumps(lost))
    prune(programs.directory, 0)
    assert sorted(path.name for path in programs.directory.glob("*.json")) == [
        "lost.json", "x.json", "y.json", "z.json",
    ]  # fmt: skip


def test_a_library_elsewhere_is_not_removed(programs, tmp_path):
    mine = tmp_path / "mine.so"
    mine.write_text("mine")
    record = {"artifact": json.dumps({"library": str(mine), "name": "of others"})}
    (programs.directory / "x.json").write_text(json.dumps(record))
    used_ago(programs, "x", DAY)
    prune(programs.directory, 0)
    assert mine.read_text() == "mine"


def test_who_looks_up_keeps_who_removes_out(programs, monkeypatch):
    monkeypatch.setattr(cache_limit, "_ATTEMPTS", 2)
    add(programs, "a", age=DAY)
    with held(programs.directory, alone=False) as is_held, held(programs.directory, alone=False):
        assert is_held
        assert prune(programs.directory, 0) == 0
    assert prune(programs.directory, 0) > 0


def test_who_builds_an_engine_is_not_waited_for(programs):
    """That takes long, under a lock on the folder of programs itself."""
    add(programs, "a")
    folder = os.open(programs.directory, os.O_RDONLY)  # a lock belongs to what was opened
    found = []
    look_up = threading.Thread(target=lambda: found.append(programs.find("a")), daemon=True)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        look_up.start()
        look_up.join(timeout=20)
        assert [artifact.name for artifact in found] == ["of a"]
    finally:
        os.close(folder)


def test_without_locks_nothing_is_removed(programs, monkeypatch):
    def flock(*_):
        raise OSError("no locks available")

    add(programs, "a", age=DAY)
    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(cache_limit, "_ATTEMPTS", 1)
    assert prune(programs.directory, 0) == 0
    assert programs.find("a") is not None


def test_a_folder_that_cannot_be_closed_is_no_matter(programs, monkeypatch):
    close = os.close

    def closed(descriptor: int) -> None:
        close(descriptor)
        raise OSError(errno.ENOSPC, "no space left on device")

    add(programs, "a")
    with monkeypatch.context() as patched:
        patched.setattr(os, "close", closed)
        with held(programs.directory, alone=False) as is_held:
            assert is_held


LOOK_UP = """
import sys, time
from pathlib import Path
from diastase_toolchain.cache import ProgramCache
programs = ProgramCache(Path(sys.argv[1]))
found = 0
for key in map(str, range(80)):
    artifact = programs.find(key)
    time.sleep(0.01)
    if artifact is not None:
        artifact.library.read_bytes()  # as a loader does
        found += 1
print(found)
"""


def test_several_processes(programs, tmp_path):
    """Some look up and read, one removes and puts back: nothing goes between the two."""
    command = [sys.executable, "-W", "error", "-c", LOOK_UP, str(programs.directory)]
    for number in range(80):
        add(programs, str(number), age=DAY)
    copied = [Path(shutil.copy2(file, tmp_path)) for file in programs.directory.glob("*.*")]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    while others[0].poll() is None:
        prune(programs.directory, 0)
        with held(programs.directory, alone=True) as is_held:  # nobody finds it while it is young
            for file in copied if is_held else []:
                if not (programs.directory / file.name).exists():
                    shutil.copy2(file, programs.directory)
    found = [int(other.communicate()[0]) for other in others]
    assert all(other.returncode == 0 for other in others)
    assert min(found) > 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("12", 12), ("3B", 3), ("1.5 kb", 1500), ("500MB", 5 * 10**8), ("2G", 2 * 10**9)],
)
def test_sizes(text, size):
    assert size_of(text, "x") == size


@pytest.mark.parametrize("text", ["plenty", "-1", "1e9", "3 XB", "٣", "1" * 400, "GB"])
def test_what_is_no_size(text, monkeypatch):
    monkeypatch.setenv("DIASTASE_CACHE_LIMIT", text)
    with pytest.raises(InvalidCacheLimitError, match="DIASTASE_CACHE_LIMIT"):
        cache_limit.limit()


def test_the_command_line(programs, capsys, monkeypatch):
    add(programs, "a", age=DAY)
    add(programs, "b", age=60)

    def told(*arguments):
        status = main(["cache", *arguments])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    status, listed = told("list")
    assert status == 0
    assert [line.split()[3:5] for line in listed.splitlines()] == [["of", "a"], ["of", "b"]]
    size = told("size")[1]
    assert size.startswith("2 libraries, ")
    assert " of 2,000,000,000 in " in size
    assert told("verify") == (0, "2 entries are as they were written\n")
    library = entries(programs.directory)[0].library
    library.write_bytes(b"other")
    status, text = told("verify")
    assert status == 1
    assert "corrupted: " in text
    with pytest.warns(CacheWarning, match="corrupted cache entry"):
        programs.find("a")
    assert told("prune", "--limit", "none")[0] == 1
    assert "bytes removed" in told("prune", "--limit", "1KB")[1]
    assert names(programs) == ["of b"]
    assert told("clear")[0] == 0
    assert names(programs) == []
    monkeypatch.setenv("DIASTASE_CACHE", "0")
    assert told("list") == (0, "the cache is off\n")
