"""The state-vector engine and the thread pool: tables for the compiler, libraries for programs."""

from diastase_mlir.kernels.engine import engine_library, threads_library
from diastase_mlir.kernels.gate_table import GATES, Gate

__all__ = ["GATES", "Gate", "engine_library", "threads_library"]
