"""Compile a lowered module: pipeline, machine code, linker, cache; and print it on the way.

Only MLIR's part runs under the session's lock; optimisation and linking of several programs may
overlap. A failing pass is found by compiling once more, one pass at a time, which gives the exact
pass and the IR before it for the reproducer without any cost to compilations that succeed.
"""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from diastase_mlir.bindings import ir, session, translate_module_to_llvmir
from diastase_mlir.cache import cache_key, program_cache, uncached_artifact
from diastase_mlir.codegen.imports import LinkedText, link_imports
from diastase_mlir.codegen.link import link
from diastase_mlir.codegen.llvm_text import for_llvmlite
from diastase_mlir.codegen.machine import InvalidLLVMError, emit_object, optimised
from diastase_mlir.codegen.memory import with_memory
from diastase_mlir.compiled import Compilation
from diastase_mlir.dialects import parse
from diastase_mlir.dumps import Dumps
from diastase_mlir.kernels.engine import with_libraries
from diastase_mlir.later import Later
from diastase_mlir.lowered import LoweredModule
from diastase_mlir.options import CompileOptions
from diastase_mlir.pipeline import CIRCUITS, PIPELINE, UNMARKED
from diastase_mlir.reproducer import write_input, write_llvm_reproducer, write_reproducer
from diastase_mlir.stages import Pipeline, StageFailure, run_pipeline
from diastase_runtime.abi import ENTRY_SYMBOL, IMPORT_TABLE, Artifact

if TYPE_CHECKING:
    from diastase_mlir.passes import circuits
else:
    circuits = Later("diastase_mlir.passes.circuits")

EXPORTED = (ENTRY_SYMBOL, IMPORT_TABLE)


@dataclass
class _Clock:
    """Seconds per named stage."""

    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.timings[name] = time.perf_counter() - start


def compile_module(lowered: LoweredModule, options: CompileOptions) -> Compilation:
    """Compile to a shared library, or find it in the cache."""
    clock = _Clock()
    # What a pass of the user's own does, the key could not say.
    known = not lowered.circuit_passes or circuits.are_built_in(lowered.circuit_passes)
    store = program_cache() if options.use_cache and known else None
    key = ""
    if store is not None:
        with clock.stage("cache"):
            # Without locations: a program is found again when the lines around it have moved.
            key = cache_key(lowered.fingerprint or lowered.text, _interface(lowered))
            wanted = options.keep_intermediate == "none"  # a hit would leave nothing to keep
            found = store.find(key) if wanted else None
        if found is not None:
            return Compilation(_of_program(found, lowered), True, clock.timings)
    with session():
        with clock.stage("parse"):
            module = _parse(lowered, options)
        linked = _to_llvm_ir(module, lowered, options, clock)

    def build(library: Path) -> None:
        _build_library(linked.text, library, lowered, options, clock)

    unplaced = Artifact(name="", library=Path(), arguments=(), results=(), imports=linked.imports)
    if store is not None:
        artifact = _of_program(store.add(key, unplaced, build), lowered)
    else:
        artifact = uncached_artifact(_of_program(unplaced, lowered), build)
    return Compilation(artifact, False, clock.timings)


def circuits_text(lowered: LoweredModule, options: CompileOptions) -> str:
    """Return the module after the passes on circuits; as lowered where no circuit asks for any."""
    if not lowered.circuit_passes:
        return lowered.text
    with session():
        module = _parse(lowered, options)
        _run_passes(module, lowered, options, _Clock(), CIRCUITS)
        return str(module)


def llvm_dialect_text(lowered: LoweredModule, options: CompileOptions) -> str:
    """Return the module after the whole pipeline, in MLIR's `llvm` dialect."""
    with session():
        module = _parse(lowered, options)
        _run_passes(module, lowered, options, _Clock())
        return str(module)


def llvm_ir_text(lowered: LoweredModule, options: CompileOptions) -> str:
    """Return the optimised LLVM IR that machine code is made from."""
    clock = _Clock()
    with session():
        module = _parse(lowered, options)
        linked = _to_llvm_ir(module, lowered, options, clock)
    with optimised(linked.text, EXPORTED) as optimised_module:
        return str(optimised_module.module)


def _parse(lowered: LoweredModule, options: CompileOptions) -> ir.Module:
    """Read the module into this session; the dialects' verifiers run here for the first time."""
    try:
        return parse(lowered.bytecode)
    except ir.MLIRError as error:
        raise write_input(lowered, options, error) from None


def _of_program(artifact: Artifact, lowered: LoweredModule) -> Artifact:
    """Fill in what is the program's own: equal machine code may serve different programs."""
    own = replace(
        artifact,
        name=lowered.name,
        arguments=lowered.arguments,
        results=lowered.results,
        sites=lowered.sites,
        callbacks=tuple(callback.type for callback in lowered.callbacks),
    )
    return with_libraries(own)


def _interface(lowered: LoweredModule) -> str:
    """Write what the library depends on besides the module."""
    callbacks = [callback.type for callback in lowered.callbacks]
    return repr((lowered.arguments, lowered.results, callbacks, lowered.uses_engine))


def _to_llvm_ir(
    module: ir.Module, lowered: LoweredModule, options: CompileOptions, clock: _Clock
) -> LinkedText:
    """Run all passes and translate to LLVM IR text for llvmlite."""
    _run_passes(module, lowered, options, clock)
    with clock.stage("translate"):
        text = for_llvmlite(translate_module_to_llvmir(module.operation))
        return link_imports(with_memory(text, returns=bool(lowered.results)))


def _run_passes(
    module: ir.Module,
    lowered: LoweredModule,
    options: CompileOptions,
    clock: _Clock,
    pipeline: Pipeline | None = None,
) -> None:
    dumps = Dumps(lowered.name, options)
    pipeline = pipeline or (PIPELINE if lowered.circuit_passes else UNMARKED)
    try:
        run_pipeline(pipeline, module, clock.timings, dumps.after_stage, dumps.after_pass)
    except StageFailure as failure:
        raise write_reproducer(lowered, options, failure) from None


def _build_library(
    text: str, library: Path, lowered: LoweredModule, options: CompileOptions, clock: _Clock
) -> None:
    """Turn LLVM IR text into a shared library."""
    with ExitStack() as module_lifetime:
        try:
            with clock.stage("optimise"):
                module = module_lifetime.enter_context(optimised(text, EXPORTED))
        except InvalidLLVMError as error:
            raise write_llvm_reproducer(text, str(error), lowered, options) from None
        with clock.stage("emit"):
            machine_code = emit_object(module)
    with clock.stage("link"):
        link(machine_code, library)
