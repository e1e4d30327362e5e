"""The MLIR bindings by which operations are made: JAX's in lowering, the others in passes.

Two sets of bindings, whose classes have the same names, share no memory: a module is built with
JAX's, so that its lowering rules can be used, and compiled with those that have all passes. What
emits operations for both takes `ir` from here, which is the one or the other:

    with jax_bindings():      # lowering
        ...
"""

from collections.abc import Generator
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

from diastase_toolchain.lazy_import import LazyModule

__all__ = ["ir", "using"]


class _Current(local):
    module: Any = None


_current = _Current()


class _Bindings:
    """The module of classes that is in use in this thread."""

    def __getattr__(self, name: str) -> Any:
        if _current.module is None:
            return getattr(bindings.ir, name)
        return getattr(_current.module, name)


if TYPE_CHECKING:
    from diastase_mlir import bindings
    from diastase_mlir.jax_compat import ir
else:
    bindings = LazyModule("diastase_mlir.bindings")
    ir = _Bindings()


@contextmanager
def using(module: Any) -> Generator[None]:
    """Make operations by these bindings, in this thread."""
    outer, _current.module = _current.module, module
    try:
        yield
    finally:
        _current.module = outer
