"""Load and run compiled programs; knows neither JAX nor MLIR nor PennyLane.

`load(path)` gives a function of arrays that `save` has written, `distributed.map` calls one for
each element of a batch; an `Executable` is one compiled program, called with numpy arrays. What
compiled code and this package agree on is in `abi`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diastase_runtime.arrays.memref import LARGEST_COPIED_RESULT
from diastase_runtime.call_observer import Observer, observe
from diastase_runtime.libraries import blas_core
from diastase_runtime.loader import EngineWork, Executable, exchange_engine

if TYPE_CHECKING:
    from diastase_runtime import distributed
    from diastase_runtime.saved.function import SavedFunction, load
    from diastase_runtime.standalone import c_source

__all__ = [
    "LARGEST_COPIED_RESULT",
    "EngineWork",
    "Executable",
    "Observer",
    "SavedFunction",
    "blas_core",
    "c_source",
    "distributed",
    "exchange_engine",
    "load",
    "observe",
]


_LAZY = {
    "SavedFunction": "diastase_runtime.saved.function",
    "c_source": "diastase_runtime.standalone",
    "load": "diastase_runtime.saved.function",
}
"""What most processes never need; `distributed` is a module."""


def __getattr__(name: str) -> Any:
    if name == "distributed":
        return import_module("diastase_runtime.distributed")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
