"""Compile a lowered module: pipeline, machine code, linker, cache; and print it on the way.

Only MLIR's part runs under the session's lock; optimisation and linking of several programs may
overlap. A failing pass is found by compiling once more, one pass at a time, which gives the exact
pass and the IR before it for the reproducer without any cost to compilations that succeed.

Intermediate IR on disk, for `keep_intermediate`.

After each stage `03_bufferize.mlir`, after each pass `03_bufferize/02_cse.mlir`, if asked for only
where the pass has changed something; the numbers and names are those of the printed pipeline.
"""

from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from diastase_engine import with_libraries
from diastase_mlir import jax_compat
from diastase_mlir.bindings import ir, session, translated_to_llvm_ir
from diastase_mlir.bindings.pass_pipeline import (
    Observer,
    Stage,
    StageFailure,
    check_legality,
    run_pipeline,
)
from diastase_mlir.codegen.allocation_runtime import with_memory
from diastase_mlir.codegen.booleans import with_booleans_as_bytes
from diastase_mlir.codegen.check_failures import with_check_failures
from diastase_mlir.codegen.half_floats import emulated_float_types, with_half_floats
from diastase_mlir.codegen.import_table import LinkedText, link_imports
from diastase_mlir.codegen.llvm_text import for_llvmlite
from diastase_mlir.dialects import printed
from diastase_mlir.driver.continuation import OPTIMISED, TRANSLATED, begin
from diastase_mlir.driver.pipeline import TRANSLATABLE
from diastase_mlir.driver.reproducer import write_input, write_llvm_reproducer, write_reproducer
from diastase_mlir.driver.versions import lowering_versions
from diastase_mlir.lowering.core.lowered_module import LoweredModule
from diastase_mlir.options import Compilation, CompileOptions, file_name, workspace
from diastase_runtime.abi import ENTRY_SYMBOL, IMPORT_TABLE, Artifact
from diastase_toolchain.background import in_background, may_be_ended
from diastase_toolchain.cache import cache_key, program_cache, uncached_artifact
from diastase_toolchain.linker import link
from diastase_toolchain.machine_code import InvalidLLVMError, emit_object, optimised
from diastase_toolchain.steps import Step, step

EXPORTED = (ENTRY_SYMBOL, IMPORT_TABLE)


def compile_module(lowered: LoweredModule, options: CompileOptions) -> Compilation:
    """Compile to a shared library, or find it in the cache."""
    with step("compile") as compiling:
        return in_background(lambda: _compile(lowered, options, compiling))


def _compile(lowered: LoweredModule, options: CompileOptions, compiling: Step) -> Compilation:
    timings: dict[str, float] = {}
    known = not lowered.edits and options.pipelines is None
    store = program_cache() if options.use_cache and known else None
    key = ""
    if store is not None:
        with step("cache", part_of=timings):
            # Without locations: a program is found again when the lines around it have moved.
            key = cache_key(
                lowering_versions(), lowered.fingerprint or lowered.text, _interface(lowered)
            )
            wanted = options.keep_intermediate == "none"  # a hit would leave nothing to keep
            found = store.find(key) if wanted else None
        if found is not None:
            return Compilation(_of_program(found, lowered, options), True, timings)
    with session():
        linked = _to_llvm_ir(lowered, options, timings)
    compiling.size = lambda: linked.text.count("\n")

    @cache
    def machine_code() -> bytes:  # once, though the library may have to be linked elsewhere
        return _machine_code(linked.text, lowered, options, timings)

    def build(library: Path) -> None:
        code = machine_code()
        with step("link", part_of=timings):
            link(code, library)

    unplaced = Artifact(name="", library=Path(), arguments=(), results=(), imports=linked.imports)
    own = _of_program(unplaced, lowered, options)
    artifact = uncached_artifact(own, build) if store is None else store.add(key, own, build)
    return Compilation(artifact, False, timings)


def llvm_ir_text(lowered: LoweredModule, options: CompileOptions) -> str:
    """Return the optimised LLVM IR that machine code is made from."""
    with session():
        linked = _to_llvm_ir(lowered, options, {})
    with optimised(linked.text, EXPORTED) as optimised_module:
        return str(optimised_module.module)


def stage_text(
    lowered: LoweredModule,
    options: CompileOptions,
    stage: str,
    *,
    debug_info: bool = False,
    generic: bool = False,
) -> str:
    """Return the IR that a stage leaves, one of `continuation.stage_names`.

    `debug_info` and `generic` say how MLIR is printed (`dialects.printed`).
    """
    if stage in lowered.edits and not (debug_info or generic):
        return lowered.edits[stage]
    if stage == OPTIMISED:
        return llvm_ir_text(lowered, options)
    with session():
        if stage == TRANSLATED:
            return translated(after_passes(lowered, options, {}))
        return printed(
            after_passes(lowered, options, {}, stage),
            with_locations=debug_info,
            generic=generic,
            named_arguments=options.use_nameloc,
        )


def stage_module(lowered: LoweredModule, options: CompileOptions, stage: str) -> Any:
    """The same as a module of jaxlib's MLIR; not for LLVM IR."""
    return jax_compat.read_module(stage_text(lowered, options, stage, generic=True))


def _of_program(artifact: Artifact, lowered: LoweredModule, options: CompileOptions) -> Artifact:
    """Fill in what is the program's own: equal machine code may serve different programs."""
    own = replace(
        artifact,
        name=lowered.name,
        arguments=lowered.arguments,
        results=lowered.results,
        sites=lowered.sites,
        callbacks=tuple(callback.type for callback in lowered.callbacks),
    )
    return with_libraries(own, on_gpu=options.on_gpu)


def _interface(lowered: LoweredModule) -> str:
    """Write what the library depends on besides the module."""
    callbacks = [callback.type for callback in lowered.callbacks]
    return repr((lowered.arguments, lowered.results, callbacks, lowered.uses_engine))


def _to_llvm_ir(
    lowered: LoweredModule, options: CompileOptions, timings: dict[str, float]
) -> LinkedText:
    """Make LLVM IR text for llvmlite in which all imports go through the table."""
    edited = lowered.edits.get(OPTIMISED)
    if edited is not None:
        edits = {stage: text for stage, text in lowered.edits.items() if stage != OPTIMISED}
        # Which import is at which place of the table, the text does not say.
        return _to_llvm_ir(replace(lowered, edits=edits), options, timings)._replace(text=edited)
    edited = lowered.edits.get(TRANSLATED)
    module = after_passes(lowered, options, timings) if edited is None else None
    with step(TRANSLATED, part_of=timings):
        text = edited if module is None else translated(module)
        return linked(str(text), lowered)


def linked(text: str, lowered: LoweredModule) -> LinkedText:
    """Give translated text all that it calls."""
    return link_imports(with_memory(with_check_failures(text), returns=bool(lowered.results)))


def translated(module: ir.Module) -> str:
    """LLVM IR as llvmlite's LLVM reads it."""
    text = with_half_floats(translated_to_llvm_ir(module))
    text = with_booleans_as_bytes(text)
    return for_llvmlite(text, as_bits=emulated_float_types())


def after_passes(
    lowered: LoweredModule,
    options: CompileOptions,
    timings: dict[str, float],
    last: str | None = None,
    observe: Observer | None = None,
) -> ir.Module:
    """Run the passes up to those of a stage, or all of them; observed, nothing is kept."""
    with step("parse", part_of=timings):
        try:
            module, pipeline = begin(lowered, options, last)
        except ir.MLIRError as error:  # the dialects' verifiers run here for the first time
            raise write_input(lowered, options, error) from None
    if observe is not None:
        options = replace(options, keep_intermediate="none")
    dumps = Dumps(lowered.name, options)
    try:
        run_pipeline(pipeline, module, timings, observe or dumps.after_stage, dumps.after_pass)
        if last is None and options.pipelines is not None:
            check_legality(TRANSLATABLE, module)  # else the translation would not survive it
    except StageFailure as failure:
        raise write_reproducer(lowered, options, failure) from None
    return module


def _machine_code(
    text: str, lowered: LoweredModule, options: CompileOptions, timings: dict[str, float]
) -> bytes:
    """Turn LLVM IR text into an object file."""
    may_be_ended()
    with ExitStack() as module_lifetime:
        try:
            with step("optimise", part_of=timings):
                module = module_lifetime.enter_context(optimised(text, EXPORTED))
        except InvalidLLVMError as error:
            raise write_llvm_reproducer(text, str(error), lowered, options) from None
        with step("emit", part_of=timings):
            return emit_object(module)


_EACH_PASS = ("changed", "pass")


class Dumps:
    """Observers of one run of the pipeline; None where nothing is to be written."""

    def __init__(self, name: str, options: CompileOptions):
        kept = options.keep_intermediate
        self._directory = workspace(name, options) if kept != "none" else Path()
        self._numbers: dict[str, int] = {}
        self.after_stage: Observer | None = self._write_stage if kept != "none" else None
        self.after_pass: Observer | None = self._write_pass if kept in _EACH_PASS else None
        self._all = kept == "pass"
        self._last = ""

    def _write_stage(self, stage: Stage, number: int, name: str, module: ir.Module) -> None:
        (self._directory / f"{self._number(stage)}_{file_name(name)}.mlir").write_text(
            printed(module)
        )

    def _write_pass(self, stage: Stage, number: int, name: str, module: ir.Module) -> None:
        text = printed(module)
        if text == self._last and not self._all:
            return
        self._last = text
        folder = self._directory / f"{self._number(stage)}_{file_name(stage.name)}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:02}_{file_name(name)}.mlir").write_text(text)

    def _number(self, stage: Stage) -> str:
        """Give stages numbers as they come."""
        return f"{self._numbers.setdefault(stage.name, len(self._numbers)):02}"
