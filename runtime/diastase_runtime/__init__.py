"""Load and run compiled programs; knows neither JAX nor MLIR nor PennyLane.

`load(artifact)` gives an `Executable`, called with numpy arrays. What compiled code and this
package agree on is in `abi`.
"""

from diastase_runtime.loader import EngineWork, Executable, load
from diastase_runtime.observation import Observer, observe

__all__ = ["EngineWork", "Executable", "Observer", "load", "observe"]
