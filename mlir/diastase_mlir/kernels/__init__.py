"""Tables for the compiler, libraries for programs: engines, thread pool, elementary functions."""

from diastase_mlir.kernels.engine import (
    elementary_library,
    engine_library,
    foreign_library,
    single_library,
    threads_library,
    when_whole,
    with_libraries,
)
from diastase_mlir.kernels.gate_table import GATES, Gate

__all__ = [
    "GATES",
    "Gate",
    "elementary_library",
    "engine_library",
    "foreign_library",
    "single_library",
    "threads_library",
    "when_whole",
    "with_libraries",
]
