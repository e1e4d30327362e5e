"""Where the compilation of a lowered module begins: at its start, or at IR that a user has edited.

In: a `LoweredModule`, in whose `edits` stands what some stages are said to have left. Out: the
module to begin with, and the stages that are left. The last edit before the stage that is asked for
is the one that counts, as those before it have no influence any more.

The trap: an edit must leave the interface of the program as it is, since its caller keeps what it
knows of it; so the entry's type, as MLIR or LLVM reads it, is compared with that of the program's
own IR.
"""

import linecache
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import llvmlite.binding as llvm

from diastase_mlir.bindings import ir, problem_of, session
from diastase_mlir.bindings.pass_pipeline import Pipeline
from diastase_mlir.dialects import parse
from diastase_mlir.driver.pipeline import (
    PIPELINE,
    PYTHON_PASSES,
    for_any_module,
    groups_of,
    pipeline_of,
)
from diastase_mlir.errors import ChangedInterfaceError, InvalidIRError
from diastase_mlir.lowering.core.lowered_module import LOWERED, LoweredModule
from diastase_mlir.options import CompileOptions
from diastase_runtime.abi import ENTRY_FUNCTION, ENTRY_SYMBOL, IMPORT_TABLE
from diastase_runtime.errors import Span
from diastase_toolchain.machine_code import InvalidLLVMError

TRANSLATED, OPTIMISED = "translate", "optimise"
"""LLVM IR as MLIR gives it, and that which machine code is made from."""

_NOT_IN_TEXTS = re.compile("[\0\ud800-\udfff]")
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[{(\[<>\])}]')
"""Each, or a string, a comment or an arrow, whose brackets do not count."""
_STEPS = dict.fromkeys("{([<", 1) | dict.fromkeys("})]>", -1)
DEEPEST = 1000
"""Of brackets inside each other; the stack of a thread would end at some 3000 regions."""
_MLIR_POSITION = re.compile(r'"?-"?:(?P<line>\d+):(?P<column>\d+)')
_LLVM_POSITION = re.compile(r"<string>:(?P<line>\d+):(?P<column>\d+): error: (?P<reason>[^\n]*)")


def stage_names(options: CompileOptions) -> tuple[str, ...]:
    """All stages after which IR can be seen and replaced, in order."""
    stages = _whole_pipeline(options).stages
    return (LOWERED, *(stage.name for stage in stages), TRANSLATED, OPTIMISED)


def groups(options: CompileOptions) -> list[tuple[str, list[str]]]:
    """Name the stages and passes of these options, as options have them, too."""
    return groups_of(_whole_pipeline(options))


def problem_of_pass(name: str) -> str | None:
    """Why there is no such pass, neither of ours nor of MLIR's; None if there is."""
    if name in PYTHON_PASSES:
        return None
    with session():
        return problem_of(name)


def problem_of_passes(names: Iterable[str]) -> str | None:
    """Why programs must not be compiled with these passes alone; None if they may."""
    missing = PIPELINE.first_missing(names)
    if missing is None:
        return None
    return (
        f"the pass {missing} is missing, or not where it is among the others; results may be "
        "wrong without it. print(diastase_mlir.PIPELINE) says which passes are optional"
    )


def begin(
    lowered: LoweredModule, options: CompileOptions, until: str | None = None
) -> tuple[ir.Module, Pipeline]:
    """Read the module to begin with, in a session; and say which stages are left until this one."""
    pipeline = _whole_pipeline(options)
    if not lowered.fingerprint:
        pipeline = for_any_module(pipeline)
    names = [LOWERED, *(stage.name for stage in pipeline.stages)]
    end = len(pipeline.stages) if until is None else names.index(until)
    start = max(
        number
        for number, name in enumerate(names[: end + 1])
        if number == 0 or name in lowered.edits
    )
    source = lowered.edits[names[start]] if start else lowered.bytecode
    return parse(source), Pipeline(pipeline.stages[start:end])


def edited(
    lowered: LoweredModule, options: CompileOptions, stage: str, text: str, own: str
) -> LoweredModule:
    """Let compilation go on from this text as what the stage has left, instead of its `own`."""
    place = f"<IR of {lowered.name} after {stage}>"
    types = _types_of_llvm if stage in (TRANSLATED, OPTIMISED) else _types_of_mlir
    wanted, found = types(own, place, stage), types(text, place, stage)
    if wanted != found:
        raise ChangedInterfaceError(
            program=lowered.name, stage=stage, wanted=_listed(wanted), found=_listed(found)
        )
    names = stage_names(options)
    kept = {
        name: lowered.edits[name] for name in names[: names.index(stage)] if name in lowered.edits
    }
    if stage == LOWERED:
        return replace(lowered, bytecode=text.encode(), fingerprint="", edits={})
    return replace(lowered, edits={**kept, stage: text})


def read(text: str, place: str, stage: str = LOWERED) -> ir.Module:
    """Read MLIR that a user has written, in a session; errors show where in the text they are."""
    _check_text(text, place, stage)
    try:
        return parse(text)
    except ir.MLIRError as error:
        first = error.error_diagnostics[0]
        position = _MLIR_POSITION.search(str(first.location))
        raise _invalid(text, place, stage, first.message, position) from None


def _types_of_mlir(text: str, place: str, stage: str) -> Mapping[str, str]:
    with session():
        functions = read(text, place, stage).body.operations
        named = {
            str(op.attributes["sym_name"]): op for op in functions if "sym_name" in op.attributes
        }
        entry = named.get(f'"{ENTRY_FUNCTION}"')
        return {} if entry is None else {ENTRY_FUNCTION: str(entry.attributes["function_type"])}


def _check_text(text: str, place: str, stage: str) -> None:
    """Refuse what would end MLIR and LLVM, and with them the process: they read by recursion.

    And what no file of UTF-8 has, and NUL, at which they would take the text to end.
    """
    found = _NOT_IN_TEXTS.search(text)
    if found is not None:
        raise _invalid(text, place, stage, f"the character {found[0]!r}", None)
    depth = 0
    for token in _BRACKETS.finditer(text):
        depth += _STEPS.get(token[0], 0)
        if depth > DEEPEST:
            reason = f"brackets are nested more than {DEEPEST} deep"
            raise _invalid(text, place, stage, reason, None)


def _types_of_llvm(text: str, place: str, stage: str) -> Mapping[str, str]:
    _check_text(text, place, stage)
    try:
        types = _types_of_globals(text)
    except InvalidLLVMError as error:
        position = _LLVM_POSITION.search(str(error))
        reason = str(error) if position is None else position["reason"]
        raise _invalid(text, place, stage, reason, position) from None
    interface = (
        (ENTRY_FUNCTION, ENTRY_SYMBOL) if stage == TRANSLATED else (ENTRY_SYMBOL, IMPORT_TABLE)
    )
    return {name: types[name] for name in interface if name in types}


def _types_of_globals(text: str) -> Mapping[str, str]:
    """Types of all that the module defines: `{"f": "double (double)"}`."""
    with llvm.create_context() as context:
        try:
            with llvm.parse_assembly(text, context) as module:
                module.verify()
                return {
                    definition.name: str(definition.global_value_type)
                    for definition in (*module.functions, *module.global_variables)
                    if not definition.is_declaration
                }
        except RuntimeError as error:
            raise InvalidLLVMError(str(error)) from None


def _invalid(
    text: str, place: str, stage: str, reason: str, position: re.Match[str] | None
) -> InvalidIRError:
    # As doctest and IPython do for what is in no file: so errors can show the line.
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    span = None if position is None else Span(place, int(position["line"]))
    column = 0 if position is None else int(position["column"])
    return InvalidIRError(stage=stage, reason=reason, column=column, span=span)


def _listed(types: Mapping[str, str]) -> str:
    return ", ".join(f"@{name}: {type_}" for name, type_ in types.items()) or "none"


def _whole_pipeline(options: CompileOptions) -> Pipeline:
    return PIPELINE if options.pipelines is None else pipeline_of(options.pipelines)
