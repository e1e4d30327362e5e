"""The compiler: a traced program in, a shared library out; it runs nothing.

`lower(program)` gives a `LoweredModule` (MLIR), `compile_module(lowered, options)` a
`Compilation` whose artifact the runtime loads. Other layers import from here only.
"""

from diastase_mlir.cache import cache_directory
from diastase_mlir.compilation import (
    Compilation,
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
from diastase_mlir.lowered import HostCallback, HostEquation, LoweredModule
from diastase_mlir.lowering.module import lower
from diastase_mlir.options import CompileOptions
from diastase_mlir.pipeline import PIPELINE
from diastase_mlir.program import DimensionBindings, Program
from diastase_runtime.abi import Artifact

__all__ = [
    "GATES",
    "PIPELINE",
    "Artifact",
    "CacheWarning",
    "Compilation",
    "CompileError",
    "CompileOptions",
    "DimensionBindings",
    "HostCallback",
    "HostEquation",
    "LinkError",
    "LinkerNotFoundError",
    "LoweredModule",
    "LoweringError",
    "Program",
    "UnsafeCacheDirectoryError",
    "UnsupportedTypeError",
    "at",
    "cache_directory",
    "compile_module",
    "llvm_dialect_text",
    "llvm_ir_text",
    "lower",
    "span_of",
    "user_span",
]
