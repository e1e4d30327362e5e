"""`compile_from_mlir`: MLIR as text becomes a function of arrays."""

import random
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase.api.debugging.errors import NeedsPythonError
from diastase.api.errors import CompiledTransformError, InvalidOptionError
from diastase.api.options import QjitOptions
from diastase_mlir import (
    Compilation,
    InvalidIRError,
    LoweredModule,
    compile_module,
    read_module,
    stage_text,
    user_span,
)
from diastase_mlir.jax_internals import Tracer
from diastase_runtime import Executable, load
from diastase_runtime.abi import ArrayType
from diastase_runtime.errors import ArgumentTypeError


def compile_from_mlir(ir: str, compile_options: QjitOptions | None = None) -> "CompiledModule":
    """Compile MLIR to a function of arrays.

    `ir` has one function to call: public, or named `main`, of ranked tensors, whose sizes may be
    dynamic (`tensor<?xf64>`). Its operations may be those of StableHLO, so what JAX prints can be
    compiled, of MLIR's own dialects (`linalg`, `scf`, `tensor`, `arith`, `math`, …), and of the
    quantum dialect, in functions that take the call context (`!llvm.ptr`) first, as `f.mlir` shows
    it. Loops and branches are those of `scf`. `compile_options` are those of `qjit`.

    >>> double = compile_from_mlir('''
    ...     func.func @double(%x: tensor<?xf64>) -> tensor<?xf64> {
    ...         %y = stablehlo.add %x, %x : tensor<?xf64>
    ...         return %y : tensor<?xf64>
    ...     }''')
    >>> double(jnp.array([1.0, 2.5]))
    Array([2., 5.], dtype=float64)

    Raises `InvalidIRError` (a `ValueError`) with the line that is wrong, `EntryNotFoundError` (a
    `ValueError`), `UnsupportedTypeError` (a `TypeError`), `NeedsPythonError` for text that was
    printed of a function with callbacks, and what compiling raises.
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
    module = read_module(text)
    compilation = compile_module(module, given.for_compiler(module.name))
    if any(entry.library == "callback" for entry in compilation.artifact.imports):
        raise NeedsPythonError(program=module.name, what="a callback")
    return CompiledModule(module, compilation, load(compilation.artifact), given)


@dataclass(frozen=True, repr=False, eq=False)
class CompiledModule:
    """A function compiled from MLIR; called with arrays, it returns one, or a tuple of them."""

    module: LoweredModule
    compilation: Compilation
    executable: Executable
    options: QjitOptions

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; arguments must have its element types and ranks, numbers fit any."""
        for argument in arguments:
            if isinstance(argument, Tracer):
                raise CompiledTransformError(type=type(argument).__qualname__)
        kinds = self.module.arguments
        if len(arguments) != len(kinds):
            raise self._wrong(arguments)
        arrays = [self._array(*pair, arguments) for pair in zip(arguments, kinds, strict=True)]
        seed = random.getrandbits(63) if self.options.seed is None else self.options.seed
        results = [*map(jnp.asarray, self.executable(arrays, seed))]
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def mlir(self) -> str:
        """The module that is compiled."""
        return self.module.text

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that machine code is made from."""
        options = self.options.for_compiler(self.module.name)
        return stage_text(self.module, options, "optimise")

    def _array(self, given: Any, kind: ArrayType, arguments: tuple[Any, ...]) -> np.ndarray:
        try:
            array = np.asarray(given)
        except ValueError:  # lists of different lengths
            raise self._wrong(arguments) from None
        is_number = isinstance(given, bool | int | float | complex)
        dtype = jnp.dtype(kind.dtype)
        if array.ndim == kind.rank and (array.dtype == dtype or _fits(array, dtype, is_number)):
            return array.astype(dtype)
        raise self._wrong(arguments)

    def _wrong(self, arguments: tuple[Any, ...]) -> ArgumentTypeError:
        given = map(_described, arguments)
        wanted = (f"{kind.dtype}[rank {kind.rank}]" for kind in self.module.arguments)
        return ArgumentTypeError(
            program=self.module.name,
            wanted=", ".join(wanted),
            given=", ".join(given),
            span=user_span(),
        )

    def __repr__(self) -> str:
        return f"<compiled from MLIR: {self.module.name}>"


def _fits(array: np.ndarray, dtype: Any, is_number: bool) -> bool:
    """Whether a number of Python's has a value in this type, as in JAX: no float is an integer."""
    return is_number and np.can_cast(array.dtype, dtype, "same_kind")


def _described(argument: Any) -> str:
    if isinstance(argument, list | tuple):
        return type(argument).__qualname__
    array = np.asarray(argument)
    return f"{array.dtype}[rank {array.ndim}]"
