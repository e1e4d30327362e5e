"""Machine code of the libraries that are written in the kernel language, whole or in parts.

In: nothing, or functions of `EXPORTS`. Out: a shared library whose functions are the names of its
table of exports after its prefix. Imported by `engine` only where there is no library yet, and by
nobody else.

`EngineInParts` is what a first program waits for: an engine of what programs call, and of all that
these call, made as fast as can be; the whole one takes its place later (`engine`). Kernels that are
defined in one Python module are a part, and are compiled once: LLVM works on some, in threads,
while this thread compiles the next ones from Python. Nothing is inlined into a kernel of another
part. Where there are vectors, code is as it is written, but made by LLVM's better code generator;
all else by its fast one. Tiles are the smallest, of which there are fewest cases.

The trap: a state that an engine has made is for that engine alone.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from diastase_engine.density_matrix.exports import EXPORTS as MIXED
from diastase_engine.fourier.exports import EXPORTS as FOURIER
from diastase_engine.lanes.exports import EXPORTS as LANES
from diastase_engine.lanes.exports import GPU_EXPORTS as LANES_ON_GPU
from diastase_engine.lanes.exports import GRID_KERNELS as LANE_GRIDS
from diastase_engine.language import (
    called_by,
    compile_grids,
    compile_kernels,
    compile_part,
    named_kernels,
)
from diastase_engine.language.compile import add_text
from diastase_engine.language.concurrency import SHARED
from diastase_engine.libraries.tuning import settings_for
from diastase_engine.sorting.exports import EXPORTS as SORTING
from diastase_engine.state_vector.batch_elements import for_each_element
from diastase_engine.state_vector.device.records import THREADS
from diastase_engine.state_vector.exports import EXPORTS, GPU_EXPORTS, GRID_KERNELS
from diastase_engine.threads.blas import blas_begin, blas_end, use_blas
from diastase_engine.threads.parallel_for import (
    configure,
    forget,
    parallel_for,
    run_job,
    thread_count,
)
from diastase_engine.threads.python import call_back, poll, poll_now, take_raised, use_python
from diastase_engine.vector_math.functions import elementary_ir, symbols
from diastase_engine.xla_ffi import EXPORTS as FOREIGN
from diastase_runtime.abi import GRIDS_TEXT, OurLibrary, library_symbol
from diastase_toolchain import linker, machine_code, ptx
from diastase_toolchain.background import begun_in_background
from diastase_toolchain.machine_code import Level

POOL_EXPORTS = {
    "parallel_for": parallel_for,
    "run_job": run_job,
    "for_each_element": for_each_element,
    "configure": configure,
    "thread_count": thread_count,
    "forget": forget,
    "use_blas": use_blas,
    "blas_begin": blas_begin,
    "blas_end": blas_end,
    "use_python": use_python,
    "poll": poll,
    "poll_now": poll_now,
    "take_raised": take_raised,
    "call_back": call_back,
}
"""The thread pool's C functions: name in the import table -> kernel."""
_VECTORS = re.compile(r"<\d+ x (double|float)>")

Exports = Mapping[str, Callable[..., Any]]


def build_engine(library: Path, settings: Mapping[str, int] | None = None) -> None:
    """Compile and link the engine into a file."""
    _build(engine_ir(settings), _kernels("engine", EXPORTS), library)


def build_single(library: Path) -> None:
    """Compile and link the engine for amplitudes in single precision."""
    settings = settings_for(machine_code.host_processor(), single=True)
    _build_kernels(_kernels("single", EXPORTS), library, settings)


def build_gpu(library: Path) -> None:
    """Compile and link the engine of state vectors on a GPU, with what it launches there."""
    _build_for_gpu("engine", library, GPU_EXPORTS, GRID_KERNELS)


def build_single_gpu(library: Path) -> None:
    """Compile and link that for amplitudes in single precision."""
    _build_for_gpu("single", library, GPU_EXPORTS, GRID_KERNELS, single=True)


def build_lanes_gpu(library: Path) -> None:
    """Compile and link the engine of state vectors side by side on a GPU, likewise."""
    _build_for_gpu("lanes", library, LANES_ON_GPU, LANE_GRIDS)


def _build_for_gpu(
    name: OurLibrary, library: Path, exports: Exports, grids: Exports, *, single: bool = False
) -> None:
    host, kernels = machine_code.host_processor(), _kernels(name, exports)
    settings = {**settings_for(host, single=single), "gpu": 1}
    module = compile_kernels(kernels, host.triple, settings)
    text = ptx.ptx(grids_ir(ptx.TRIPLE, grids, single=single), ptx.ARCHITECTURE)
    constant = add_text(module, library_symbol(name, GRIDS_TEXT), text)
    _build(str(module), {*kernels, constant}, library)


def grids_ir(
    triple: str, grids: Exports = GRID_KERNELS, *, single: bool = False, order: int = 0
) -> str:
    """LLVM IR of the kernels that an engine of a GPU launches, for a GPU or for the host."""
    settings = {"threads": THREADS, "single": int(single), "order": order}
    return str(compile_grids(grids, triple, settings))


def build_mixed(library: Path) -> None:
    """Compile and link the engine of density matrices into a file."""
    settings = settings_for(machine_code.host_processor())
    _build_kernels(_kernels("mixed", MIXED), library, settings)


def build_single_mixed(library: Path) -> None:
    """Compile and link the engine of density matrices in single precision into a file."""
    settings = settings_for(machine_code.host_processor(), single=True)
    _build_kernels(_kernels("single_mixed", MIXED), library, settings)


def build_lanes(library: Path) -> None:
    """Compile and link the engine of state vectors side by side in vectors into a file."""
    _build_kernels(_kernels("lanes", LANES), library, settings_for(machine_code.host_processor()))


def build_sorting(library: Path) -> None:
    """Compile and link the library that sorts into a file."""
    _build_kernels(_kernels("sorting", SORTING), library)


def build_threads(library: Path) -> None:
    """Compile and link the thread pool into a file."""
    _build_kernels(_kernels("threads", POOL_EXPORTS), library)


def build_foreign(library: Path) -> None:
    """Compile and link the handler of calls from XLA into a file."""
    _build_kernels(_kernels("foreign", FOREIGN), library)


def build_elementary(library: Path) -> None:
    """Compile and link the elementary functions into a file."""
    _build(elementary_ir(machine_code.host_processor().triple), symbols(), library)


def build_fourier(library: Path) -> None:
    """Compile and link Fourier transforms, in both precisions, into a file."""
    host = machine_code.host_processor()
    objects: list[bytes] = []
    for suffix, single in (("f64", False), ("f32", True)):
        exports = {f"{name}_{suffix}": kernel for name, kernel in FOURIER.items()}
        if not single:  # there is one pool for both
            exports["use_threads"] = exports.pop("use_threads_f64")
        kernels = _kernels("fourier", exports)
        text = str(compile_kernels(kernels, host.triple, settings_for(host, single=single)))
        level, common = Level.VECTORS_AS_WRITTEN, [f"Threads{SHARED}"]
        with machine_code.optimised(text, kernels, level, common) as module:
            objects.append(machine_code.emit_object(module))
    linker.link_parts(objects, library)


def engine_ir(settings: Mapping[str, int] | None = None) -> str:
    """LLVM IR of the engine, as the kernel language makes it, with this processor's settings."""
    host = machine_code.host_processor()
    kernels = _kernels("engine", EXPORTS)
    return str(compile_kernels(kernels, host.triple, settings or settings_for(host)))


def _kernels(library: OurLibrary, exports: Exports) -> Exports:
    return {library_symbol(library, name): kernel for name, kernel in exports.items()}


def _build_kernels(
    kernels: Exports, library: Path, settings: Mapping[str, int] | None = None
) -> None:
    text = str(compile_kernels(kernels, machine_code.host_processor().triple, settings))
    _build(text, kernels, library)


def _build(text: str, symbols: Collection[str], library: Path) -> None:
    with machine_code.optimised(text, symbols) as module:
        linker.link(machine_code.emit_object(module), library)


class EngineInParts:
    """Machine code of what was needed of an engine so far; for one thread at a time."""

    def __init__(
        self, name: OurLibrary, settings: Mapping[str, int], exports: Exports = EXPORTS
    ) -> None:
        self._name: OurLibrary = name
        self._settings = {**settings, "slots": 1}
        exported = named_kernels(_kernels(name, exports))
        self._exports = frozenset(exported.values())
        self._names = {
            kernel: exported.get(kernel, f"{kernel.module}.{kernel.name}")
            for kernel in called_by(exported)
        }
        self._made: tuple[list[bytes], frozenset[object]] = [], frozenset()
        """Machine code, and the kernels that it is of."""

    def build(self, functions: Collection[str], library: Path) -> None:
        """Link a library of these functions, and of those that were asked for before."""
        exported = {library_symbol(self._name, function) for function in functions}
        wanted = called_by([kernel for kernel, name in self._names.items() if name in exported])
        before, compiled = self._made
        missing = [kernel for kernel in wanted if kernel not in compiled]
        parts: dict[str, list[Any]] = {}
        for kernel in missing:
            parts.setdefault(kernel.module, []).append(kernel)
        objects = before + self._machine_code(parts)
        linker.link_parts(objects, library)
        self._made = objects, compiled.union(missing)  # at once: a process may be forked here

    def _machine_code(self, parts: Mapping[str, Collection[Any]]) -> list[bytes]:
        """Compile parts; LLVM has them in threads, and then in this one, too."""
        triple = machine_code.host_processor().triple
        texts: SimpleQueue[tuple[str, list[str]] | None] = SimpleQueue()
        objects: list[bytes] = []

        def work() -> None:
            while (text := texts.get()) is not None:
                objects.append(self._object(*text))

        others = [begun_in_background(work) for _ in range(os.cpu_count() or 1)]
        try:
            for kernels in parts.values():
                module = compile_part(kernels, self._names, triple, self._settings)
                records = [name for name in module.globals if name.endswith(SHARED)]
                texts.put((str(module), records))
        finally:
            for _ in (*others, self):
                texts.put(None)
            work()
            for other in others:
                if other is not None:
                    other.result()
        return objects

    def _object(self, text: str, records: Collection[str]) -> bytes:
        """Have LLVM make machine code of a part."""
        level = Level.VECTORS_AS_WRITTEN if _VECTORS.search(text) else Level.WITHOUT_LOOPS
        common = {*self._names.values(), *records} - self._exports
        with machine_code.optimised(text, self._exports, level, common) as module:
            return machine_code.emit_object(module)


def engine_in_parts() -> EngineInParts:
    """The engine as what programs need of it, of which there is nothing yet."""
    return EngineInParts("engine", settings_for(machine_code.host_processor()))


def single_in_parts() -> EngineInParts:
    """The same for amplitudes in single precision."""
    return EngineInParts("single", settings_for(machine_code.host_processor(), single=True))


def mixed_in_parts() -> EngineInParts:
    """The engine of density matrices, likewise."""
    return EngineInParts("mixed", settings_for(machine_code.host_processor()), MIXED)


def single_mixed_in_parts() -> EngineInParts:
    """That in single precision."""
    settings = settings_for(machine_code.host_processor(), single=True)
    return EngineInParts("single_mixed", settings, MIXED)


def lanes_in_parts() -> EngineInParts:
    """The engine of state vectors side by side in vectors, likewise."""
    return EngineInParts("lanes", settings_for(machine_code.host_processor()), LANES)
