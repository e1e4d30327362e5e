"""The engine as a shared library: compiled once for each processor and version, then cached.

In: nothing. Out: the path of a library whose functions are `diastase_engine_<name>` for every
name of `state_vector.exports`. The cache key holds all that the machine code depends on and no
more, so work elsewhere in the compiler does not rebuild the engine.
"""

import hashlib
from functools import cache
from pathlib import Path

import llvmlite

from diastase_mlir.cache import hash_of_files, program_cache, python_files, uncached_artifact
from diastase_mlir.codegen import link, machine
from diastase_mlir.kernels.language import compile_kernels
from diastase_mlir.kernels.state_vector.exports import EXPORTS
from diastase_runtime import abi
from diastase_runtime.abi import Artifact

SYMBOL_PREFIX = "diastase_engine_"


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
        return uncached_artifact(unbuilt, build_engine)
    key = _engine_key()
    return programs.find(key) or programs.add(key, unbuilt, build_engine)


def build_engine(library: Path) -> None:
    """Compile and link the engine into a file."""
    with machine.optimised(engine_ir(), _symbols()) as module:
        link.link(machine.emit_object(module), library)


def engine_ir() -> str:
    """LLVM IR of the engine, as the kernel language makes it."""
    kernels = {SYMBOL_PREFIX + name: function for name, function in EXPORTS.items()}
    return str(compile_kernels(kernels, machine.host_processor().triple))


def _symbols() -> frozenset[str]:
    return frozenset(SYMBOL_PREFIX + name for name in EXPORTS)


def _engine_key() -> str:
    tools = [abi.__file__, machine.__file__, link.__file__]
    sources = hash_of_files([*tools, *python_files(Path(__file__).parent)])
    parts = f"{llvmlite.__version__} {machine.host_processor()} {sources}"
    return f"engine-{hashlib.sha256(parts.encode()).hexdigest()[:32]}"
