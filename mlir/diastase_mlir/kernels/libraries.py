"""Libraries that are written in the kernel language: found in the cache, or built.

In: what a library is called, and the folder of its kernels. Out: its artifact; who drops it drops
the file of a library without a cache. The key holds all that the machine code depends on and no
more, so work elsewhere in the compiler does not rebuild anything.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from diastase_mlir.lazy_module import LazyModule
from diastase_mlir.sources import python_files
from diastase_runtime import abi
from diastase_runtime.abi import Artifact

if TYPE_CHECKING:
    from diastase_mlir.kernels import build as builders
else:
    # Once per machine. Importing the kernels and their language is a fifth of our import.
    builders = LazyModule("diastase_mlir.kernels.build")

_TOOLS = ("machine.py", "small_loops.py", "link.py", "vector_widths.py")
"""What of `codegen` libraries are built by; not imported for one that there is."""


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
    parts = f"{llvmlite_version()} {host} {settings_for(host)} {sources}"
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def sources_of(folder: str) -> list[str]:
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
