"""IR as text: seen and replaced between the stages of compilation, and compiled to a function.

In: a compiled function, and the name of a stage, ours or Catalyst's. What is seen and replaced is
that of the program that was compiled last; nothing need be kept on disk, as IR is made again. Or
(`compile_from_mlir`): MLIR as text, which becomes a function of arrays.

The trap: replaced IR has no Python function behind it. What only that could give (derivatives,
batches, a part of another program) is refused from then on.
"""

import cmath
import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from diastase.jit.options.errors import CompiledTransformError, InvalidOptionError, NotCompiledError
from diastase.jit.options.ir_errors import (
    NeedsPythonError,
    NotAQjitFunctionError,
    UnchangedIRWarning,
    UnknownStageError,
)
from diastase.jit.options.options import QjitOptions
from diastase.jit.options.pipelines import named_stage
from diastase.jit.qjit import QJIT
from diastase.jit.stages.loading import load_program
from diastase.jit.stages.stages import Compiled, Lowered, Traced
from diastase_mlir import (
    Compilation,
    CompileOptions,
    InvalidIRError,
    LoweredModule,
    compile_module,
    read_module,
    stage_text,
    user_span,
)
from diastase_mlir.driver import continuation
from diastase_runtime import Executable
from diastase_runtime.errors import ArgumentTypeError

_NOT_HERE = {
    "CoroOpt": " is no stage here: nothing becomes a coroutine; 'optimise' has the final LLVM IR",
    "Enzyme": " is no stage here: derivatives are in the program before any stage, see 'mlir'",
}


def get_compilation_stage(fn: QJIT, stage: str) -> str:
    """Return the IR that a stage has left of the program that was compiled last, as text.

    The function need not have been compiled with `keep_intermediate`.

    Args:
        fn: a compiled function that has been called, or compiled by its type hints.
        stage: "mlir" (before any pass), the name of a stage of
            `get_compilation_stages_groups(fn.compile_options)`, "translate" (LLVM IR), or
            "optimise" (LLVM IR that machine code is made from); or one of Catalyst's names:
            `QuantumCompilationStage`, `HLOLoweringStage`, `BufferizationStage`,
            `MLIRToLLVMDialectConversion`, `LLVMIRTranslation`, `last`.

    Returns:
        The text, MLIR or LLVM IR.

    Raises:
        UnknownStageError: a `ValueError`, for a stage that there is not.
        NotCompiledError: an `AttributeError`, before the first call.
        NotAQjitFunctionError: a `TypeError`, for what is not compiled.

    Example:
        >>> from diastase import debug, qjit
        >>> f = qjit(lambda x: x**2)
        >>> _ = f(2.0)
        >>> "arith.mulf" in debug.get_compilation_stage(f, "scalars")
        True

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

    Args:
        options: `f.compile_options`, or a `diastase.CompileOptions`.

    Returns:
        A list of pairs: the name of a stage, and a list of the names of its passes, in order.

    Raises:
        NotAQjitFunctionError: a `TypeError`, for anything else.

    Example:
        >>> from diastase import CompileOptions, debug
        >>> stages = debug.get_compilation_stages_groups(CompileOptions())
        >>> stages[0]
        ('capture', ['precheck'])

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
    on. `fn.clear_cache()` forgets it. Text that is not edited is no replacement, and warned of.

    Args:
        fn: a compiled function that has been called. It can then be called with values only:
            inlined in another function it raises `ReplacedIRError`.
        stage: as for `get_compilation_stage`.
        new_ir: an edited copy of the text that this gives for the stage.

    Raises:
        InvalidIRError: a `ValueError`, with the line of a text that is not valid.
        ChangedInterfaceError: a `TypeError`, if arguments or results have other types.
        UnknownStageError: a `ValueError`, for a stage that there is not.
        NotCompiledError: an `AttributeError`, before the first call.
        NotAQjitFunctionError: a `TypeError`, for what is not compiled.

    Example:
        >>> from diastase import debug, qjit
        >>> f = qjit(lambda x: x * x)
        >>> float(f(5.0))
        25.0
        >>> text = debug.get_compilation_stage(f, "mlir")
        >>> debug.replace_ir(f, "mlir", text.replace("stablehlo.multiply", "stablehlo.add"))
        >>> float(f(5.0))
        10.0

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


def compile_from_mlir(ir: str, compile_options: QjitOptions | None = None) -> "CompiledModule":
    """Compile MLIR to a function of arrays.

    Arguments are compared with the types of the function; that dynamic sizes fit each other inside,
    as those of two arrays that are added, is up to the text.

    Args:
        ir: a module with one function to call: public, or named `main`, of ranked tensors, whose
            sizes may be dynamic (`tensor<?xf64>`). Its operations may be those of StableHLO, so
            what JAX prints can be compiled, of MLIR's own dialects (`linalg`, `scf`, `tensor`,
            `arith`, `math`, …), and of the quantum dialect, in functions that take the call context
            (`!llvm.ptr`) first, as `f.mlir` shows it. Loops and branches are those of `scf`.
        compile_options: a `diastase.CompileOptions`, by default that of `qjit` without options.

    Returns:
        A `CompiledModule`.

    Raises:
        InvalidIRError: a `ValueError`, with the line that is wrong.
        EntryNotFoundError: a `ValueError`, if there is no function to call.
        UnsupportedTypeError: a `TypeError`, for a function of other types than tensors.
        InvalidOptionError: a `ValueError`, for what is no `CompileOptions`.
        NeedsPythonError: a `NotImplementedError`, for text of a function with callbacks.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase.debug import compile_from_mlir
        >>> double = compile_from_mlir('''
        ...     func.func @double(%x: tensor<?xf64>) -> tensor<?xf64> {
        ...         %y = stablehlo.add %x, %x : tensor<?xf64>
        ...         return %y : tensor<?xf64>
        ...     }''')
        >>> double(jnp.array([1.0, 2.5]))
        Array([2., 5.], dtype=float64)

    """
    text: Any = ir
    if not isinstance(text, str):
        reason = f"it is a {type(text).__qualname__}, not a str"
        raise InvalidIRError(stage="mlir", reason=reason, span=user_span())
    given: Any = QjitOptions() if compile_options is None else compile_options
    if not isinstance(given, QjitOptions):
        raise InvalidOptionError(
            option="compile_options",
            value=repr(given),
            allowed="diastase.CompileOptions(...)",
            span=user_span(),
        )
    module, shapes = read_module(text)
    compilation = compile_module(module, given.for_compiler(module.name))
    if any(entry.library == "callback" for entry in compilation.artifact.imports):
        raise NeedsPythonError(program=module.name, what="a callback")
    executable, _ = load_program(compilation, (), given.target_device)
    return CompiledModule(module, shapes, compilation, executable, given)


@dataclass(frozen=True, repr=False, eq=False)
class CompiledModule:
    """A function compiled from MLIR; called with arrays, it returns one, or a tuple of them.

    What `compile_from_mlir` gives. Arrays have the element types and shapes of its arguments, or
    `ArgumentTypeError`, a `TypeError`, is raised; results are `jax.Array`s.

    Example:
        >>> from diastase.debug import compile_from_mlir
        >>> same = compile_from_mlir('''
        ...     func.func @same(%x: tensor<f64>) -> tensor<f64> {
        ...         return %x : tensor<f64>
        ...     }''')
        >>> same(3)
        Array(3., dtype=float64)
        >>> "func.func" in same.mlir, "define" in same.llvm_ir
        (True, True)

    """

    module: LoweredModule
    shapes: Sequence[Sequence[int | None]]
    """Of the arguments; None stands for any size."""
    compilation: Compilation
    executable: Executable
    options: QjitOptions

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; arguments must have its element types and shapes.

        Numbers need only have a value in the element type, as 3 has in `f64`.
        """
        for argument in arguments:
            if isinstance(argument, Tracer):
                raise CompiledTransformError(type=type(argument).__qualname__)
        wanted = [*zip(self.module.arguments, self.shapes, strict=True)]
        if len(arguments) != len(wanted):
            raise self._wrong(arguments)
        arrays = [
            self._array(given, jnp.dtype(kind.dtype), shape, arguments)
            for given, (kind, shape) in zip(arguments, wanted, strict=True)
        ]
        seed = random.getrandbits(63) if self.options.seed is None else self.options.seed
        results = [*map(jnp.asarray, self.executable(arrays, seed))]
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def mlir(self) -> str:
        """The module that is compiled, as text."""
        return self.module.text

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that machine code is made from, as text."""
        options = self.options.for_compiler(self.module.name)
        return stage_text(self.module, options, "optimise")

    def _array(
        self, given: Any, dtype: Any, shape: Sequence[int | None], arguments: tuple[Any, ...]
    ) -> np.ndarray:
        is_number = isinstance(given, bool | int | float | complex)
        try:
            array = np.asarray(given)
            fits = _fits(given, dtype) if is_number else array.dtype == dtype
            if fits and len(array.shape) == len(shape) and all(map(_is, array.shape, shape)):
                return array.astype(dtype)
        except (ValueError, OverflowError):  # lists of different lengths, large numbers
            pass
        raise self._wrong(arguments)

    def _wrong(self, arguments: tuple[Any, ...]) -> ArgumentTypeError:
        pairs = zip(self.module.arguments, self.shapes, strict=True)
        wanted = (_type(kind.dtype, shape) for kind, shape in pairs)
        return ArgumentTypeError(
            program=self.module.name,
            wanted=", ".join(wanted),
            given=", ".join(map(_described, arguments)),
            span=user_span(),
        )

    def __repr__(self) -> str:
        return f"<compiled from MLIR: {self.module.name}>"


def _is(size: int, wanted: int | None) -> bool:
    return wanted is None or size == wanted


def _fits(number: complex, dtype: Any) -> bool:
    """Whether a number of Python's has a value in this type, as in JAX: no float is an integer."""
    if jnp.issubdtype(dtype, np.integer):
        bounds = jnp.iinfo(dtype)
        return isinstance(number, int) and bounds.min <= number <= bounds.max
    if not jnp.issubdtype(dtype, np.inexact):
        return isinstance(number, bool)
    if isinstance(number, complex) and not jnp.issubdtype(dtype, np.complexfloating):
        return False
    with np.errstate(over="ignore"):
        return np.isfinite(np.asarray(number).astype(dtype)) == cmath.isfinite(number)


def _type(dtype: str, shape: Sequence[int | None]) -> str:
    return f"{dtype}[{','.join('?' if size is None else str(size) for size in shape)}]"


def _described(argument: Any) -> str:
    if argument is None or isinstance(argument, str | int | float | complex):
        return repr(argument)
    if isinstance(argument, list | tuple):
        return f"a {type(argument).__qualname__}"
    array = np.asarray(argument)
    return _type(str(array.dtype), array.shape)
