"""IR between the stages of compilation: seen, and replaced.

In: a compiled function, and the name of a stage, ours or Catalyst's. What is seen and replaced is
that of the program that was compiled last; nothing need be kept on disk, as IR is made again.

The trap: replaced IR has no Python function behind it. What only that could give (derivatives,
batches, a part of another program) is refused from then on.
"""

import warnings
from typing import Any

from diastase.jit.options.errors import NotCompiledError
from diastase.jit.options.ir_errors import (
    NotAQjitFunctionError,
    UnchangedIRWarning,
    UnknownStageError,
)
from diastase.jit.options.options import QjitOptions
from diastase.jit.options.pipelines import named_stage
from diastase.jit.qjit import QJIT
from diastase.jit.stages.stages import Compiled, Lowered, Traced
from diastase_mlir import CompileOptions, InvalidIRError, stage_text, user_span
from diastase_mlir.driver import continuation

_NOT_HERE = {
    "CoroOpt": " is no stage here: nothing becomes a coroutine; 'optimise' has the final LLVM IR",
    "Enzyme": " is no stage here: derivatives are in the program before any stage, see 'mlir'",
}


def get_compilation_stage(fn: QJIT, stage: str) -> str:
    """Return the IR that a stage has left of the program that was compiled last, as text.

    `stage` is `"mlir"` (before any pass), the name of a stage of
    `get_compilation_stages_groups(fn.compile_options)`, `"translate"` (LLVM IR), or `"optimise"`
    (LLVM IR that machine code is made from); or one of Catalyst's names: `QuantumCompilationStage`,
    `HLOLoweringStage`, `BufferizationStage`, `MLIRToLLVMDialectConversion`, `LLVMIRTranslation`,
    `last`. The function need not have been compiled with `keep_intermediate`.

    >>> @qjit
    ... def f(x):
    ...     return x**2
    >>> f(2.0)
    Array(4., dtype=float64, weak_type=True)
    >>> "arith.mulf" in get_compilation_stage(f, "scalars")
    True

    Raises `UnknownStageError` (a `ValueError`); `NotCompiledError` before the first call.
    """
    options = _options_of(fn, "get_compilation_stage")
    name = _stage(stage, options)
    latest = _latest(fn)
    lowered = latest.lower() if isinstance(latest, Traced) else latest
    return stage_text(lowered.module, options, name)


def get_compilation_stages_groups(
    options: QjitOptions | CompileOptions,
) -> list[tuple[str, list[str]]]:
    """Return the stages that a function with these options is compiled in, with their passes.

    >>> stages = get_compilation_stages_groups(f.compile_options)
    >>> [name for name, passes in stages][:3]
    ['capture', 'quantum-to-runtime', 'stablehlo-to-linalg']
    """
    given: Any = options
    options = given.for_compiler("") if isinstance(given, QjitOptions) else given
    if not isinstance(options, CompileOptions):
        raise NotAQjitFunctionError(
            caller="get_compilation_stages_groups",
            wanted="f.compile_options of a function f made by qjit",
            type=type(given).__qualname__,
            span=user_span(),
        )
    return continuation.groups(options)


def replace_ir(fn: QJIT, stage: str, new_ir: str) -> None:
    """Let the program that was compiled last go on from this IR as what the stage has left.

    Calls that ran that program run the new one from now on; it is compiled at once, from the stage
    on. `stage` as for `get_compilation_stage`, of whose text `new_ir` is an edited one.

    >>> text = get_compilation_stage(f, "mlir")
    >>> replace_ir(f, "mlir", text.replace("arith.mulf", "arith.addf"))
    >>> f(5.0)
    Array(10., dtype=float64, weak_type=True)

    `InvalidIRError` (a `ValueError`) shows the line of a text that is not valid;
    `ChangedInterfaceError` (a `TypeError`) is raised if arguments or results have other types. The
    function can then be called with values only (`ReplacedIRError`). `fn.clear_cache()` forgets it.
    Text that is not edited is no replacement (`UnchangedIRWarning`).
    """
    options = _options_of(fn, "replace_ir")
    name, compiled = _stage(stage, options), _latest(fn)
    if not isinstance(compiled, Compiled):
        raise _not_compiled(fn, "compiled program")
    text: Any = new_ir
    if not isinstance(text, str):
        reason = f"it is a {type(text).__qualname__}, not a str"
        raise InvalidIRError(stage=name, reason=reason, span=user_span())
    own = stage_text(compiled.module, options, name)
    if text == own:
        message = f"the IR given for stage {name} is the one that there was: nothing is replaced"
        warnings.warn(message, UnchangedIRWarning, stacklevel=2)
        return
    edited = continuation.edited(compiled.module, options, name, text, own)
    lowered = Lowered(compiled.interface, compiled.traced, edited)
    fn.programs.made.run_instead(compiled, lowered.compile())


def qjit_function(fn: Any, caller: str) -> QJIT:
    """The compiled function that was given."""
    if not isinstance(fn, QJIT):
        raise NotAQjitFunctionError(caller=caller, type=type(fn).__qualname__, span=user_span())
    return fn


def _options_of(fn: Any, caller: str) -> CompileOptions:
    function = qjit_function(fn, caller)
    return function.compile_options.for_compiler(function.signature.name)


def _latest(fn: QJIT) -> Traced | Lowered | Compiled:
    """The program that was made last."""
    latest = fn.programs.made.latest
    if latest is None:
        raise _not_compiled(fn, "mlir")
    return latest


def _not_compiled(fn: QJIT, attribute: str) -> NotCompiledError:
    return NotCompiledError(function=fn.signature.name, attribute=attribute, span=user_span())


def _stage(name: str, options: CompileOptions) -> str:
    """The stage of this name, which may be Catalyst's."""
    known = continuation.stage_names(options)
    found = named_stage(name, known)
    if found is not None:
        return found
    span, reason = user_span(), _NOT_HERE.get(str(name))
    if reason is not None:
        raise UnknownStageError(stage=name, known=", ".join(known), reason=reason, span=span)
    raise UnknownStageError(stage=repr(name), known=", ".join(known), span=span)
