"""Where compiled libraries live: a disk cache shared by processes, or a private directory.

Libraries in the cache are loaded and run, so each folder and file that is used must belong to the
user and be writable by nobody else, nor may others be able to exchange one (`trusted_files`). An
entry is a library and a JSON file with its artifact and checksum; both are written under a
temporary name and renamed, the JSON last, and the library's name holds its checksum: parallel
processes can only ever see complete pairs. An entry that is not trusted, or whose checksum does not
fit, is reported, recompiled and replaced, never loaded.

`DIASTASE_CACHE_DIR` names the directory, of which what is least recently used goes where there is
too much (`cache_limit`); `DIASTASE_CACHE=0` switches the cache off. Then, and where the directory
cannot be used or is full, libraries go to a directory that dies with the
process; so do those of a process under which our sources have changed, as what it compiles by is
neither what they were nor what they are.
"""

import atexit
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from uuid import uuid4

from diastase_runtime import abi, gate_table, trusted_files
from diastase_runtime.abi import ABI_VERSION, ON_THE_POOL, Artifact, library_file
from diastase_toolchain.cache_limit import held, keep_within_limit, touch
from diastase_toolchain.checked.switch import checks
from diastase_toolchain.errors import CacheWarning, LinkError, UnsafeCacheDirectoryError
from diastase_toolchain.processor import HostProcessor, known_processor, llvmlite_version
from diastase_toolchain.source_hash import (
    UNFINISHED,
    folders_of,
    hash_of_files,
    last_change,
    python_files,
)

_IMPORTED = time.time() - 0.5
"""Before this process began to import the compiler, also by the clock of the file system."""

_ABANDONED = 3600.0
"""Seconds after which nobody is building there any more: the process was killed."""

_PROGRAMS = "programs"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LIBRARY = re.compile(r"[\w-]+\.so")


def cache_directory() -> Path | None:
    """Return the directory of the disk cache, made and checked; None where it is switched off.

    Raises if `DIASTASE_CACHE_DIR` names an unsafe one; the default directory is given up instead,
    with a warning.
    """
    try:
        return _directory()
    except OSError as error:
        if isinstance(error, UnsafeCacheDirectoryError) and os.environ.get("DIASTASE_CACHE_DIR"):
            raise
        _warn_of_going_without(str(error))
        return None


def _directory() -> Path | None:
    """The same; raises for any unsafe one."""
    if os.environ.get("DIASTASE_CACHE", "1").lower() in ("0", "false", "off"):
        return None
    explicit = os.environ.get("DIASTASE_CACHE_DIR")
    if explicit:
        return _checked(_in_home(explicit).absolute())
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # which the standard of that variable says to ignore
        base = _in_home("~/.cache")
    return _checked(base / "diastase")


def _in_home(path: str) -> Path:
    """A path that may begin with `~`; a home folder that is not known, or relative, is none."""
    expanded = Path(os.path.expanduser(path))
    if path.startswith("~") and not expanded.is_absolute():
        reason = "is in a home folder that is not known: set HOME, or an absolute path"
        raise UnsafeCacheDirectoryError(directory=Path(path), reason=reason)
    return expanded


@cache
def host_processor() -> HostProcessor:
    """The processor that machine code is made for, without LLVM's help where it is known."""
    try:
        return known_processor(_directory())
    except OSError:
        return known_processor(None)


def _checked(directory: Path) -> Path:
    """Make the directory if need be; refuse one that others own, can write or could exchange."""
    programs = directory / _PROGRAMS
    try:
        trusted_files.make_way(directory)
        trusted_files.make_folder(directory)
        trusted_files.make_folder(programs)
    except trusted_files.UntrustedError as error:
        raise UnsafeCacheDirectoryError(directory=error.path, reason=str(error)) from None
    except OSError as error:
        if error.errno in _FULL:
            raise
        reason = f"cannot be used: {error.strerror}"
        raise UnsafeCacheDirectoryError(directory=directory, reason=reason) from None
    return directory


def _warn_of_going_without(reason: str) -> None:
    warnings.warn(CacheWarning(f"compiling without a disk cache: {reason}"), stacklevel=3)


@cache
def toolchain_version() -> str:
    """What machine code depends on besides the program: our sources, LLVM, and the processor."""
    # While the compiler is being worked on, its version says nothing.
    sources = uuid4().hex  # where what is there now is not what this process has imported
    if not have_changed():
        sources = hash_of_sources(_own_sources())
    versions = [llvmlite_version(), f"ABI {ABI_VERSION}", str(host_processor()), checks()]
    return "\n".join([*versions, sources])


_PACKAGES = ("diastase_engine", "diastase_mlir", "diastase_toolchain")
"""Who makes machine code. The compiler is above us, and need not be there: its files are asked for
by name, never imported."""


@cache
def _own_sources() -> list[str]:
    ours = [file for folder in folders_of(*_PACKAGES) for file in python_files(Path(folder))]
    return [abi.__file__, gate_table.__file__, *ours]


_unchanged_with = [0]
"""How many modules there were when our sources were last found to be those of the start."""


def have_changed(*, since_import: bool = True) -> bool:
    """Whether our sources have changed: while this process imported them, or until now.

    For what was hashed when the process began, they may change afterwards: as long as nothing has
    been imported, the answer of the last time holds, and no file is asked.
    """
    modules = len(sys.modules)
    if since_import and modules == _unchanged_with[0]:
        return False
    try:
        changed = last_change(_own_sources()) > _IMPORTED
    except OSError:  # a new version is being put in the place of ours
        changed = True
    if changed:
        return True
    _unchanged_with[0] = modules
    return False


def hash_of_sources(paths: Iterable[str]) -> str:
    """Hash of what is in these files of ours."""
    try:
        return hash_of_files(paths, _directory())
    except OSError:
        return hash_of_files(paths, None)


def cache_key(*parts: str) -> str:
    """Hash of a program (its text, versions of what has lowered it) and of what compiles it."""
    digest = hashlib.sha256()
    for part in (toolchain_version(), *parts):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


@dataclass(frozen=True)
class ProgramCache:
    """Compiled programs in a directory, by key."""

    directory: Path

    def find(self, key: str) -> Artifact | None:
        """Return the entry of this key, if there is one and it is whole."""
        record = self.directory / f"{key}.json"
        with held(self.directory, alone=False):
            found = self.looked_up(record)
            if isinstance(found, Artifact):
                touch(record)
        if isinstance(found, str):
            message = f"{found} cache entry, compiling anew: {record}"
            warnings.warn(CacheWarning(message), stacklevel=2)
            return None
        return found

    def looked_up(self, record: Path) -> Artifact | str | None:
        """The entry in a file, or what is wrong with it; None where there is none."""
        try:
            return self._read(record)
        except FileNotFoundError:
            return "corrupted" if os.path.exists(record) else None  # `Path.exists` may raise
        except trusted_files.UntrustedError as error:
            return f"untrusted ({error})"
        except (ValueError, KeyError, TypeError, OSError, RecursionError, MemoryError):
            return "corrupted"

    def _read(self, record: Path) -> Artifact:
        """The entry in this file; raises one of many errors if there is anything wrong."""
        entry = json.loads(trusted_files.read(record))
        artifact = Artifact.from_json(entry["artifact"])
        if not _LIBRARY.fullmatch(str(artifact.library)):
            raise ValueError("a path that leads elsewhere")
        library = self.directory / artifact.library
        if entry["checksum"] != _checksum(entry["artifact"].encode(), trusted_files.read(library)):
            raise ValueError("other bytes than those that were stored")
        return replace(artifact, library=library)

    def add(self, key: str, artifact: Artifact, build: Callable[[Path], None]) -> Artifact:
        """Build a library, store it under the key if that can be, and return its artifact.

        `build` is called again, for another folder, where it fails in this one.
        """
        if have_changed():
            return uncached_artifact(artifact, build)
        try:
            return self._added(key, artifact, build)
        except (OSError, LinkError) as error:  # a linker says in its own words that a disk is full
            reason = str(error)
        kept = uncached_artifact(artifact, build)  # raises what is no fault of the cache
        _warn_of_going_without(reason)
        return kept

    def _added(self, key: str, artifact: Artifact, build: Callable[[Path], None]) -> Artifact:
        with self._scratch() as scratch:
            built = Path(scratch, "program.so")
            build(built)
            built.chmod(trusted_files.OWN_LIBRARY)
            content = built.read_bytes()
            library = self.directory / library_file(key, content)
            record = self._record(Path(scratch), replace(artifact, library=library), content)
            with held(self.directory, alone=False):
                built.replace(library)
                record.replace(self.directory / f"{key}.json")
        keep_within_limit(self.directory)
        return replace(artifact, library=library)

    def link(self, key: str, artifact: Artifact) -> None:
        """Let another key lead to a library that is in the cache; not to one that is elsewhere."""
        if artifact.library.parent != self.directory:
            return
        with suppress(OSError):  # the disk is full, or somebody has emptied the cache meanwhile
            with self._scratch() as scratch, held(self.directory, alone=False):
                content = trusted_files.read(artifact.library)
                record = self._record(Path(scratch), artifact, content)
                record.replace(self.directory / f"{key}.json")

    def _scratch(self) -> "tempfile.TemporaryDirectory[str]":
        """Make a folder in which to build; remove what killed processes have left."""
        folder = self.directory / "building"
        trusted_files.make_folder(folder)
        for path in (*folder.iterdir(), *self.directory.parent.glob(f"{UNFINISHED}*")):
            with suppress(OSError):
                status = path.lstat()
                if status.st_mtime < time.time() - _ABANDONED:
                    shutil.rmtree(path) if stat.S_ISDIR(status.st_mode) else path.unlink()
        return tempfile.TemporaryDirectory(dir=folder)

    def _record(self, scratch: Path, artifact: Artifact, content: bytes) -> Path:
        """Write what the cache knows of a library, `content`; not where other libraries are."""
        name = Path(artifact.library.name)
        others: dict[str, Path | None] = dict.fromkeys((*ON_THE_POOL, "threads", "elementary"))
        stored = replace(artifact, library=name, **others).to_json()
        record = scratch / "program.json"
        record.touch(trusted_files.OWN_FILE)
        entry = {"artifact": stored, "checksum": _checksum(stored.encode(), content)}
        record.write_text(json.dumps(entry))
        return record


def program_cache() -> ProgramCache | None:
    """Return the cache of compiled programs, or None where the cache is off."""
    directory = cache_directory()
    return None if directory is None else ProgramCache(directory / _PROGRAMS)


def private_cache() -> ProgramCache:
    """A cache of this process alone, removed when it ends."""
    return ProgramCache(_checked(_private_directory(os.getpid())) / _PROGRAMS)


def uncached_artifact(artifact: Artifact, build: Callable[[Path], None]) -> Artifact:
    """Build a library that lives as long as the artifact that is returned."""
    try:
        handle, name = tempfile.mkstemp(dir=_private_directory(os.getpid()), suffix=".so")
        os.close(handle)
    except OSError as error:
        raise LinkError(command="making a temporary file", reason=str(error)) from None
    kept = replace(artifact, library=Path(name))
    weakref.finalize(kept, Path(name).unlink, missing_ok=True).atexit = False
    build(kept.library)
    return kept


@cache
def _private_directory(process: int) -> Path:
    """Make a directory of this process alone, removed when it ends."""
    directory = trusted_files.temporary_folder("diastase-")

    def remove() -> None:
        if os.getpid() == process:  # not at the end of a forked child
            trusted_files.remove_folder(directory)

    atexit.register(remove)
    return directory


def _checksum(artifact: bytes, library: bytes) -> str:
    return hashlib.sha256(artifact + library).hexdigest()
