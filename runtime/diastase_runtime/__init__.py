"""Load and run compiled programs; knows neither JAX nor MLIR nor PennyLane.

`load(artifact)` gives an `Executable`, called with numpy arrays. What compiled code and this
package agree on is in `abi`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diastase_runtime.call_observer import Observer, observe
from diastase_runtime.libraries import blas_core
from diastase_runtime.loader import EngineWork, Executable, exchange_engine, load
from diastase_runtime.memref import LARGEST_COPIED_RESULT

if TYPE_CHECKING:
    from diastase_runtime.standalone import c_source

__all__ = [
    "LARGEST_COPIED_RESULT",
    "EngineWork",
    "Executable",
    "Observer",
    "blas_core",
    "c_source",
    "exchange_engine",
    "load",
    "observe",
]


def __getattr__(name: str) -> Any:
    if name != "c_source":  # which most processes never need
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("diastase_runtime.standalone").c_source
