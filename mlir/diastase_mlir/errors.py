"""The compiler's errors: lowering, passes, code generation.

The base class, and how an error shows the user's line, are in `diastase_runtime.errors`.
"""

from pathlib import Path
from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class LoweringError(CompileError, NotImplementedError):
    """An operation of the traced program that cannot be compiled.

    Nearly every JAX primitive compiles; one that does not says why. Move the operation out of
    the compiled function, or behind `jax.pure_callback`.
    """

    title: ClassVar[str] = "Cannot compile this operation"
    message: ClassVar[str] = "{primitive}: {reason}"
    label: ClassVar[str] = "{primitive} comes from here"
    help: ClassVar[str] = "compute it outside of the compiled function and pass the result in"
    primitive: str
    reason: str


class UnsupportedTypeError(DiastaseError, TypeError):
    """A value whose type compiled code has no representation for.

    Compiled programs hold arrays of bool, integers of 8 to 64 bits, float16, bfloat16, float32,
    float64, complex64 and complex128, and PRNG keys; integers of 2 and 4 bits only inside, not as
    arguments or results. Convert to one of them.
    """

    title: ClassVar[str] = "Unsupported type"
    message: ClassVar[str] = "compiled programs cannot hold values of type {what}"
    help: ClassVar[str] = "convert to one of bool, int8…uint64, float16…float64, complex64/128"
    what: str


class FailedPassError(CompileError, RuntimeError):
    """A compiler pass failed on the program.

    The program was understood but could not be turned into machine code: nearly always a
    limitation of diastase. The message names the stage and the pass; the reproducer holds the
    IR before that pass and says how to run it again. Please report it; rewriting the line shown
    in other operations usually helps meanwhile.
    """

    title: ClassVar[str] = "Compilation failed"
    message: ClassVar[str] = "{stage}: {pass_name}: {reason}"
    label: ClassVar[str] = "while compiling this"
    help: ClassVar[str] = "reproducer written to {reproducer}"
    stage: str
    pass_name: str
    reason: str
    reproducer: Path | None = None


class InvalidIRError(CompileError, ValueError):
    """IR that a user has written or edited, and that is not valid.

        debug.replace_ir(f, "mlir", text)          # text with a typing error in it

    The message says what MLIR, or LLVM, has to say about it, and shows the line of the text.
    Begin with what `debug.get_compilation_stage(f, stage)` returns.
    """

    title: ClassVar[str] = "Invalid IR"
    message: ClassVar[str] = "{stage}: {reason}"
    label: ClassVar[str] = "column {column}"
    help: ClassVar[str] = "what debug.get_compilation_stage returns is valid, and a good beginning"
    stage: str
    reason: str
    column: int = 0


class EntryNotFoundError(CompileError, ValueError):
    """MLIR without a function that could be called from outside, or with several.

        debug.compile_from_mlir("module {}")

    The module needs one public `func.func` from tensors to tensors, or one named `main`.
    """

    title: ClassVar[str] = "No function to call"
    message: ClassVar[str] = "the module has {found}"
    help: ClassVar[str] = "one func.func of tensors is public or named @main; others are private"
    found: str


class ChangedInterfaceError(CompileError, TypeError):
    """IR given for a stage of a program whose arguments or results have other types.

        @qjit
        def f(x): ...                              # of a float64
        debug.replace_ir(f, "mlir", text)          # in which x is a float32

    Callers go on passing and taking what the function was traced for, so the functions that they
    call must keep their names and types. Change the Python function, or its arguments, instead.
    """

    title: ClassVar[str] = "Another interface"
    message: ClassVar[str] = (
        "the IR given for stage {stage} of {program} has {found}, the program has {wanted}"
    )
    help: ClassVar[str] = (
        "keep names and types of these; for other types change the Python function or its arguments"
    )
    program: str
    stage: str
    wanted: str
    found: str
