"""MLIR as jaxlib brings it: its contexts and dialects.

jaxlib's MLIR bindings have no public name; StableHLO can only be built with them.

The trap: whenever bindings hand out an operation, they look for its class in a module named after
the dialect. To import it takes up to 170 ms (`linalg`), and where there is none they search again
each time, a tenth of a compilation. `do_without` has empty modules stand for them: an operation
without a class of its own has all that we use. Classes that are imported explicitly still are.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from types import ModuleType
from typing import Any

from jax.extend.mlir import ir

# Loaded here, or else at the first lowering.
from jax.extend.mlir.dialects import (
    builtin as _builtin,  # noqa: F401  # pyright: ignore[reportUnusedImport]
)
from jax.extend.mlir.dialects import chlo as _chlo
from jax.extend.mlir.dialects import mpmd, sdy
from jax.extend.mlir.dialects import stablehlo as _stablehlo

from diastase_mlir.jax_compat.private import JAX, jax_mlir, mlir_bindings
from diastase_toolchain.errors import MissingNameError
from diastase_toolchain.forks import kept_at_forks

_DIALECTS = (
    "affine bufferization cf complex index linalg llvm math memref quantum scf shape stablehlo "
    "tensor ub"
).split()


def do_without(registry: Any, *others: str) -> None:
    """Let empty modules stand for these dialects, in front of the bindings' own."""
    for dialect in (*_DIALECTS, *others):
        name = f"{__name__}.{dialect}"
        sys.modules.setdefault(name, ModuleType(name, "Deliberately empty."))
    registry.dialect_search_modules = [__name__, *registry.dialect_search_modules]


_FAST, _MHLO = "fast compilation", "linear algebra"

with suppress(MissingNameError):
    do_without(mlir_bindings.globals)


_USES_OF_A_CONTEXT = 50
"""A new context takes 2 ms; what one lowering leaves in it, constants included, is never freed."""


class _Contexts(threading.local):
    context: ir.Context | None = None
    uses = 0


_contexts = _Contexts()


@contextmanager
def ir_context() -> Generator[ir.Context]:
    """Enter this thread's MLIR context for one lowering; modules leave it as bytecode."""
    if _contexts.context is None or _contexts.uses >= _USES_OF_A_CONTEXT:
        _contexts.context, _contexts.uses = kept_at_forks(_new_ir_context()), 0
    _contexts.uses += 1
    with _contexts.context as context:
        yield context


def read_module(text: str) -> ir.Module:
    """Read MLIR in its generic form into a context of its own."""
    with _new_ir_context():
        return ir.Module.parse(text)


def forget_ir_context() -> None:
    """Use another context from now on: large constants went into this thread's."""
    _contexts.context = None


def _new_ir_context() -> ir.Context:
    """An MLIR context with JAX's dialects; ours and `linalg` are unregistered in it.

    Not `make_ir_context`: that one loads dialects for sharding and for older XLA (13 ms of imports;
    here `load_rare_dialects` does, when needed), and from jax 0.12 on hands out a shared context.
    """
    if _FAST in JAX.disabled:
        context = ir.Context()
    else:
        context: ir.Context = jax_mlir.JaxIrContext()
        context.append_dialect_registry(jax_mlir.upstream_dialects)
    context.load_all_available_dialects()
    _chlo.register_dialect(context)
    _stablehlo.register_dialect(context)
    context.allow_unregistered_dialects = True
    return context


_contexts.context = _new_ir_context()  # on import, where its 3 ms are not felt


def load_rare_dialects(context: ir.Context, rule: Any) -> None:
    """Load the dialects that a rule outside of JAX's main module may use.

    Rules of factorisations and of custom partitioning make attributes of the sharding dialect,
    and building one while the dialect is not loaded kills the process.
    """
    while isinstance(rule, partial):
        rule = rule.func
    if getattr(rule, "__module__", None) != "jax._src.lax.lax":
        for dialect in (mpmd, sdy):
            dialect.register_dialect(context)
        if _MHLO not in JAX.disabled:
            jax_mlir.dialects.mhlo.register_mhlo_dialect(context)
