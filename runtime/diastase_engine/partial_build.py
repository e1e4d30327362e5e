"""Build of an engine what programs call, and as fast as can be: what a first program waits for.

In: functions of `EXPORTS`. Out: a library of these and of all that they call, which programs use as
they use the whole engine, until that is there (`engine`).

Kernels that are defined in one Python module are a part, and are compiled once: LLVM works on some,
in threads, while this thread compiles the next ones from Python. Nothing is inlined into a kernel
of another part. LLVM does what it can where all amplitudes go through. Where else there are
vectors, code is as it is written, but made by LLVM's better code generator; all else by its fast
one. Tiles are the smallest, of which there are fewest cases.

The trap: a state that this engine has made is for this engine alone.
"""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from diastase_engine.language import called_by, compile_part, named_kernels
from diastase_engine.language.concurrency import SHARED
from diastase_engine.state_vector.exports import EXPORTS
from diastase_toolchain import linker, machine_code
from diastase_toolchain.background import begun_in_background
from diastase_toolchain.machine_code import Level

_VECTORS = re.compile(r"<\d+ x (double|float)>")
_LOOPS = frozenset("tiles sweeps pair_sweeps backward_passes samples random_numbers".split())
"""Parts in which circuits of many wires, or of many shots, spend their time."""


class EngineInParts:
    """Machine code of what was needed of an engine so far; for one thread at a time."""

    def __init__(self, prefix: str, settings: Mapping[str, int]) -> None:
        self._prefix = prefix
        self._settings = {**settings, "slots": 1}
        exported = named_kernels({prefix + name: kernel for name, kernel in EXPORTS.items()})
        self._exports = frozenset(exported.values())
        self._names = {
            kernel: exported.get(kernel, f"{kernel.module}.{kernel.name}")
            for kernel in called_by(exported)
        }
        self._made: tuple[list[bytes], frozenset[object]] = [], frozenset()
        """Machine code, and the kernels that it is of."""

    def build(self, functions: Collection[str], library: Path) -> None:
        """Link a library of these functions, and of those that were asked for before."""
        exported = {self._prefix + name for name in functions}
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
        texts: SimpleQueue[tuple[str, str, list[str]] | None] = SimpleQueue()
        objects: list[bytes] = []

        def work() -> None:
            while (text := texts.get()) is not None:
                objects.append(self._object(*text))

        others = [begun_in_background(work) for _ in range(os.cpu_count() or 1)]
        try:
            for part, kernels in parts.items():
                module = compile_part(kernels, self._names, triple, self._settings)
                records = [name for name in module.globals if name.endswith(SHARED)]
                texts.put((part, str(module), records))
        finally:
            for _ in (*others, self):
                texts.put(None)
            work()
            for other in others:
                if other is not None:
                    other.result()
        return objects

    def _object(self, part: str, text: str, records: Collection[str]) -> bytes:
        """Have LLVM make machine code of a part."""
        level = Level.VECTORS_AS_WRITTEN if _VECTORS.search(text) else Level.WITHOUT_LOOPS
        level = Level.WITH_LOOPS if part in _LOOPS else level
        common = {*self._names.values(), *records} - self._exports
        with machine_code.optimised(text, self._exports, level, common) as module:
            return machine_code.emit_object(module)
