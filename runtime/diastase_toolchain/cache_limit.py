"""The size of the cache: what is in it, and what goes when it is full, least recently used first.

`DIASTASE_CACHE_LIMIT` is the size, `2GB` by default, `0` for no limit. Who finds an entry touches
its record, under a lock that many may hold; who removes entries holds it alone, and leaves those
that were found within the last hours. So nothing goes between look-up and load, in whichever
process, and what is in use may be more than the limit. Where a file system has no locks nothing is
removed.

Not the times of access, which many systems do not keep; no list of what is in use, which would have
to be trusted, and repaired after a crash.

The trap: several records may lead to one library. It goes with all of them, records first: a record
without a library would be reported as damage.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from diastase_toolchain.errors import InvalidCacheLimitError

VARIABLE = "DIASTASE_CACHE_LIMIT"
_DEFAULT = 2 * 10**9
_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?B?)", re.IGNORECASE | re.ASCII)

_TOUCHED = 3600.0
"""Seconds for which a look-up need not be noted again."""
RECENT = 2 * _TOUCHED
"""Seconds for which what was found is not removed."""
_ATTEMPTS, _PAUSE = 50, 0.01
_BETWEEN = 60.0
"""Seconds after which a process looks again whether the cache is too large."""


@dataclass(frozen=True)
class Entry:
    """A library in the cache, and the records that lead to it."""

    name: str
    """The user's name of the program, or the library's."""
    library: Path
    records: tuple[Path, ...]
    size: int
    used: float
    """When it was last found, as the clock of the file system has it, to the hour."""


def limit() -> int:
    """Bytes that the cache may have; 0 for any number."""
    text = os.environ.get(VARIABLE, "").strip()
    return size_of(text, VARIABLE) if text else _DEFAULT


def size_of(text: str, what: str) -> int:
    """Read a size such as `500MB`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidCacheLimitError(variable=what, value=text)
    return int(float(match[1]) * _UNITS[match[2][:1].upper()])


_locks: set[int] = set()
"""Descriptors that a forked child must not keep, or it would hold our locks as long as it lives."""


@contextmanager
def held(directory: Path, *, alone: bool) -> Generator[bool]:
    """Hold the lock of a directory of programs; False where there are no locks, or others stay.

    It is on the folder above: who builds an engine holds one on the directory itself, for long.
    """
    try:
        lock = os.open(directory.parent, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    except OSError:
        yield False
        return
    _locks.add(lock)
    try:
        yield _is_locked_alone(lock) if alone else _is_locked(lock, fcntl.LOCK_SH)
    finally:
        if lock in _locks:  # or this is a child
            _locks.discard(lock)
            with suppress(OSError):  # nothing was written that could be lost
                os.close(lock)


def _is_locked(lock: int, how: int) -> bool:
    with suppress(OSError):
        fcntl.flock(lock, how)
        return True
    return False


def _is_locked_alone(lock: int) -> bool:
    """Look-ups hold it for a millisecond; a process that was stopped is not waited for."""
    for _ in range(_ATTEMPTS):
        if _is_locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
        time.sleep(_PAUSE)
    return False


def _leave_locks() -> None:
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_leave_locks)


def touch(record: Path) -> None:
    """Note that an entry was found, if that is not known."""
    with suppress(OSError):
        if record.stat().st_mtime < time.time() - _TOUCHED:
            os.utime(record)


def entries(directory: Path) -> list[Entry]:
    """What is in a directory of programs, least recently used first; what is no entry is not."""
    records: dict[Path, list[tuple[Path, str, os.stat_result]]] = {}
    for record in directory.glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            artifact = json.loads(json.loads(record.read_text())["artifact"])
            library = directory / Path(artifact["library"]).name
            known = (record, str(artifact["name"]), record.stat())
            records.setdefault(library, []).append(known)
    found: list[Entry] = []
    for library, known in records.items():
        with suppress(OSError):
            size = library.stat().st_size + sum(status.st_size for _, _, status in known)
            paths = tuple(record for record, _, _ in known)
            used = max(status.st_mtime for _, _, status in known)
            found.append(Entry(known[0][1], library, paths, size, used))
    return sorted(found, key=lambda entry: entry.used)


def prune(directory: Path, most: int, *, recent: float = RECENT) -> int:
    """Remove entries until there are no more bytes than that; how many bytes are gone.

    Those that were found within so many seconds stay.
    """
    with held(directory, alone=True) as is_held:
        if not is_held:
            return 0
        known = entries(directory)
        removed, left = 0, sum(entry.size for entry in known)
        for entry in known:
            if left - removed <= most or entry.used > time.time() - recent:
                break
            removed += _removed(entry)
        return removed


def _removed(entry: Entry) -> int:
    try:
        _unlink(entry.records)
        _unlink([entry.library])
    except OSError:
        return 0
    return entry.size


def _unlink(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


_looked = [float("-inf")]
"""When this process last looked whether the cache is too large."""


def keep_within_limit(directory: Path) -> None:
    """Remove what is too much, if it is time to look again; called after an entry was added."""
    most = limit()
    if most == 0 or time.monotonic() < _looked[0] + _BETWEEN:
        return
    _looked[0] = time.monotonic()
    with suppress(OSError):
        if _size_of(directory) > most:
            prune(directory, most)


def _size_of(directory: Path) -> int:
    """The size of all files, without reading them."""
    with os.scandir(directory) as files:
        return sum(file.stat(follow_symlinks=False).st_size for file in files if file.is_file())
