"""The compiler: a traced program in, a shared library out; it runs nothing.

`lower(program)` gives a `LoweredModule` (MLIR), `compile_module(lowered, options)` a
`Compilation` whose artifact the runtime loads. Other layers import from here only.
"""

from diastase_mlir.cache import cache_directory
from diastase_mlir.compilation import (
    Compilation,
    circuits_text,
    compile_module,
    llvm_dialect_text,
    llvm_ir_text,
)
from diastase_mlir.diagnostics import at, span_of, user_span
from diastase_mlir.errors import (
    CacheWarning,
    CompileError,
    LinkerNotFoundError,
    LinkError,
    LoweringError,
    UnsafeCacheDirectoryError,
    UnsupportedTypeError,
)
from diastase_mlir.kernels import GATES
from diastase_mlir.known_programs import CompiledProgram, compile_program
from diastase_mlir.lowered import HostCallback, HostEquation, LoweredModule
from diastase_mlir.lowering.module import lower
from diastase_mlir.options import CompileOptions
from diastase_mlir.passes.circuits import (
    Circuit,
    Gate,
    New,
    NotAQNodeError,
    PassCall,
    gate_before,
    pass_call,
    pass_calls,
    register_pass,
)
from diastase_mlir.passes.circuits import values as circuit_values
from diastase_mlir.pipeline import PIPELINE
from diastase_mlir.program import DimensionBindings, Program
from diastase_runtime.abi import Artifact

__all__ = [
    "GATES",
    "PIPELINE",
    "Artifact",
    "CacheWarning",
    "Circuit",
    "Compilation",
    "CompileError",
    "CompileOptions",
    "CompiledProgram",
    "DimensionBindings",
    "Gate",
    "HostCallback",
    "HostEquation",
    "LinkError",
    "LinkerNotFoundError",
    "LoweredModule",
    "LoweringError",
    "New",
    "NotAQNodeError",
    "PassCall",
    "Program",
    "UnsafeCacheDirectoryError",
    "UnsupportedTypeError",
    "at",
    "cache_directory",
    "circuit_values",
    "circuits_text",
    "compile_module",
    "compile_program",
    "gate_before",
    "llvm_dialect_text",
    "llvm_ir_text",
    "lower",
    "pass_call",
    "pass_calls",
    "register_pass",
    "span_of",
    "user_span",
]
