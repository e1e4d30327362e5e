"""Compile a traced program, or find what it was compiled to before without lowering it.

The cache knows a program by two keys: by what was traced (`program_keys`), which is all that a hit
needs; and by its module, for programs that have no such key, or whose lines have moved. Under the
first one it keeps the whole artifact, with the program's own name and error sites.

Lowering and compiling are imported only for a program that is not known.

A program that calls Python is never known by what was traced: its functions are made by lowering.
"""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diastase_engine import with_libraries
from diastase_mlir.driver.versions import lowering_versions
from diastase_mlir.lowering.core.lowered_module import LoweredModule
from diastase_mlir.options import Compilation, CompileOptions
from diastase_mlir.program import Program
from diastase_mlir.program_keys import program_key
from diastase_toolchain.cache import ProgramCache, cache_key, program_cache
from diastase_toolchain.lazy_import import LazyModule
from diastase_toolchain.steps import step

if TYPE_CHECKING:
    from diastase_mlir.driver import compilation
    from diastase_mlir.lowering import module as lowering
else:
    compilation = LazyModule("diastase_mlir.driver.compilation")
    lowering = LazyModule("diastase_mlir.lowering.module")


@dataclass(frozen=True)
class CompiledProgram:
    """A compilation, and the module that it was made from, if it had to be made."""

    compilation: Compilation
    module: LoweredModule | None


def compile_program(program: Program, options: CompileOptions) -> CompiledProgram:
    """Find the machine code of a program, or lower and compile it."""
    start = time.perf_counter()
    with step("compile") as looking:
        store, key = _store_and_key(program, options)
        found = None if store is None else store.find(key)
        looking.happened = found is not None
    known = time.perf_counter() - start
    if found is not None:
        artifact = with_libraries(found, on_gpu=options.on_gpu)
        return CompiledProgram(Compilation(artifact, True, {"cache": known}), None)
    lowered = lowering.lower(program)
    lowering_took = time.perf_counter() - start - known
    made = compilation.compile_module(lowered, options)
    if store is not None and not lowered.callbacks:
        store.link(key, made.artifact)
    timings = {"key": known, "lower": lowering_took, **made.timings}
    return CompiledProgram(replace(made, timings=timings), lowered)


def _store_and_key(program: Program, options: CompileOptions) -> tuple[ProgramCache | None, str]:
    """The cache, and the program's key in it; None where it can have none."""
    if (
        not options.use_cache
        or options.keep_intermediate != "none"
        or options.pipelines is not None
    ):
        return None, ""
    store = program_cache()
    key = None if store is None else program_key(program)
    return (
        (None, "") if key is None else (store, cache_key(lowering_versions(), "traced", str(key)))
    )
