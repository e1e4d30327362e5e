"""The engine and the thread pool as shared libraries, compiled once for each processor and version.

In: nothing. Out: the path of a library whose functions are `abi.library_symbol(library, name)` for
every name of its `EXPORTS` (`state_vector.exports`, `threads.exports`). The cache key holds
all that the machine code depends on and no more, so work elsewhere in the compiler does not
rebuild them.
"""

import hashlib
import importlib
from dataclasses import replace
from functools import cache
from pathlib import Path

from diastase_mlir.activity import enter
from diastase_mlir.cache import (
    hash_of_sources,
    have_changed,
    host_processor,
    program_cache,
    uncached_artifact,
)
from diastase_mlir.codegen.processor import llvmlite_version
from diastase_mlir.kernels.tuning import settings_for
from diastase_mlir.sources import python_files
from diastase_runtime import abi
from diastase_runtime.abi import Artifact

_TOOLS = ("machine.py", "small_loops.py", "link.py", "vector_widths.py")
"""What of `codegen` the engine is built by; not imported for an engine that there is."""


@cache
def engine_library() -> Path:
    """Path of the engine for this processor, built if it is not in the cache."""
    return _engine().library


@cache
def single_library() -> Path:
    """Path of the engine for amplitudes in single precision, likewise."""
    return _single().library


@cache
def threads_library() -> Path:
    """Path of the thread pool, likewise."""
    return _threads().library


def with_libraries(artifact: Artifact) -> Artifact:
    """Say where the libraries are that a program imports from."""
    libraries = {imported.library for imported in artifact.imports}
    return replace(
        artifact,
        engine=engine_library() if "engine" in libraries else None,
        single=single_library() if "single" in libraries else None,
        threads=threads_library() if libraries & {"engine", "single", "threads"} else None,
        elementary=elementary_library() if "elementary" in libraries else None,
    )


@cache
def elementary_library() -> Path:
    """Path of the library of elementary functions, likewise."""
    return _elementary().library


@cache
def foreign_library() -> Path:
    """Path of the library by which XLA calls programs, likewise."""
    return _foreign().library


@cache
def _foreign() -> Artifact:
    return _library("foreign", "foreign")


@cache
def _elementary() -> Artifact:
    return _library("elementary", "elementary")


@cache
def _engine() -> Artifact:
    """Return the engine as an artifact; kept, as an uncached library dies with its artifact."""
    return _library("engine", "state_vector")


@cache
def _single() -> Artifact:
    """Return the same, compiled for single precision; only programs that ask for it need it."""
    return _library("single", "state_vector")


@cache
def _threads() -> Artifact:
    return _library("threads", "threads")


def _library(name: str, folder: str) -> Artifact:
    """Find or build a library that is written in the kernel language, in this folder."""
    unbuilt = Artifact(name=name, library=Path(), arguments=(), results=())

    def build(library: Path) -> None:
        enter(f"build the {name} library, once")
        # Once per machine. Importing the kernels and their language is a fifth of our import.
        builders = importlib.import_module("diastase_mlir.kernels.build")
        getattr(builders, f"build_{name}")(library)

    programs = program_cache()
    if programs is None:
        return uncached_artifact(unbuilt, build)
    key = f"{name}-{_key(folder)}"
    found = programs.find(key)
    if found is None and have_changed(since_import=False):  # the key is of the sources as they are
        return uncached_artifact(unbuilt, build)
    return found or programs.add(key, unbuilt, build)


def _key(folder: str) -> str:
    host, sources = host_processor(), hash_of_sources(_sources(folder))
    parts = f"{llvmlite_version()} {host} {settings_for(host)} {sources}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _sources(folder: str) -> list[str]:
    """Files that the library of this folder is made from, and made by."""
    kernels = Path(__file__).parent
    codegen = kernels.parent / "codegen"
    tools = [abi.__file__, *(str(codegen / name) for name in _TOOLS)]
    tools += [str(kernels.parent / name) for name in ("elementary.py", "function_parts.py")]
    tools += map(str, kernels.glob("*.py"))
    # The engine knows how the pool calls it, the pool knows call contexts and the engine's states.
    folders = {"language", "threads", folder, *(["state_vector"] if folder == "threads" else [])}
    written = [file for name in sorted(folders) for file in python_files(kernels / name)]
    return [*sorted(tools), *written]
