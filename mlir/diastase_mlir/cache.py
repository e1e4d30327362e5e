"""Where compiled libraries live: a disk cache shared by processes, or a private directory.

Libraries in the cache are loaded and run, so its directory must belong to the user and be
writable by nobody else. An entry is a library and a JSON file with its artifact and checksum;
both are written under a temporary name and renamed, the JSON last, and the library's name holds
its checksum: parallel processes can only ever see complete pairs. An entry whose checksum does
not fit is reported, recompiled and replaced, never loaded.

`DIASTASE_CACHE_DIR` names the directory; `DIASTASE_CACHE=0` switches the cache off. Then, and
where the default directory cannot be used, libraries go to a directory that dies with the process.
"""

import atexit
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import jax

from diastase_mlir.codegen.processor import HostProcessor, known_processor, llvmlite_version
from diastase_mlir.errors import CacheWarning, UnsafeCacheDirectoryError
from diastase_mlir.sources import hash_of_files, last_change, python_files
from diastase_runtime import abi
from diastase_runtime.abi import ABI_VERSION, Artifact

_STARTED = time.time() - time.process_time()
"""About when this process began to import the compiler."""


def cache_directory() -> Path | None:
    """Return the directory of the disk cache, made and checked; None where it is switched off.

    Raises if `DIASTASE_CACHE_DIR` names an unsafe one; the default directory is given up instead,
    with a warning.
    """
    try:
        return _directory()
    except UnsafeCacheDirectoryError as error:
        if os.environ.get("DIASTASE_CACHE_DIR"):
            raise
        warnings.warn(CacheWarning(f"compiling without a disk cache: {error}"), stacklevel=2)
        return None


def _directory() -> Path | None:
    """The same; raises for any unsafe one."""
    if os.environ.get("DIASTASE_CACHE", "1").lower() in ("0", "false", "off"):
        return None
    explicit = os.environ.get("DIASTASE_CACHE_DIR")
    if explicit:
        return _checked(Path(explicit).expanduser().absolute())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return _checked(Path(base) / "diastase")


@cache
def host_processor() -> HostProcessor:
    """The processor that machine code is made for, without LLVM's help where it is known."""
    try:
        return known_processor(_directory())
    except UnsafeCacheDirectoryError:
        return known_processor(None)


def _checked(directory: Path) -> Path:
    """Make the directory if need be; refuse one that others own or can write."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError as error:
        reason = f"cannot be used: {error.strerror}"
        raise UnsafeCacheDirectoryError(directory=directory, reason=reason) from None
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise UnsafeCacheDirectoryError(directory=directory, reason="belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeCacheDirectoryError(directory=directory, reason="can be written by others")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UnsafeCacheDirectoryError(directory=directory, reason="cannot be written")
    return directory


@cache
def compiler_versions() -> str:
    """Everything besides the program that its machine code depends on."""
    # Attributes where there are any: `version` reads and parses a file, 1 ms the first time.
    packages = [jax.__version__, llvmlite_version(), version("torch-mlir")]
    # While the compiler is being worked on, its version says nothing.
    files = [abi.__file__, *python_files(Path(__file__).parent)]
    sources = hash_of_sources(files)
    if last_change(files) > _STARTED:
        sources = uuid4().hex  # what this process has imported may not be what is there now
    return "\n".join([*packages, f"ABI {ABI_VERSION}", str(host_processor()), sources])


def hash_of_sources(paths: Iterable[str]) -> str:
    """Hash of what is in these files of ours."""
    try:
        return hash_of_files(paths, _directory())
    except UnsafeCacheDirectoryError:
        return hash_of_files(paths, None)


def cache_key(*parts: str) -> str:
    """Hash of a program and of all that it is compiled by and for."""
    digest = hashlib.sha256()
    for part in (compiler_versions(), *parts):
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
        try:
            entry = json.loads(record.read_text())
            artifact = Artifact.from_json(entry["artifact"])
            library = self.directory / artifact.library
            whole = entry["checksum"] == _checksum(entry["artifact"].encode(), library)
        except FileNotFoundError:
            whole, library, artifact = not record.exists(), record, None
        except (ValueError, KeyError, TypeError, OSError):
            whole, library, artifact = False, record, None
        if not whole:
            warnings.warn(
                CacheWarning(f"corrupted cache entry, compiling anew: {record}"), stacklevel=2
            )
            return None
        return None if artifact is None else replace(artifact, library=library)

    def add(self, key: str, artifact: Artifact, build: Callable[[Path], None]) -> Artifact:
        """Build a library, store it under the key, and return its artifact."""
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=".building-") as scratch:
            built = Path(scratch, "program.so")
            build(built)
            digest = hashlib.sha256(built.read_bytes()).hexdigest()
            library = self.directory / f"{key}-{digest[:16]}.so"
            stored = replace(artifact, library=Path(library.name)).to_json()
            entry = {"artifact": stored, "checksum": _checksum(stored.encode(), built)}
            record = Path(scratch, "program.json")
            record.write_text(json.dumps(entry))
            built.replace(library)
            record.replace(self.directory / f"{key}.json")
        return replace(artifact, library=library)

    def link(self, key: str, artifact: Artifact) -> None:
        """Let another key lead to a library that is in the cache; not to one that is elsewhere."""
        if artifact.library.parent != self.directory:
            return
        stored = replace(artifact, library=Path(artifact.library.name)).to_json()
        try:
            entry = {"artifact": stored, "checksum": _checksum(stored.encode(), artifact.library)}
        except OSError:  # somebody has emptied the cache meanwhile
            return
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=".building-") as scratch:
            record = Path(scratch, "program.json")
            record.write_text(json.dumps(entry))
            record.replace(self.directory / f"{key}.json")


def program_cache() -> ProgramCache | None:
    """Return the cache of compiled programs, or None where the cache is off."""
    directory = cache_directory()
    if directory is None:
        return None
    programs = directory / "programs"
    programs.mkdir(mode=0o700, exist_ok=True)
    return ProgramCache(programs)


def uncached_artifact(artifact: Artifact, build: Callable[[Path], None]) -> Artifact:
    """Build a library that lives as long as the artifact that is returned."""
    handle, name = tempfile.mkstemp(dir=_private_directory(os.getpid()), suffix=".so")
    os.close(handle)
    build(Path(name))
    kept = replace(artifact, library=Path(name))
    weakref.finalize(kept, Path(name).unlink, missing_ok=True).atexit = False
    return kept


@cache
def _private_directory(process: int) -> Path:
    """Make a directory of this process alone, removed when it ends."""
    directory = Path(tempfile.mkdtemp(prefix="diastase-"))

    def remove() -> None:
        if os.getpid() == process:  # not at the end of a forked child
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


def _checksum(artifact: bytes, library: Path) -> str:
    return hashlib.sha256(artifact + library.read_bytes()).hexdigest()
