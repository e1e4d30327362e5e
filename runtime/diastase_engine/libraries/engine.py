"""The engine and the other libraries that programs import from, for this processor.

In: programs. Out: paths of libraries whose functions are `abi.library_symbol(library, name)`.
The whole engine takes LLVM seconds, once for each machine and version. A program that finds none
gets an engine of what it calls, a fifth of that work (`build`), and the whole one is built
behind it (`background_build`): programs that are loaded by then are told (`when_whole`).
"""

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from diastase_engine.libraries.background_build import build_behind, has_python
from diastase_engine.libraries.kernel_library import (
    builders,
    built_library,
    found_library,
    key_of,
    library,
)
from diastase_runtime.abi import (
    CALLED_BY_THE_LOADER,
    ENGINES,
    ON_THE_POOL,
    STATE_VECTORS,
    Artifact,
)
from diastase_toolchain.background import begun_in_background, enter
from diastase_toolchain.cache import have_changed, private_cache, program_cache

if TYPE_CHECKING:
    from diastase_engine.libraries.build import EngineInParts

_FOLDERS = {
    "engine": "state_vector",
    "single": "state_vector",
    "mixed": "density_matrix",
    "single_mixed": "density_matrix",
    "gpu": "state_vector",
    "single_gpu": "state_vector",
    "lanes_gpu": "lanes",
    "lanes": "lanes",
    "elementary": "vector_math",
    "foreign": "xla_ffi",
}
"""Where libraries are written whose folders are called otherwise."""

Listener = Callable[[Path, Path], None]
"""Is told of an engine, and of the whole one that is to be used instead of it."""


class _Engine:
    """The engine in one precision: the whole one, or until there is one what programs call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._folder = _FOLDERS[name]
        self._whole: Artifact | None = None
        self._listeners: list[Listener] = []
        self._parts: list[Artifact] = []
        self._functions: frozenset[str] = frozenset()
        self._in_parts: EngineInParts | None = None
        self.begin()

    def begin(self) -> None:
        """Begin; also in a forked process, which has no threads and leaves what they were doing."""
        self._lock = threading.RLock()
        self._is_awaited = False

    def whole(self) -> Path:
        """Path of the whole one, built if there is none."""
        with self._lock:
            self._forget_what_is_gone()
            return (self._whole or self._take(library(self._name, self._folder))).library

    def having(self, functions: frozenset[str]) -> Path:
        """Path of one that has these functions."""
        with self._lock:
            self._forget_what_is_gone()
            if self._whole is None and (found := self._found(self._name)) is not None:
                self._take(found)
            if self._whole is not None or not has_python() or have_changed(since_import=False):
                return self.whole()
            wanted = self._functions | functions | CALLED_BY_THE_LOADER
            if wanted != self._functions:
                self._parts.append(self._part(wanted))
                self._functions = wanted
            if not self._is_awaited:
                with suppress(RuntimeError):  # the interpreter ends, and starts no threads
                    awaits = threading.Thread(target=self._await, name="diastase-engine")
                    awaits.daemon = True
                    awaits.start()
                    self._is_awaited = True
            return self._parts[-1].library

    def _forget_what_is_gone(self) -> None:
        """Somebody may have emptied the cache, or what was there was damaged."""
        if self._whole is not None and not os.path.exists(self._whole.library):
            self._whole, self._is_awaited = None, False
        if self._parts and not os.path.exists(self._parts[-1].library):
            self._functions = frozenset()

    def tell(self, listener: Listener) -> None:
        """Tell somebody when there is the whole one, and not before."""
        self._listeners.append(listener)

    def _part(self, functions: frozenset[str]) -> Artifact:
        digest = hashlib.sha256(" ".join(sorted(functions)).encode()).hexdigest()[:16]
        name = f"{self._name}-of-{digest}"
        return self._found(name) or built_library(
            name, self._folder, lambda path: self._build_part(functions, path)
        )

    def _found(self, name: str) -> Artifact | None:
        return found_library(name, self._folder)

    def _build_part(self, functions: frozenset[str], path: Path) -> None:
        enter(f"build what is needed of the {self._name} library, once")
        meanwhile = begun_in_background(threads_library)  # which whoever uses an engine needs, too
        try:
            in_parts = self._in_parts or getattr(builders, f"{self._name}_in_parts")()
            in_parts.build(functions, path)
            self._in_parts = in_parts
        finally:
            if meanwhile is not None:
                meanwhile.exception()  # who needs it tries again

    def _await(self) -> None:
        """Have the whole one built, in a thread that waits for it."""
        with suppress(Exception):  # where it cannot be, programs keep what they have
            made = self._made_behind()
            if made is not None:
                with self._lock:
                    self._take(made)

    def _made_behind(self) -> Artifact | None:
        key = key_of(self._folder)
        entry = f"{self._name}-{key}"
        programs = program_cache()
        if programs is not None and self._parts[-1].library.parent == programs.directory:
            find = partial(programs.find, entry)
            build_behind(self._name, key, programs.directory, find, outlives=True)
            if (whole := find()) is not None:
                return whole
        private = private_cache()  # there is no other, or it is full
        find = partial(private.find, entry)
        build_behind(self._name, key, private.directory, find, outlives=False)
        return find()

    def _take(self, whole: Artifact) -> Artifact:
        """Use this one from now on; those before are kept: a library may go with its artifact."""
        if self._whole is None:
            self._whole, self._in_parts = whole, None
            for part in self._parts:
                for listener in self._listeners:
                    listener(part.library, whole.library)
        return self._whole


_ENGINES = {name: _Engine(name) for name in ENGINES}


def when_whole(listener: Listener) -> None:
    """Tell somebody whenever there is a whole engine to be used instead of one that was given."""
    for engine in _ENGINES.values():
        engine.tell(listener)


def build_whole(name: str, key: str) -> None:
    """Build an engine if its key is this one: for `build_behind`."""
    if key_of(_FOLDERS[name]) == key:  # or sources have changed meanwhile
        _ENGINES[name].whole()


def engine_library() -> Path:
    """Path of the whole engine, built if it is not in the cache."""
    return _ENGINES["engine"].whole()


def single_library() -> Path:
    """Path of the whole engine for amplitudes in single precision, likewise."""
    return _ENGINES["single"].whole()


def mixed_library() -> Path:
    """Path of the whole engine of density matrices, likewise."""
    return _ENGINES["mixed"].whole()


def single_mixed_library() -> Path:
    """Path of the whole engine of density matrices in single precision, likewise."""
    return _ENGINES["single_mixed"].whole()


def lanes_library() -> Path:
    """Path of the whole engine of state vectors side by side in vectors, likewise."""
    return _ENGINES["lanes"].whole()


class _Others:
    """Libraries that are found or built whole; kept, as an uncached one dies with its artifact."""

    def __init__(self) -> None:
        self._libraries: dict[str, Artifact] = {}
        self.begin()

    def begin(self) -> None:
        """Begin; also in a forked process, whose parent's other threads may have held a lock."""
        self._locks: dict[str, threading.Lock] = {}

    def path(self, name: str) -> Path:
        """Where a library is, the same for all threads; who wants another one does not wait."""
        with self._locks.setdefault(name, threading.Lock()):
            known = self._libraries.get(name)
            if known is None or not os.path.exists(known.library):  # somebody has emptied the cache
                self._libraries[name] = library(name, _FOLDERS.get(name, name))
            return self._libraries[name].library


_OTHERS = _Others()


def threads_library() -> Path:
    """Path of the thread pool, likewise."""
    return _OTHERS.path("threads")


def elementary_library() -> Path:
    """Path of the library of elementary functions, likewise."""
    return _OTHERS.path("elementary")


def sorting_library() -> Path:
    """Path of the library that sorts, likewise."""
    return _OTHERS.path("sorting")


def fourier_library() -> Path:
    """Path of the library of Fourier transforms, likewise."""
    return _OTHERS.path("fourier")


def gpu_library() -> Path:
    """Path of the engine of state vectors on a GPU, likewise."""
    return _OTHERS.path("gpu")


def single_gpu_library() -> Path:
    """Path of that in single precision, likewise."""
    return _OTHERS.path("single_gpu")


def lanes_gpu_library() -> Path:
    """Path of the engine of state vectors side by side on a GPU, likewise."""
    return _OTHERS.path("lanes_gpu")


def foreign_library() -> Path:
    """Path of the library by which XLA calls programs, likewise."""
    return _OTHERS.path("foreign")


def with_libraries(artifact: Artifact, *, whole: bool = False, on_gpu: bool = False) -> Artifact:
    """Say where the libraries are that a program imports from, and whole engines if so asked.

    `on_gpu`: engines of state vectors are those that are built for a GPU.
    """
    called = {
        name: frozenset(entry.name for entry in artifact.imports if entry.library == name)
        for name in {entry.library for entry in artifact.imports}
    }
    engines: dict[str, Path | None] = {
        name: (engine.whole() if whole else engine.having(called[name])) if name in called else None
        for name, engine in _ENGINES.items()
        if not (on_gpu and name in STATE_VECTORS)
    }
    if on_gpu:
        engines["engine"] = gpu_library() if "engine" in called else None
        engines["single"] = single_gpu_library() if "single" in called else None
        engines["lanes"] = lanes_gpu_library() if "lanes" in called else None
    return replace(
        artifact,
        **engines,
        threads=threads_library() if called.keys() & {*ON_THE_POOL, "threads"} else None,
        elementary=elementary_library() if "elementary" in called else None,
        fourier=fourier_library() if "fourier" in called else None,
        sorting=sorting_library() if "sorting" in called else None,
    )


def _begin_again() -> None:
    for engine in (*_ENGINES.values(), _OTHERS):
        engine.begin()


os.register_at_fork(after_in_child=_begin_again)
