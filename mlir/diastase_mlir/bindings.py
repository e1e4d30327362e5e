"""The MLIR bindings: the only module that imports `torch_mlir`.

The `torch-mlir` wheel ships upstream MLIR's Python bindings, all dialects and passes, the
translation to LLVM IR, and StableHLO; PyTorch is not involved. Other modules take `ir`, the
dialect modules and the few functions below from here.

`session` lends the process's one context. MLIR interns types, attributes and locations in a
context for its whole life, so the context is replaced after some uses to bound memory; nothing
that belongs to it may be kept after the session ends.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_mlir import rewrite

# Compiled modules, of which the type checker sees nothing.
from torch_mlir._mlir_libs import (
    _stablehlo,  # pyright: ignore[reportAttributeAccessIssue]
    _torchMlir,  # pyright: ignore[reportAttributeAccessIssue]
)
from torch_mlir._mlir_libs._mlir import globals as _globals
from torch_mlir._mlir_libs._mlirDialectsLLVM import translate_module_to_llvmir
from torch_mlir.dialects import (
    arith,
    bufferization,
    ext,
    func,
    irdl,
    linalg,
    llvm,
    memref,
    scf,
    tensor,
)

if TYPE_CHECKING:
    # The wheel has no type stubs; jaxlib has those of the same bindings, and serves the checker.
    from jaxlib.mlir import ir  # noqa: TID251
    from jaxlib.mlir.passmanager import PassManager  # noqa: TID251
else:
    from torch_mlir import ir
    from torch_mlir.passmanager import PassManager

__all__ = [
    "PassManager",
    "arith",
    "bufferization",
    "ext",
    "func",
    "ir",
    "irdl",
    "linalg",
    "llvm",
    "memref",
    "rewrite",
    "scf",
    "session",
    "tensor",
    "translate_module_to_llvmir",
]

USES_OF_A_CONTEXT = 200
"""A new context costs 5 ms; one use leaves some 10 kB of interned objects behind."""

_stablehlo.register_stablehlo_passes()

# Where the bindings look for the classes of our dialects. They look at every value they hand out,
# and a search that fails is repeated for each of them: half of the time of a large circuit.
_globals.append_dialect_search_prefix("diastase_mlir.dialects")


@dataclass
class _Shared:
    """The context in use; bindings hold the GIL while they work, so one lock costs nothing."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    context: ir.Context | None = None
    dialects: tuple[type[ext.Dialect], ...] = ()
    uses: int = 0
    depth: int = 0


_shared = _Shared()


@contextmanager
def session(dialects: Sequence[type[ext.Dialect]] = ()) -> Generator[ir.Context]:
    """Enter the MLIR context, with these dialects of ours loaded, for one thread at a time."""
    with _shared.lock:
        _renew(tuple(dialects))
        assert _shared.context is not None
        _shared.depth += 1
        try:
            with _shared.context:
                yield _shared.context
        finally:
            _shared.depth -= 1


def _renew(dialects: tuple[type[ext.Dialect], ...]) -> None:
    """Make a fresh context where there is none, it is worn out, or it lacks a dialect."""
    missing = not set(dialects) <= set(_shared.dialects)
    worn = _shared.uses >= USES_OF_A_CONTEXT and _shared.depth == 0
    _shared.uses += 1
    if _shared.context is not None and not worn and not missing:
        return
    _shared.context = context = _new_context()
    _shared.dialects, _shared.uses = dialects, 0
    with context:
        for dialect in dialects:
            dialect.load()


def _new_context() -> ir.Context:
    """Make a context in which StableHLO, CHLO and every upstream dialect can be used."""
    context = ir.Context()
    context.enable_multithreading(False)  # our functions are small; threads would only cost
    _stablehlo.register_dialect(context)
    _torchMlir.register_dialect(context)
    with context, ir.Location.unknown():
        # CHLO has no register function of its own, but this pass depends on it and loads it.
        module = ir.Module.parse("func.func private @load_chlo()")
        load_chlo = "builtin.module(func.func(convert-torch-to-stablehlo))"
        PassManager.parse(load_chlo).run(module.operation)
    return context
