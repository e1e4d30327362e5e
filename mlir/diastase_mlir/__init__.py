"""The compiler: a traced program in, a shared library out; it runs nothing.

`lower(program)` gives a `LoweredModule` (MLIR), `compile_module(lowered, options)` a
`Compilation` whose artifact the runtime loads; `compile_program` does both unless the cache has it.
Other layers import from here only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diastase_engine import (
    GATES,
    gate_of,
    into_z,
    rotation_about,
    when_whole,
    with_libraries,
    word_of,
)
from diastase_mlir.diagnostics import at, span_of, user_span
from diastase_mlir.driver.compile_program import CompiledProgram, compile_program
from diastase_mlir.errors import (
    ChangedInterfaceError,
    FailedPassError,
    InvalidIRError,
    LoweringError,
    UnsupportedTypeError,
)
from diastase_mlir.lowering.core.lowered_module import (
    LOWERED,
    HostCallback,
    HostEquation,
    LoweredModule,
)
from diastase_mlir.options import Compilation, CompileOptions
from diastase_mlir.program import DimensionBindings, Program
from diastase_runtime.abi import Artifact
from diastase_toolchain.cache import cache_directory
from diastase_toolchain.errors import (
    CacheWarning,
    LinkerNotFoundError,
    LinkError,
    UnsafeCacheDirectoryError,
)

if TYPE_CHECKING:
    from diastase_mlir.circuit_modules import MOVING, TracedBody, transform_circuit
    from diastase_mlir.driver import continuation as continuation
    from diastase_mlir.driver.compilation import (
        compile_module,
        llvm_ir_text,
        stage_module,
        stage_text,
    )
    from diastase_mlir.driver.located_texts import ASSEMBLY, LocatedText, located_texts
    from diastase_mlir.driver.other_processors import compile_for
    from diastase_mlir.driver.pipeline import PIPELINE
    from diastase_mlir.driver.written_modules import read_module
    from diastase_mlir.lowering.module import lower
    from diastase_mlir.passes.circuits import (
        Circuit,
        Gate,
        New,
        NotAQNodeError,
        OptionValueError,
        PassCall,
        UnsuitableCircuitError,
        gate_before,
        pass_call,
        pass_calls,
        register_pass,
    )
    from diastase_mlir.passes.circuits import values as circuit_values

__all__ = [
    "ASSEMBLY",
    "GATES",
    "LOWERED",
    "MOVING",
    "PIPELINE",
    "Artifact",
    "CacheWarning",
    "ChangedInterfaceError",
    "Circuit",
    "Compilation",
    "CompileOptions",
    "CompiledProgram",
    "DimensionBindings",
    "FailedPassError",
    "Gate",
    "HostCallback",
    "HostEquation",
    "InvalidIRError",
    "LinkError",
    "LinkerNotFoundError",
    "LocatedText",
    "LoweredModule",
    "LoweringError",
    "New",
    "NotAQNodeError",
    "OptionValueError",
    "PassCall",
    "Program",
    "TracedBody",
    "UnsafeCacheDirectoryError",
    "UnsuitableCircuitError",
    "UnsupportedTypeError",
    "at",
    "cache_directory",
    "circuit_values",
    "compile_for",
    "compile_module",
    "compile_program",
    "continuation",
    "gate_before",
    "gate_of",
    "into_z",
    "llvm_ir_text",
    "located_texts",
    "lower",
    "pass_call",
    "pass_calls",
    "read_module",
    "register_pass",
    "rotation_about",
    "span_of",
    "stage_module",
    "stage_text",
    "transform_circuit",
    "user_span",
    "when_whole",
    "with_libraries",
    "word_of",
]

_LAZY = {
    "diastase_mlir.circuit_modules": ("MOVING", "TracedBody", "transform_circuit"),
    "diastase_mlir.driver.compilation": (
        "compile_module", "llvm_ir_text", "stage_module", "stage_text",
    ),
    "diastase_mlir.driver.located_texts": ("ASSEMBLY", "LocatedText", "located_texts"),
    "diastase_mlir.driver.other_processors": ("compile_for",),
    "diastase_mlir.lowering.module": ("lower",),
    "diastase_mlir.passes.circuits": (
        "Circuit", "Gate", "New", "NotAQNodeError", "OptionValueError", "PassCall",
        "UnsuitableCircuitError", "gate_before", "pass_call", "pass_calls", "register_pass",
    ),
    "diastase_mlir.driver.pipeline": ("PIPELINE",),
    "diastase_mlir.driver.written_modules": ("read_module",),
}  # fmt: skip
"""What is imported when it is first asked for: it needs MLIR and LLVM, which a program that is
found in the cache does not, and to load them takes as long as to import everything else."""

_MODULES = {
    "circuit_values": "diastase_mlir.passes.circuits.values",
    "continuation": "diastase_mlir.driver.continuation",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
