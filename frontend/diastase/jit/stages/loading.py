"""A compiled program is loaded: for a GPU, or for the processor where the GPU will not have it.

The kernels of a GPU are compiled by its driver when an engine is loaded. Before that it is not
known whether a GPU will do; with `target_device="auto"` the program is then the processor's.
"""

from collections.abc import Iterable

from diastase.jit.options.options import TargetDevice
from diastase_mlir import Compilation, HostCallback, with_libraries
from diastase_runtime import Executable
from diastase_runtime.errors import GpuUnavailableError


def load_program(
    compilation: Compilation, callbacks: Iterable[HostCallback], target_device: TargetDevice
) -> tuple[Executable, str]:
    """Load what was compiled, and say why it is not on the GPU that it was compiled for, or "".

    An error where it must be on a GPU and cannot.
    """
    functions = [callback.function for callback in callbacks]
    try:
        return Executable(compilation.artifact, functions), ""
    except GpuUnavailableError as error:
        if target_device != "auto":
            raise
        no_gpu = error.reason
    return Executable(with_libraries(compilation.artifact), functions), no_gpu
