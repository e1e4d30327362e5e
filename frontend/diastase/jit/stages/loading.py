"""A compiled program is loaded: for a GPU, or for the processor where the GPU will not have it.

The kernels of a GPU are compiled by its driver when an engine is loaded. Before that it is not
known whether a GPU will do; with `target_device="auto"` the program is then the processor's.
"""

import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from diastase.jit.options.options import TargetDevice
from diastase_mlir import Compilation, HostCallback, with_libraries
from diastase_runtime import Executable
from diastase_runtime.abi import Artifact
from diastase_runtime.errors import GpuUnavailableError


class Loaded(NamedTuple):
    """A program in the process."""

    compilation: Compilation
    executable: Executable
    no_gpu: str
    """Why it is not on the GPU that it was compiled for; "" otherwise."""


def load_program(
    compilation: Compilation, callbacks: Iterable[HostCallback], target_device: TargetDevice
) -> Loaded:
    """Load what was compiled; an error where it must be on a GPU and cannot."""
    functions = [callback.function for callback in callbacks]
    try:
        return Loaded(compilation, Executable(compilation.artifact, functions), "")
    except GpuUnavailableError as error:
        if target_device != "auto":
            raise
        no_gpu = error.reason
    instead = replace(compilation, artifact=with_libraries(compilation.artifact))
    # An uncached library is removed with the artifact that it was built for.
    weakref.finalize(instead.artifact, _keep, compilation.artifact).atexit = False
    return Loaded(instead, Executable(instead.artifact, functions), no_gpu)


def _keep(artifact: Artifact) -> None:
    """Let go of it."""
