"""Build the engine: the kernels, compiled and linked into a shared library.

In: nothing. Out: a library whose functions are `diastase_engine_<name>` for every name of
`state_vector.exports`. Imported by `engine` only where there is none yet, and by nobody else.
"""

from collections.abc import Mapping
from pathlib import Path

from diastase_mlir.codegen import link, machine
from diastase_mlir.kernels.language import compile_kernels
from diastase_mlir.kernels.state_vector.exports import EXPORTS
from diastase_mlir.kernels.tuning import settings_for

SYMBOL_PREFIX = "diastase_engine_"


def build_engine(library: Path, settings: Mapping[str, int] | None = None) -> None:
    """Compile and link the engine into a file."""
    with machine.optimised(engine_ir(settings), _symbols()) as module:
        link.link(machine.emit_object(module), library)


def engine_ir(settings: Mapping[str, int] | None = None) -> str:
    """LLVM IR of the engine, as the kernel language makes it, with this processor's settings."""
    host = machine.host_processor()
    kernels = {SYMBOL_PREFIX + name: function for name, function in EXPORTS.items()}
    return str(compile_kernels(kernels, host.triple, settings or settings_for(host)))


def _symbols() -> frozenset[str]:
    return frozenset(SYMBOL_PREFIX + name for name in EXPORTS)
