"""NVIDIA's GPUs: CUDA's driver, which comes with the GPU's own and is called through ctypes.

In: the library of an engine that is built for a GPU. Out: that library, told of the driver's
functions, of a context, and of its kernels, which the driver compiles for the GPU (`use_gpu`); or a
`GpuUnavailableError`. From then on the engine calls the driver itself.

The GPU is CUDA's first one; `CUDA_VISIBLE_DEVICES` says which that is. The context is the process's
primary one, which JAX and PyTorch share. A process that is forked from one that has used the GPU
has none: CUDA does not survive a fork.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from diastase_runtime.abi import (
    GPU_FUNCTIONS,
    GRIDS,
    GRIDS_TEXT,
    LANE_GRIDS,
    MOST_GRIDS,
    Engine,
    library_symbol,
)
from diastase_runtime.errors import GpuUnavailableError

_DRIVERS = ("libcuda.so.1", "libcuda.so")
_OLDEST_DRIVER = (11, 0)
_OLDEST_GPU = (8, 0)
"""What the kernels' PTX is for: `diastase_toolchain.ptx.ARCHITECTURE`, and its version 7.0."""
_CAPABILITY = (75, 76)
"""`CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`."""
_WHAT = {
    2: "it has too little memory",
    100: "there is no NVIDIA GPU",
    218: "the driver does not take the kernels",
    222: "the driver is too old for the kernels",
    803: "the driver in the kernel is of another version than its library",
}
"""What CUDA's codes mean that are likely here."""


class Gpu(NamedTuple):
    """The GPU that programs run on."""

    name: str
    capability: tuple[int, int]
    memory: int
    """Bytes, those in use included."""
    context: int


def open_driver() -> Any:
    """Load CUDA's driver; a function of its own, which tests exchange."""
    for name in _DRIVERS:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise GpuUnavailableError(reason=f"CUDA's driver, {_DRIVERS[0]}, is not installed")


def why_no_gpu() -> str:
    """Why there is no GPU that programs can run on; "" where there is one."""
    try:
        find_gpu()
    except GpuUnavailableError as error:
        return error.reason
    return ""


def find_gpu() -> Gpu:
    """The GPU that programs run on; a `GpuUnavailableError` says why there is none."""
    if _used_in and os.getpid() not in _used_in:
        reason = "this process was forked from one that had used the GPU; start it anew"
        raise GpuUnavailableError(reason=reason)
    return _found()


def name_of_gpu() -> str:
    """Of the GPU that was found, also in a process that was forked since."""
    return _found().name


@cache
def _found() -> Gpu:
    driver = open_driver()
    _call(driver, "cuInit", 0)
    number, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    _call(driver, "cuDriverGetVersion", ctypes.byref(number))
    version = divmod(number.value // 10, 100)
    if version < _OLDEST_DRIVER:
        found, wanted = (".".join(map(str, each)) for each in (version, _OLDEST_DRIVER))
        raise GpuUnavailableError(reason=f"the driver is for CUDA {found}, {wanted} is needed")
    _call(driver, "cuDeviceGet", ctypes.byref(device), 0)
    capability = [0, 0]
    for place, attribute in enumerate(_CAPABILITY):
        _call(driver, "cuDeviceGetAttribute", ctypes.byref(number), attribute, device)
        capability[place] = number.value
    name, memory = ctypes.create_string_buffer(128), ctypes.c_size_t()
    _call(driver, "cuDeviceGetName", name, len(name), device)
    if (capability[0], capability[1]) < _OLDEST_GPU:
        found, wanted = (".".join(map(str, each)) for each in (capability, _OLDEST_GPU))
        text = f"{name.value.decode()} has compute capability {found}, {wanted} is needed"
        raise GpuUnavailableError(reason=text)
    _call(driver, "cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    _call(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _used_in.add(os.getpid())
    return Gpu(
        name.value.decode(), (capability[0], capability[1]), memory.value, context.value or 0
    )


def is_for_gpu(kind: Engine, library: ctypes.CDLL) -> bool:
    """Whether an engine is built for a GPU."""
    return hasattr(library, library_symbol(kind, "use_gpu"))


def use_gpu(kind: Engine, library: ctypes.CDLL) -> None:
    """Give an engine the GPU; a `GpuUnavailableError` says why it cannot have it."""
    found, driver = find_gpu(), open_driver()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _call(driver, "cuCtxSetCurrent", ctypes.c_void_p(found.context))
    text = ctypes.c_char.in_dll(library, library_symbol(kind, GRIDS_TEXT))
    _call(driver, "cuModuleLoadData", ctypes.byref(module), ctypes.byref(text))
    words = [_address(_function(driver, name)) for name in GPU_FUNCTIONS]
    words.append(found.context)
    grids = LANE_GRIDS if kind == "lanes" else GRIDS
    for name in grids:
        _call(driver, "cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        words.append(function.value or 0)
    words += [0] * (MOST_GRIDS - len(grids))
    tell: Callable[..., object] = library[library_symbol(kind, "use_gpu")]
    tell((ctypes.c_int64 * len(words))(*words))
    os.register_at_fork(after_in_child=lambda: tell(None))


_used_in: set[int] = set()
"""Numbers of processes that have a GPU's context: ours, and one that we are forked from."""


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _function(driver: Any, name: str) -> Any:
    try:
        return getattr(driver, name)
    except AttributeError:
        raise GpuUnavailableError(reason=f"CUDA's driver has no function {name}") from None


def _call(driver: Any, name: str, *arguments: Any) -> None:
    code: int = _function(driver, name)(*arguments)
    if code != 0:
        what = _WHAT.get(code, "it cannot be used")
        raise GpuUnavailableError(reason=f"{what}: {name} returned CUDA's error {code}")
