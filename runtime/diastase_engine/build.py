"""Build the libraries that are written in the kernel language: the engine, the thread pool, ….

In: nothing. Out: a library whose functions are the names of its `EXPORTS` after its prefix.
Imported by `engine` only where there is none yet, and by nobody else.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from diastase_engine.language import compile_kernels
from diastase_engine.partial_build import EngineInParts
from diastase_engine.pool_exports import EXPORTS as POOL
from diastase_engine.state_vector.exports import EXPORTS
from diastase_engine.tuning import settings_for
from diastase_engine.vector_math.functions import elementary_ir, symbols
from diastase_engine.xla_ffi.handler import EXPORTS as FOREIGN
from diastase_runtime.abi import library_symbol
from diastase_toolchain import linker, machine_code

SYMBOL_PREFIX = library_symbol("engine", "")


def build_engine(library: Path, settings: Mapping[str, int] | None = None) -> None:
    """Compile and link the engine into a file."""
    _build(engine_ir(settings), [SYMBOL_PREFIX + name for name in EXPORTS], library)


def build_single(library: Path) -> None:
    """Compile and link the engine for amplitudes in single precision."""
    settings = settings_for(machine_code.host_processor(), single=True)
    symbols = [library_symbol("single", name) for name in EXPORTS]
    _build(engine_ir(settings, library_symbol("single", "")), symbols, library)


def build_threads(library: Path) -> None:
    """Compile and link the thread pool into a file."""
    kernels = {library_symbol("threads", name): function for name, function in POOL.items()}
    text = str(compile_kernels(kernels, machine_code.host_processor().triple))
    _build(text, kernels, library)


def build_foreign(library: Path) -> None:
    """Compile and link the handler of calls from XLA into a file."""
    kernels = {library_symbol("foreign", name): function for name, function in FOREIGN.items()}
    text = str(compile_kernels(kernels, machine_code.host_processor().triple))
    _build(text, kernels, library)


def build_elementary(library: Path) -> None:
    """Compile and link the elementary functions into a file."""
    _build(elementary_ir(machine_code.host_processor().triple), symbols(), library)


def engine_ir(settings: Mapping[str, int] | None = None, prefix: str = SYMBOL_PREFIX) -> str:
    """LLVM IR of the engine, as the kernel language makes it, with this processor's settings."""
    host = machine_code.host_processor()
    kernels = {prefix + name: function for name, function in EXPORTS.items()}
    return str(compile_kernels(kernels, host.triple, settings or settings_for(host)))


def engine_in_parts() -> EngineInParts:
    """The engine as what programs need of it, of which there is nothing yet."""
    return EngineInParts(SYMBOL_PREFIX, settings_for(machine_code.host_processor()))


def single_in_parts() -> EngineInParts:
    """The same for amplitudes in single precision."""
    settings = settings_for(machine_code.host_processor(), single=True)
    return EngineInParts(library_symbol("single", ""), settings)


def _build(text: str, symbols: Collection[str], library: Path) -> None:
    with machine_code.optimised(text, symbols) as module:
        linker.link(machine_code.emit_object(module), library)
