"""The MLIR bindings: the only module that imports `torch_mlir`.

The `torch-mlir` wheel ships upstream MLIR's Python bindings, all dialects and passes, the
translation to LLVM IR, and StableHLO; PyTorch is not involved. Other modules take `ir`, the
dialect modules and the few functions below from here.

`session` lends the process's one context. MLIR interns types, attributes and locations in a
context for its whole life, so the context is replaced after some uses to bound memory; nothing
that belongs to it may be kept after the session ends, but for the pass managers kept here.
"""

import ctypes
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

# Compiled modules, of which the type checker sees nothing.
from torch_mlir._mlir_libs import (
    _stablehlo,  # pyright: ignore[reportAttributeAccessIssue]
    _torchMlir,  # pyright: ignore[reportAttributeAccessIssue]
)
from torch_mlir._mlir_libs._mlir import globals as _globals
from torch_mlir.dialects import arith, ext, func, tensor

from diastase_mlir.jax_compat.contexts import do_without

if TYPE_CHECKING:
    # The wheel has no type stubs; jaxlib has those of the same bindings, and serves the checker.
    from jaxlib.mlir import ir  # noqa: TID251
    from jaxlib.mlir.passmanager import PassManager  # noqa: TID251
else:
    from torch_mlir import ir
    from torch_mlir.passmanager import PassManager

__all__ = [
    "CHLO", "ConvDimensionNumbers", "DotDimensionNumbers", "GatherDimensionNumbers", "Loadable",
    "ScatterDimensionNumbers", "arith", "ext", "func", "ir", "load", "run_passes", "session",
    "tensor", "translated_to_llvm_ir", "wear_out",
]  # fmt: skip

ConvDimensionNumbers: Any = _stablehlo.ConvDimensionNumbers
DotDimensionNumbers: Any = _stablehlo.DotDimensionNumbers
GatherDimensionNumbers: Any = _stablehlo.GatherDimensionNumbers
ScatterDimensionNumbers: Any = _stablehlo.ScatterDimensionNumbers

USES_OF_A_CONTEXT = 200
"""A new context with its passes costs 10 ms; one use leaves some 10 kB behind."""

_BYTES_OF_A_USE = 2**16

_CREATED_FROM_PYTHON = (
    "arith", "bufferization", "complex", "func", "irdl", "linalg", "llvm", "math", "memref", "scf",
    "tensor", "vector",
)  # fmt: skip
"""Dialects whose operations our passes make. Parsers and MLIR's passes load what they need; a
context with all of the wheel's dialects takes 7 ms, and each `canonicalize` in it 0.3 ms more."""

_stablehlo.register_stablehlo_passes()
do_without(_globals, "builtin")
do_without(_globals, "jax")  # of circuits: operations that only stand for equations


class Loadable(Protocol):
    """A dialect that is loaded into a context when a module needs it."""

    DIALECT_NAMESPACE: str

    def load(self) -> None:
        """Load it into the current context, in which it is not yet."""
        ...


class _Chlo:
    """StableHLO's client dialect: has no register function, but is what a pass depends on."""

    DIALECT_NAMESPACE: str = "chlo"

    def load(self) -> None:
        _torchMlir.register_dialect(ir.Context.current)
        with ir.Location.unknown():
            module = ir.Module.parse("func.func private @load_chlo()")
        run_passes("func.func(convert-torch-to-stablehlo)", module)


CHLO: Loadable = _Chlo()


@dataclass
class _Shared:
    """The context in use; bindings hold the GIL while they work, so one lock costs nothing."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    context: ir.Context | None = None
    pass_managers: dict[tuple[str, bool], PassManager] = field(default_factory=dict)
    """By passes, and whether they are verified; made once, as it takes longer than most runs."""
    uses: int = 0
    depth: int = 0


_shared = _Shared()


@contextmanager
def session(dialects: Iterable[Loadable] = ()) -> Generator[ir.Context]:
    """Enter the MLIR context, with at least these dialects loaded, for one thread at a time."""
    with _shared.lock:
        _renew()
        assert _shared.context is not None
        _shared.depth += 1
        try:
            with _shared.context:
                load(dialects)
                yield _shared.context
        finally:
            _shared.depth -= 1


def load(dialects: Iterable[Loadable]) -> None:
    """Load those of the dialects that this session's context does not have yet."""
    for dialect in dialects:
        context: Any = ir.Context.current
        if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
            dialect.load()


def problem_of(passes: str) -> str | None:
    """What MLIR has against passes in textual form, in a session; None if it knows them."""
    try:
        PassManager.parse(f"builtin.module({passes})")
    except ValueError as error:
        first = next(line for line in str(error).splitlines() if line)
        return first.partition("error: ")[2] or first
    return None


def run_passes(passes: str, module: ir.Module, *, verified: bool = True) -> None:
    """Run passes, given in textual form, in a session; with `verified`, check after each."""
    manager = _shared.pass_managers.get((passes, verified))
    if manager is None:
        manager = PassManager.parse(f"builtin.module({passes})")
        manager.enable_verifier(verified)
        _shared.pass_managers[passes, verified] = manager
    manager.run(module.operation)


def translated_to_llvm_ir(module: ir.Module) -> str:
    """Translate a module that has LLVM's dialect only.

    By MLIR's C interface: the wheel's own function never frees the text (docs/upstream.md).
    """
    translate, free = _translation()
    operation: Any = module.operation
    text = translate(_pointer(operation._CAPIPtr, _OF_OPERATIONS))
    try:
        return ctypes.string_at(text).decode()
    finally:
        free(text)


_OF_OPERATIONS = b"torch_mlir.ir.Operation._CAPIPtr"

# Without letting go of the GIL, as all that works with a context.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@cache
def _translation() -> tuple[Callable[[int | None], int], Callable[[int], None]]:
    """MLIR's function from an operation to LLVM IR, and LLVM's that frees the text."""
    (path,) = Path(_stablehlo.__file__).parent.glob("libTorchMLIRAggregateCAPI.*")
    library = ctypes.PyDLL(str(path))
    translate = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
        ("mlirTranslateModuleToLLVMIRToString", library)
    )
    free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("LLVMDisposeMessage", library))
    return translate, free


def wear_out(bytes_read: int) -> None:
    """Count large modules as several uses: the constants in them stay in the context."""
    _shared.uses += bytes_read // _BYTES_OF_A_USE


def _renew() -> None:
    """Make a fresh context where there is none, or it is worn out and nobody uses it."""
    worn = _shared.uses >= USES_OF_A_CONTEXT and _shared.depth == 0
    _shared.uses += 1
    if _shared.context is None or worn:
        _shared.pass_managers.clear()
        _shared.context, _shared.uses = _new_context(), 0


def _new_context() -> ir.Context:
    """Make a context in which StableHLO and every upstream dialect can be used."""
    context = ir.Context(load_on_create_dialects=[])  # pyright: ignore[reportCallIssue]
    context.enable_multithreading(False)  # our functions are small; threads would only cost
    for dialect in _CREATED_FROM_PYTHON:
        context.get_dialect_descriptor(dialect)
    _stablehlo.register_dialect(context)
    return context


_shared.context = _new_context()  # on import, where its 2 ms are not felt
