"""The library's C functions: name in the import table -> kernel. The contract with lowering.

Each is there in double and in single precision, with `_f64` or `_f32` after its name.
"""

from collections.abc import Callable
from typing import Any

from diastase_engine.fourier import axis, real
from diastase_engine.threads.loops import use_threads

EXPORTS: dict[str, Callable[..., Any]] = {
    "transform": axis.transform,
    "transform_reals": real.transform_reals,
    "use_threads": use_threads,
}
