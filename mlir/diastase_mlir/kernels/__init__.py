"""The state-vector engine: its gate table for the compiler, its library for compiled programs."""

from diastase_mlir.kernels.engine import engine_library
from diastase_mlir.kernels.gate_table import GATES, Gate

__all__ = ["GATES", "Gate", "engine_library"]
