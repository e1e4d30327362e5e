"""Libraries that are written in the kernel language: found in the cache, or built.

In: what a library is called, and the folder of its kernels. Out: its artifact; who drops it drops
the file of a library without a cache. The key holds all that the machine code depends on and no
more, so work elsewhere in the compiler does not rebuild anything.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from diastase_engine.libraries.tuning import settings_for
from diastase_runtime import abi, gate_table
from diastase_runtime.abi import Artifact
from diastase_toolchain import processor
from diastase_toolchain.background import enter
from diastase_toolchain.cache import (
    hash_of_sources,
    have_changed,
    host_processor,
    program_cache,
    uncached_artifact,
)
from diastase_toolchain.checked.switch import checks
from diastase_toolchain.lazy_import import LazyModule
from diastase_toolchain.source_hash import python_files

if TYPE_CHECKING:
    from diastase_engine.libraries import build as builders
else:
    # Once per machine. Importing the kernels and their language is a fifth of our import.
    builders = LazyModule("diastase_engine.libraries.build")

_TOOLS = (
    "checked/definitions.py", "checked/instrumented.py",
    "linker.py", "machine_code.py", "ptx.py", "trip_counts.py",
)  # fmt: skip
"""What of the toolchain libraries are built by; not imported for one that there is."""

_NEEDED_BY_ALL = ("call_context", "language", "libraries", "threads")

_MORE_FOLDERS = {
    "threads": ("state_vector", "vector_math"),
    "state_vector": ("vector_math",),
    "density_matrix": ("state_vector", "vector_math"),
    "lanes": ("state_vector", "vector_math"),
    "sorting": ("state_vector", "vector_math"),
}
"""Folders besides that a library is written in: elements of batches have states, and so do density
matrices; matrices of gates know the sine of a vector. Who uses threads does it as the engine does.
"""


def library(name: str, folder: str) -> Artifact:
    """Find or build a library."""
    found = found_library(name, folder)
    return built_library(name, folder, partial(build, name)) if found is None else found


def found_library(name: str, folder: str) -> Artifact | None:
    """Find a library, if it is in the cache."""
    programs = program_cache()
    return None if programs is None else programs.find(f"{name}-{key_of(folder)}")


def built_library(name: str, folder: str, make: Callable[[Path], None]) -> Artifact:
    """Build a library, and store it if there is a cache."""
    unbuilt = Artifact(name=name, library=Path(), arguments=(), results=())
    programs = program_cache()
    if programs is None or have_changed(since_import=False):  # the key is of sources as they are
        return uncached_artifact(unbuilt, make)
    return programs.add(f"{name}-{key_of(folder)}", unbuilt, make)


def build(name: str, path: Path) -> None:
    """Build a library into a file."""
    enter(f"build the {name} library, once")
    getattr(builders, f"build_{name}")(path)


def key_of(folder: str) -> str:
    """Hash of all that the machine code of this folder depends on."""
    host, sources = host_processor(), hash_of_sources(sources_of(folder))
    parts = f"{processor.llvmlite_version()} {host} {settings_for(host)} {checks()} {sources}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def sources_of(folder: str) -> list[str]:
    """Files that the library of this folder is made from, and made by."""
    kernels, toolchain = Path(__file__).parents[1], Path(processor.__file__).parent
    tools = [abi.__file__, gate_table.__file__, *(str(toolchain / name) for name in _TOOLS)]
    needed = {*_NEEDED_BY_ALL, folder, *_MORE_FOLDERS.get(folder, ())}
    return [*sorted(tools), *(file for name in sorted(needed) for file in _files(kernels / name))]


def _files(module: Path) -> Iterable[str]:
    return python_files(module) if module.is_dir() else [str(module.with_suffix(".py"))]
