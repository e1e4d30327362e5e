"""Where an import table's entries come from: the engine, the thread pool, SciPy's LAPACK and BLAS.

The engine and the thread pool are loaded once and stay: threads run in the pool's code as long as
the process lives.
"""

import ctypes
import importlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from diastase_runtime.abi import (
    ENGINES,
    ON_THE_POOL,
    STATE_VECTORS,
    Artifact,
    CallContext,
    Import,
    ImportedLibrary,
    is_as_named,
    library_symbol,
)
from diastase_runtime.errors import InternalError, LibraryLoadError
from diastase_runtime.gpu import is_for_gpu, use_gpu
from diastase_runtime.process_limits import number_of_threads
from diastase_runtime.python import tell_of_python
from diastase_runtime.trusted_files import temporary

_CAPSULES = {"lapack": "scipy.linalg.cython_lapack", "blas": "scipy.linalg.cython_blas"}

_capsule_name: Any = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_capsule_pointer: Any = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


USED_BY_ENGINES = ("parallel_for", "thread_count", "poll", "poll_now")
"""Functions of the thread pool that engines call, and what else is on it."""


def open_library(path: Path, *, unique: bool) -> ctypes.CDLL:
    """Load a shared library, as a copy of its own if `unique`.

    The dynamic linker gives the same library twice for the same file; two programs whose code is
    equal but whose callbacks differ would then share one import table.

    What was found in the cache is looked at again: that may be long ago, and the dynamic linker
    would run other code, or none where a file was cut. Such a file is removed: who looks for the
    library next has it built (once too often, if somebody has put a good one there just now). No
    other engine gives way to it any more.
    """
    try:
        content = path.read_bytes()
        if is_as_named(path.name, content):
            return _opened_copy(path.name, content) if unique else ctypes.CDLL(str(path))
        reason = "its contents have changed since it was compiled"
        with suppress(OSError):
            path.unlink()
    except OSError as error:
        reason = str(error)
    _not_instead(path)
    raise LibraryLoadError(library=path, reason=reason)


def _opened_copy(name: str, content: bytes) -> ctypes.CDLL:
    with temporary("diastase-") as directory:
        copy = directory / name
        copy.write_bytes(content)
        return ctypes.CDLL(str(copy))


_better: dict[Path, Path] = {}
"""Engines that others are to be used instead of."""


def use_instead(engine: Path, better: Path) -> None:
    """Use another engine from now on."""
    _better[engine] = better


def _not_instead(better: Path) -> None:
    for engine in [engine for engine, other in tuple(_better.items()) if other == better]:
        _better.pop(engine, None)


def with_better_engines(artifact: Artifact) -> Artifact:
    """Say where the engines are that are to be used now."""
    paths: dict[str, Path | None] = {name: getattr(artifact, name) for name in ENGINES}
    if _better.keys().isdisjoint(paths.values()):
        return artifact
    better = {
        name: path if path is None else _better.get(path, path) for name, path in paths.items()
    }
    return replace(artifact, **better)


def symbol_address(imported: Import, artifact: Artifact) -> int:
    """Find the address of an imported function."""
    if imported.library in ON_THE_POOL:
        engine = _engine(imported.library, *_paths(imported, artifact))
        return _symbol(engine, imported.library, imported.name)
    if imported.library == "threads":
        return _symbol(thread_pool(_paths(imported, artifact)[1]), "threads", imported.name)
    if imported.library == "elementary":
        if artifact.elementary is None:
            raise InternalError(what=f"{artifact.name} imports {imported} but names no library")
        return _symbol(_elementary(artifact.elementary), "elementary", imported.name)
    if artifact.threads is not None:
        _tell_blas(artifact.threads)
    module = _CAPSULES[imported.library]
    capsule = _capsules(module).get(imported.name)
    if capsule is None:
        raise LibraryLoadError(library=Path(module), reason=f"no function {imported.name}")
    return _capsule_pointer(capsule, _capsule_name(capsule))


def linear_algebra_symbol(imported: Import) -> tuple[Path, str]:
    """Find the library, and the name in it, of a routine of LAPACK or BLAS.

    SciPy's modules pass on what another library has, with names of its own (`scipy_dgemm_`).
    """
    module = ctypes.CDLL(importlib.import_module(_CAPSULES[imported.library]).__file__)
    for name in (f"scipy_{imported.name}_", f"{imported.name}_", imported.name):
        try:
            address = ctypes.cast(module[name], ctypes.c_void_p)
        except AttributeError:
            continue
        info = _SymbolInfo()
        if ctypes.CDLL(None).dladdr(address, ctypes.byref(info)):
            return Path(os.fsdecode(info.library)).resolve(), name
    raise LibraryLoadError(library=Path(str(module._name)), reason=f"it has no {imported.name}")


@cache
def blas_core() -> str | None:
    """For which processor's kernels SciPy's OpenBLAS has decided; None for another BLAS."""
    module = ctypes.CDLL(importlib.import_module(_CAPSULES["blas"]).__file__)
    try:
        core: Any = module["scipy_openblas_get_corename"]
    except AttributeError:
        return None
    core.restype = ctypes.c_char_p
    return os.fsdecode(core() or b"") or None


class _SymbolInfo(ctypes.Structure):
    """What `dladdr` says."""

    _fields_ = (
        ("library", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )
    library: bytes


def release_states(context: CallContext, artifact: Artifact) -> None:
    """Release the states and scripts that a call has left; the engine unlinks each one.

    What a state is made of is the same in all engines, but that one for a GPU gives memory there
    back, too: those that may be for one come first.
    """
    while context.states:
        _releaser("state_release", artifact)(ctypes.addressof(context), context.states)
    while context.scripts:
        _releaser("script_end", artifact)(ctypes.addressof(context), context.scripts)


def _releaser(name: str, artifact: Artifact) -> Callable[[int, int], None]:
    engines = (*STATE_VECTORS, *ENGINES)
    library: ImportedLibrary = next(e for e in engines if getattr(artifact, e) is not None)
    address = symbol_address(Import(library, name), artifact)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)


def _paths(imported: Import, artifact: Artifact) -> tuple[Path, Path]:
    """Return the paths of engine and thread pool; the engine runs its loops on the pool."""
    path = (
        getattr(artifact, imported.library) if imported.library in ON_THE_POOL else artifact.threads
    )
    if path is None or artifact.threads is None:
        raise InternalError(what=f"{artifact.name} imports {imported} but names no library of it")
    return path, artifact.threads


def _symbol(library: ctypes.CDLL, kind: ImportedLibrary, name: str) -> int:
    try:
        function = library[library_symbol(kind, name)]
    except AttributeError:
        raise LibraryLoadError(library=Path(library._name), reason=f"no function {name}") from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def _engine(kind: ImportedLibrary, library: Path, threads: Path) -> ctypes.CDLL:
    """Load an engine, and tell it where the thread pool is, and the GPU if it is built for one."""
    engine = open_library(library, unique=False)
    pool = thread_pool(threads)
    addresses = (_symbol(pool, "threads", name) for name in USED_BY_ENGINES)
    engine[library_symbol(kind, "use_threads")](*map(ctypes.c_void_p, addresses))
    if kind in STATE_VECTORS and is_for_gpu(kind, engine):
        use_gpu(kind, engine)
    return engine


def is_on_gpu(artifact: Artifact) -> bool:
    """Whether a program has its states on a GPU; loads its engines."""
    for kind in STATE_VECTORS:
        path: Path | None = getattr(artifact, kind)
        if path is not None and artifact.threads is not None:
            if is_for_gpu(kind, _engine(kind, path, artifact.threads)):
                return True
    return False


@cache
def thread_pool(library: Path) -> ctypes.CDLL:
    """Load a thread pool, and say how many threads it may have, and how it handles signals."""
    threads = number_of_threads()
    pool = open_library(library, unique=False)
    pool[library_symbol("threads", "configure")](ctypes.c_int64(threads))
    tell_of_python(pool)
    # Beside the pool's own check of the process's number, which another process may have had.
    os.register_at_fork(after_in_child=pool[library_symbol("threads", "forget")])
    return pool


@cache
def _elementary(library: Path) -> ctypes.CDLL:
    """Load the elementary functions."""
    return open_library(library, unique=False)


class BlasThreads(NamedTuple):
    """How SciPy's OpenBLAS is asked and told how many threads it has, in the whole process."""

    get: Any
    set: Any


@cache
def blas_threads() -> BlasThreads | None:
    """Find that; another BLAS has its own."""
    module = ctypes.CDLL(importlib.import_module(_CAPSULES["blas"]).__file__)
    try:
        return BlasThreads(
            *(module[f"scipy_openblas_{verb}_num_threads"] for verb in ("get", "set"))
        )
    except AttributeError:
        return None


@cache
def _tell_blas(pool: Path) -> None:
    """Let the thread pool tell OpenBLAS its number of threads."""
    functions = blas_threads()
    if functions is None:
        return
    addresses = [ctypes.cast(function, ctypes.c_void_p) for function in functions]
    thread_pool(pool)[library_symbol("threads", "use_blas")](*addresses)


@cache
def _capsules(module: str) -> dict[str, Any]:
    """Return the C functions of a Cython module, imported only for programs that use it."""
    return importlib.import_module(module).__pyx_capi__
