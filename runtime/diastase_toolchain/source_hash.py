"""What is in our own sources, as one hash: part of every key in the cache.

In: paths, and the cache's directory. Out: a hash of the files' contents. Reading 330 files is a
third of the time in which a program is found in the cache, so the hash is kept there as a note
under what the file system says of the files: as `git` does it, with the time of the last change of
the file's status, which nobody can set.

A note begins with a checksum of the rest: by what is noted machine code is found, and made.

The trap: a file may be written twice within one tick of the file system's clock, so nothing is
noted about files that have just been changed.
"""

import hashlib
import os
import string
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path

from diastase_runtime import trusted_files

_SETTLED = 2.0
"""Seconds; more than a tick of any file system's clock."""

UNFINISHED = "unfinished-"
"""How the names of notes begin that are being written, or were when their process was killed."""


def folders_of(*packages: str) -> list[str]:
    """Folders of those packages that there are; by name, so also of packages above this one."""
    specs = [find_spec(name) for name in packages]
    return [path for spec in specs if spec for path in spec.submodule_search_locations or ()]


def python_files(directory: Path) -> Iterator[str]:
    """Paths of all sources in a folder and its subfolders, in a fixed order."""
    for entry in sorted(os.scandir(directory), key=attrgetter("name")):
        if entry.is_dir():
            yield from python_files(Path(entry.path))
        elif entry.name.endswith(".py"):
            yield entry.path


def last_change(paths: Iterable[str]) -> float:
    """When the last of these files was changed, or put where it is."""
    return max(os.stat(path).st_ctime for path in paths)


def hash_of_files(paths: Iterable[str], directory: Path | None) -> str:
    """Hash of what is in these files, from a note in this directory if there is one."""
    paths = list(paths)
    if directory is None:
        return _hash_of_contents(paths)
    stamps = [(path, *_stamp(os.stat(path))) for path in paths]
    description = hashlib.sha256(repr(stamps).encode("utf8", "surrogatepass")).hexdigest()
    note = directory / f"sources-{description[:32]}"
    known = _read_hash(note)
    if known is not None:
        return known
    contents = _hash_of_contents(paths)
    unchanged = stamps == [(path, *_stamp(os.stat(path))) for path in paths]
    if unchanged and last_change(paths) < time.time() - _SETTLED:
        write_note(note, contents)
    return contents


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """What changes whenever a file is written or replaced."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return (status.st_dev, status.st_ino, status.st_size, *times)


def _hash_of_contents(paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    return digest.hexdigest()


def _read_hash(note: Path) -> str | None:
    text = read_note(note)
    is_hash = text is not None and len(text) == 64 and set(text) <= set(string.hexdigits)
    return text if is_hash else None


def read_note(note: Path) -> str | None:
    """What is in a note, if it is there, trusted and as it was written."""
    try:
        checksum, _, text = trusted_files.read(note).decode().partition(" ")
    except (OSError, ValueError):
        return None
    return text if checksum == _checksum(text) else None


def write_note(note: Path, text: str) -> None:
    """Write a note into the cache's directory in one step; who cannot, does without it."""
    written = partial(tempfile.NamedTemporaryFile, "w", prefix=UNFINISHED, dir=note.parent)
    # Removing the file fails where it has become the note.
    with suppress(OSError), written() as file:
        file.write(f"{_checksum(text)} {text}")
        file.flush()
        os.replace(file.name, note)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
