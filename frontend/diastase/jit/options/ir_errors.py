"""Errors of `diastase.debug` and `diastase.pipelines`: compilations that are looked into."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class NotAQjitFunctionError(DiastaseError, TypeError):
    """A function of `debug` that takes compiled functions was given something else.

        debug.get_cmain(lambda x: x, 1.0)          # qjit is missing

    Compile the function with `qjit`, and give that.
    """

    title: ClassVar[str] = "Not a compiled function"
    message: ClassVar[str] = "{caller} takes {wanted}, not a {type}"
    help: ClassVar[str] = "compile the function first: f = qjit(function)"
    caller: str
    type: str
    wanted: str = "a function made by qjit"


class UnknownStageError(CompileError, ValueError):
    """A stage of compilation that there is not.

        debug.get_compilation_stage(f, "bufferise")

    `debug.get_compilation_stages_groups(f.compile_options)` lists the stages that passes run in;
    before them there is `mlir`, after them `translate` and `optimise` (LLVM IR). Catalyst's names
    are understood, as far as there is something behind them here.
    """

    title: ClassVar[str] = "Unknown stage"
    message: ClassVar[str] = "{stage}{reason}"
    help: ClassVar[str] = "the stages of this function are {known}"
    stage: str
    known: str
    reason: str = " is no stage of compilation"


class UnchangedIRWarning(UserWarning):
    """`debug.replace_ir` was given the IR that there was; nothing is replaced.

        new = old.replace("arith.mulf", "arith.addf")      # of which there is none in `old`

    Stages have other operations here than in Catalyst: print the text, and edit what it has.
    """


class PipelineError(CompileError, ValueError):
    """Pipelines that are no list of stages, name a pass which is not here, or lack one.

        @qjit(pipelines=[("clean", ["canonicalise"])])       # is spelt canonicalize

    A stage is a name with a list of passes: `("clean", ["canonicalize", "cse"])`. Passes are those
    of MLIR and StableHLO, with options as MLIR writes them, and those of
    `diastase.pipelines.default_pipeline()`. Catalyst's own passes are not among them: begin with
    that list instead of Catalyst's. Of our passes those may be left out that
    `print(diastase_mlir.PIPELINE)` calls optional; the others must be there, in their order.
    """

    title: ClassVar[str] = "Invalid pipeline"
    message: ClassVar[str] = "{problem}"
    help: ClassVar[str] = (
        "diastase.pipelines.default_pipeline() returns the stages and passes that there are"
    )
    problem: str


class NotInPipelineError(DiastaseError, ValueError):
    """Something is to stand beside a pass, or a stage, that a list does not have."""

    title: ClassVar[str] = "Not in the list"
    message: ClassVar[str] = "there is no {what} {name} in it"
    help: ClassVar[str] = "it has {known}"
    what: str
    name: str
    known: str


class ReplacedIRError(DiastaseError, RuntimeError):
    """A function whose IR was replaced, where only its Python function could be used.

        debug.replace_ir(f, "mlir", text)
        jax.grad(f)(1.0)                           # of what? the text has no derivative
        qjit(lambda x: f(x) + 1)(1.0)              # is traced through f's Python function

    The IR that was given runs when the function is called with values; `f.clear_cache()` forgets
    it.
    """

    title: ClassVar[str] = "Replaced IR"
    message: ClassVar[str] = (
        "{function} runs IR that debug.replace_ir was given, which cannot become part of another "
        "program, be differentiated or batched"
    )
    help: ClassVar[str] = "call {function} with values only, or {function}.clear_cache() first"
    function: str


class NeedsPythonError(CompileError, NotImplementedError):
    """A program that calls Python cannot run without it.

        @qjit
        def f(x):
            debug.print("{}", x)
            return x
        debug.compile_executable(f, 1.0)

    `f.report()` lists what runs in Python. Return the values that are to be printed, and leave
    callbacks out of functions that are to run alone.
    """

    title: ClassVar[str] = "Cannot run without Python"
    message: ClassVar[str] = "{program}: {what} {reason}"
    label: ClassVar[str] = "calls Python"
    help: ClassVar[str] = "leave it out, and return the values instead"
    program: str
    what: str
    reason: str = "calls a Python function"


class CompilerNotFoundError(CompileError, RuntimeError):
    """`debug.compile_executable` where there is no C compiler.

    Functions are compiled without one; an executable is a C program around a function. Install one
    (Debian, Ubuntu: `apt install gcc`; Fedora: `dnf install gcc`; macOS: `xcode-select --install`),
    or name one in the environment variable `DIASTASE_CC`.
    """

    title: ClassVar[str] = "No C compiler found"
    message: ClassVar[str] = "none of {tried} is on the PATH"
    help: ClassVar[str] = "install gcc or clang, or set DIASTASE_CC to a C compiler"
    tried: str
