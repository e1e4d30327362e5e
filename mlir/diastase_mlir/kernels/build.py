"""Build the engine: the kernels, compiled and linked into a shared library.

In: nothing. Out: a library whose functions are `diastase_engine_<name>` for every name of
`state_vector.exports`. Imported by `engine` only where there is none yet, and by nobody else.
"""

from pathlib import Path

from diastase_mlir.codegen import link, machine
from diastase_mlir.kernels.language import compile_kernels
from diastase_mlir.kernels.state_vector.exports import EXPORTS

SYMBOL_PREFIX = "diastase_engine_"


def build_engine(library: Path) -> None:
    """Compile and link the engine into a file."""
    with machine.optimised(engine_ir(), _symbols()) as module:
        link.link(machine.emit_object(module), library)


def engine_ir() -> str:
    """LLVM IR of the engine, as the kernel language makes it."""
    kernels = {SYMBOL_PREFIX + name: function for name, function in EXPORTS.items()}
    return str(compile_kernels(kernels, machine.host_processor().triple))


def _symbols() -> frozenset[str]:
    return frozenset(SYMBOL_PREFIX + name for name in EXPORTS)
