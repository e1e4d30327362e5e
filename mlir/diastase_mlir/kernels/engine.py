"""The engine as a shared library: compiled once for each processor and version, then cached.

In: nothing. Out: the path of a library whose functions are `diastase_engine_<name>` for every
name of `state_vector.exports`. The cache key holds all that the machine code depends on and no
more, so work elsewhere in the compiler does not rebuild the engine.
"""

import hashlib
import importlib
from functools import cache
from pathlib import Path

import llvmlite

from diastase_mlir.cache import hash_of_files, program_cache, python_files, uncached_artifact
from diastase_mlir.codegen import link, machine
from diastase_mlir.kernels.tuning import settings_for
from diastase_runtime import abi
from diastase_runtime.abi import Artifact


@cache
def engine_library() -> Path:
    """Path of the engine for this processor, built if it is not in the cache."""
    return _engine().library


@cache
def _engine() -> Artifact:
    """Return the engine as an artifact; kept, as an uncached library dies with its artifact."""
    unbuilt = Artifact(name="engine", library=Path(), arguments=(), results=())
    programs = program_cache()
    if programs is None:
        return uncached_artifact(unbuilt, _build)
    key = _engine_key()
    return programs.find(key) or programs.add(key, unbuilt, _build)


def _build(library: Path) -> None:
    # Once per machine. Importing the kernels and their language is a fifth of importing diastase.
    importlib.import_module("diastase_mlir.kernels.build").build_engine(library)


def _engine_key() -> str:
    tools = [abi.__file__, machine.__file__, link.__file__]
    sources = hash_of_files([*tools, *python_files(Path(__file__).parent)])
    host = machine.host_processor()
    parts = f"{llvmlite.__version__} {host} {settings_for(host)} {sources}"
    return f"engine-{hashlib.sha256(parts.encode()).hexdigest()[:32]}"
