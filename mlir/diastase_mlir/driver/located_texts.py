"""A program after each stage, down to assembly, with the user's lines that each line comes from.

In: a lowered module. Out: a `LocatedText` for each stage of `continuation.stage_names`, and for
`ASSEMBLY`. The program is compiled anew for it, without caches; what it is compiled to otherwise,
and its keys in caches, do not depend on any of this.

MLIR carries locations through all its passes. LLVM carries lines: so once the last pass has run,
each location becomes a number, which MLIR's translation writes as if it were a line of a file
(`!dbg`), and which LLVM keeps as debug information (`codegen.debug_lines`).

A run of gates (`quantum.run`) is one operation, of which each gate has its line by the number of an
error site. Its location here is that of all its gates, in the module of the explorer alone.

IR that a user has edited is shown as it is: where it came from, its text does not say.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from diastase_mlir.bindings import ir, run_passes, session
from diastase_mlir.bindings.pass_pipeline import Stage
from diastase_mlir.codegen.debug_lines import (
    Numbered,
    assembly_lines,
    for_rewriting,
    with_subprograms,
    without_debug,
)
from diastase_mlir.diagnostics import in_mlir, spans_at
from diastase_mlir.dialects import parse, printed
from diastase_mlir.dialects.line_locations import line_locations
from diastase_mlir.driver.compilation import (
    EXPORTED,
    after_passes,
    linked,
    translated,
)
from diastase_mlir.driver.continuation import OPTIMISED, TRANSLATED
from diastase_mlir.lowering.core.lowered_module import LOWERED, LoweredModule
from diastase_mlir.options import CompileOptions
from diastase_runtime.abi import Site
from diastase_runtime.errors import Span
from diastase_toolchain.machine_code import assembly, level_for, optimised

ASSEMBLY = "assembly"
"""The machine code, as text."""

_WITH_LINES = "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}"
_SITE = re.compile(r"\{site = (\d+)\}$")
_FILE = "numbers"
"""No file: its lines are numbers of locations."""

Spans = tuple[Span, ...]


@dataclass(frozen=True)
class LocatedText:
    """What a stage leaves."""

    stage: str
    text: str
    spans: Sequence[Spans]
    """Of each line, the user's lines that it comes from."""
    seconds: float | None = None
    """How long the stage took."""


def located_texts(lowered: LoweredModule, options: CompileOptions) -> list[LocatedText]:
    """All stages of a program, in order."""
    try:
        return _located_texts(lowered, options)
    finally:
        _distinct.cache_clear()  # of a long run of gates, a location is a long text


def _located_texts(lowered: LoweredModule, options: CompileOptions) -> list[LocatedText]:
    timings: dict[str, float] = {}
    with session():
        module = parse(lowered.bytecode)
        _locate_runs(module, lowered.sites)
        texts = [_of_module(LOWERED, module, lowered, options)]
        own = printed(module, with_locations=True, generic=True)
        lowered = replace(lowered, bytecode=own.encode())
        texts += [_unknown(name, text) for name, text in lowered.edits.items()][-1:]
        if {TRANSLATED, OPTIMISED} & lowered.edits.keys():
            return texts

        def observe(stage: Stage, number: int, name: str, module: ir.Module) -> None:
            texts.append(_of_module(name, module, lowered, options, timings[name]))

        module = after_passes(lowered, options, timings, observe=observe)
        start = time.perf_counter()
        plain = translated(module)
        took = time.perf_counter() - start
        locations = _numbered(module)
        run_passes(_WITH_LINES, module)
        debug = translated(module)
    texts.append(_of_numbers(TRANSLATED, without_debug(debug), locations, took))
    level = level_for(linked(plain, lowered).text)
    text = with_subprograms(linked(for_rewriting(debug), lowered).text)
    start = time.perf_counter()
    with optimised(text, EXPORTED, level) as result:
        took = time.perf_counter() - start
        texts.append(_of_numbers(OPTIMISED, without_debug(str(result.module)), locations, took))
        start = time.perf_counter()
        code = assembly(result)
        took = time.perf_counter() - start
    return [*texts, _of_numbers(ASSEMBLY, assembly_lines(code), locations, took)]


def _locate_runs(module: ir.Module, sites: Sequence[Site]) -> None:
    """Give runs of gates the lines of all their gates."""
    lines: dict[tuple[str, int], ir.Location] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if "sites" in operation.attributes and "gates" in operation.attributes:
            numbers: Any = ir.DenseI64ArrayAttr(operation.attributes["sites"])
            known = {(sites[n].file, sites[n].line) for n in numbers if n < len(sites)}
            for file, line in known - lines.keys():
                lines[file, line] = ir.Location.file(in_mlir(file), line, 0)
            parts = [lines[place] for place in sorted(known) if place[1]]
            operation.location = ir.Location.fused([operation.location, *parts])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def _of_module(
    name: str,
    module: ir.Module,
    lowered: LoweredModule,
    options: CompileOptions,
    seconds: float | None = None,
) -> LocatedText:
    plain, debug = (
        printed(module, with_locations=wanted, named_arguments=options.use_nameloc).rstrip("\n")
        for wanted in (False, True)
    )
    locations = line_locations(plain, debug)
    known = {location: _distinct(location) for location in dict.fromkeys(locations)}
    spans = [
        known[location] or _of_site(line, lowered.sites)
        for location, line in zip(locations, plain.split("\n"), strict=True)
    ]
    return LocatedText(name, plain, spans, seconds)


@lru_cache(2**15)  # most are the same after each stage
def _distinct(location: str) -> Spans:
    """The user's lines of a location, each once."""
    return tuple({(span.file, span.line): span for span in spans_at(location)}.values())


def _of_site(line: str, sites: Sequence[Site]) -> Spans:
    """The user's line of one gate of a run, which has no location of its own."""
    found = _SITE.search(line)
    if found is None or int(found[1]) >= len(sites):
        return ()
    site = sites[int(found[1])]
    return (Span(site.file, site.line, site.function),) if site.line else ()


def _numbered(module: ir.Module) -> Mapping[int, Spans]:
    """Replace all locations by lines of no file; and say what each of these stands for."""
    numbers: dict[str, int] = {}
    made: dict[int, ir.Location] = {}

    def line_of(location: ir.Location) -> ir.Location:
        number = numbers.setdefault(str(location), len(numbers) + 1)
        if number not in made:
            made[number] = ir.Location.file(_FILE, number, 0)
        return made[number]

    def visit(operation: ir.Operation) -> ir.WalkResult:
        operation.location = line_of(operation.location)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(line_of(argument.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return {number: _distinct(location) for location, number in numbers.items()}


def _of_numbers(
    stage: str, numbered: Numbered, locations: Mapping[int, Spans], seconds: float
) -> LocatedText:
    text, numbers = numbered
    return LocatedText(stage, text, [locations.get(number, ()) for number in numbers], seconds)


def _unknown(stage: str, text: str) -> LocatedText:
    return LocatedText(stage, text, [()] * (text.count("\n") + 1))
