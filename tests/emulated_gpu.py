"""A GPU that is none: the few functions of CUDA's driver that the engine calls, on the host.

The grids' kernels are compiled for the host (`compile_grids`), and a launch runs them there, block
after block. What is no GPU's is a crash, as it would be with one: memory that the driver gives is
locked, and can be touched inside of the driver's functions only.
"""

import ctypes
import mmap
import shutil
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from diastase_engine import gpu_library, lanes_gpu_library, single_gpu_library
from diastase_engine.lanes.exports import GRID_KERNELS as LANE_KERNELS
from diastase_engine.language import (
    Record,
    address,
    at,
    atomic_compare_exchange,
    atomic_store,
    cast,
    code,
    compile_kernels,
    external,
    f64,
    i32,
    i64,
    is_null,
    kernel,
    null,
    pause,
    ptr,
    shared,
    signature,
    to_i32,
    to_integer,
)
from diastase_engine.language.intrinsics import call_through
from diastase_engine.libraries.build import grids_ir
from diastase_engine.state_vector.exports import GRID_KERNELS
from diastase_runtime import gpu
from diastase_runtime.abi import GPU_FUNCTIONS, GRIDS, LANE_GRIDS, Engine
from diastase_toolchain import linker, machine_code

BACKWARDS = 255
"""The order of threads, and of blocks, that is the reverse of theirs."""
MOST = 256
"""Places for memory that is allocated at the same time."""
LOCKED, OPEN = 0, mmap.PROT_READ | mmap.PROT_WRITE
SHARED_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

map_memory = external("mmap", [ptr[f64], i64, i32, i32, i32, i64], ptr[f64])
unmap_memory = external("munmap", [ptr[f64], i64], i32)
protect = external("mprotect", [ptr[f64], i64, i32], i32)
memcpy = external("memcpy", [ptr[f64], ptr[f64], i64], ptr[f64])
memset = external("memset", [ptr[f64], i32, i64], ptr[f64])

_GRID = signature([i64, ptr[i64]])


class Device(Record):
    """Memory that is allocated, how much there may be, and what is to fail."""

    addresses: Annotated[ptr[i64], MOST]
    sizes: Annotated[ptr[i64], MOST]
    used: i64
    limit: i64
    failing: i64
    """Functions that go well until one fails; 0 where none does."""
    failure: i64
    calls: i64
    context: i64
    lock: Annotated[ptr[i64], 1]
    """Held by the function that runs, one at a time."""


_DEVICE = shared(Device)


@kernel
def settings(limit: i64, failing: i64, failure: i64) -> i64:
    device = _DEVICE
    device.limit, device.failing, device.failure, device.calls = limit, failing, failure, 0
    return device.used


@kernel
def begun() -> i64:
    """Return the code of a function that has begun, and unlock memory."""
    device = _DEVICE
    while atomic_compare_exchange(device.lock, 0, 1) != 0:
        pause()
    device.calls += 1
    if device.failing != 0 and device.calls >= device.failing:
        return device.failure
    if device.context == 0:
        return 201  # CUDA_ERROR_INVALID_CONTEXT
    set_locks(OPEN)
    return 0


@kernel
def set_locks(how: i32) -> None:
    device = _DEVICE
    for k in range(MOST):
        if device.addresses[k] != 0:
            protect(at(device.addresses[k]), device.sizes[k], how)


@kernel
def ended(result: i64) -> i32:
    set_locks(LOCKED)
    atomic_store(_DEVICE.lock, 0)
    return to_i32(result)


@kernel
def set_context(context: i64) -> i32:
    device = _DEVICE
    if device.context != context:  # of the process, not of a thread: there is one
        device.context = context
    return ended(begun())


@kernel
def allocate(found: ptr[i64], size: i64) -> i32:
    device = _DEVICE
    result: i64 = begun()
    if result == 0 and device.limit != 0 and device.used + size > device.limit:
        result = 2
    place: i64 = 0
    while place < MOST - 1 and device.addresses[place] != 0:
        place += 1
    if result == 0:
        rounded = (size + 4095) & ~4095
        memory = map_memory(null(ptr[f64]), rounded, LOCKED, SHARED_ANONYMOUS, -1, 0)
        device.addresses[place], device.sizes[place] = address(memory), rounded
        device.used += rounded
        found[0] = address(memory)
        set_locks(OPEN)
        memset(memory, 255, rounded)
    return ended(result)


@kernel
def release(memory: i64) -> i32:
    device = _DEVICE
    result: i64 = begun()
    found: i64 = 1
    for place in range(MOST):
        if device.addresses[place] == memory:
            unmap_memory(at(memory), device.sizes[place])
            device.used = device.used - device.sizes[place]
            device.addresses[place] = 0
            found = 0
    return ended(result if result != 0 else found)


@kernel
def fill(target: i64, value: i32, size: i64) -> i32:
    result = begun()
    if result == 0:
        memset(at(target), value, size)
    return ended(result)


@kernel
def to_device(target: i64, source: ptr[f64], size: i64) -> i32:
    result = begun()
    if result == 0:
        memcpy(at(target), source, size)
    return ended(result)


@kernel
def to_host(target: ptr[f64], source: i64, size: i64) -> i32:
    result = begun()
    if result == 0:
        memcpy(target, at(source), size)
    return ended(result)


@kernel
def copy(target: i64, source: i64, size: i64) -> i32:
    result = begun()
    if result == 0:
        memcpy(at(target), at(source), size)
    return ended(result)


@kernel
def launch(
    grid: code, blocks: i32, y: i32, z: i32, threads: i32, ty: i32, tz: i32, memory: i32,
    stream: i64, one_by_one: ptr[i64], extra: ptr[i64],
) -> i32:  # fmt: skip
    result: i64 = begun()
    sizes = cast(at(extra[3]), ptr[i64])
    is_known = extra[0] == 1 and extra[2] == 2 and extra[4] == 0 and sizes[0] > 0
    if not is_known or to_integer(blocks) < 1 or not is_null(one_by_one):
        result = 1  # CUDA_ERROR_INVALID_VALUE
    if result == 0:
        call_through(grid, _GRID, to_integer(blocks), cast(at(extra[1]), ptr[i64]))
    return ended(result)


_DRIVER = (set_context, allocate, release, fill, to_device, to_host, copy, launch)


class EmulatedDriver:
    """CUDA's driver as `diastase_runtime.gpu` uses it, of a GPU whose memory is the host's."""

    def __init__(self, folder: Path, order: int = 0) -> None:
        host = machine_code.host_processor().triple
        named = dict(zip(GPU_FUNCTIONS, _DRIVER, strict=True)) | {"settings": settings}
        self._functions = _linked(str(compile_kernels(named, host)), named, folder / "driver.so")
        self._functions.settings.restype = ctypes.c_int64
        self._folder, self._order = folder, order
        self._modules: list[ctypes.CDLL] = []
        self.version, self.capability, self.failing = 12040, (9, 0), ("", 0)
        """CUDA's version; the GPU's; a function that fails, and its code."""

    def settings(self, limit: int = 0, failing: int = 0, failure: int = 0) -> int:
        """Say how much memory there is, and which call fails; returns how much is in use."""
        return self._functions.settings(*map(ctypes.c_int64, (limit, failing, failure)))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function, code = self.failing
        if name == function:
            return lambda *_: code
        return getattr(self._functions, name)

    def cuInit(self, flags: int) -> int:
        return self.failing[1] if self.failing[0] == "cuInit" else 0

    def cuDriverGetVersion(self, number: Any) -> int:
        number._obj.value = self.version
        return 0

    def cuDeviceGet(self, device: Any, number: int) -> int:
        device._obj.value = number
        return 0

    def cuDeviceGetAttribute(self, number: Any, attribute: int, device: Any) -> int:
        number._obj.value = self.capability[attribute - 75]
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = b"Emulated GPU"
        return 0

    def cuDeviceTotalMem_v2(self, size: Any, device: Any) -> int:
        size._obj.value = 1 << 32
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:
        context._obj.value = 1
        return 0

    def cuModuleLoadData(self, module: Any, text: Any) -> int:
        """Take the kernels of the precision that the text is of."""
        if self.failing[0] == "cuModuleLoadData":
            return self.failing[1]
        ptx = ctypes.string_at(ctypes.addressof(text._obj))
        kernels = LANE_KERNELS if b"sweep_lanes" in ptx else GRID_KERNELS
        names = LANE_GRIDS if kernels is LANE_KERNELS else GRIDS
        assert ptx.count(b".visible .entry") == len(names)
        single = b"fma.rn.f32" in ptx
        host = machine_code.host_processor().triple
        library = self._folder / f"grids-{len(self._modules)}.so"
        grids = grids_ir(host, kernels, single=single, order=self._order)
        self._modules.append(_linked(grids, names, library))
        module._obj.value = len(self._modules)
        return 0

    def cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        if self.failing[0] == "cuModuleGetFunction":
            return self.failing[1]
        grid = getattr(self._modules[module.value - 1], name.decode())
        function._obj.value = ctypes.cast(grid, ctypes.c_void_p).value
        return 0


@contextmanager
def emulated(driver: EmulatedDriver) -> Generator[None]:
    """Inside, this is the driver that is found."""
    before = gpu.open_driver
    gpu.open_driver = lambda: driver
    gpu._found.cache_clear()
    try:
        yield
    finally:
        gpu.open_driver = before
        gpu._found.cache_clear()
        gpu._used_in.clear()


_LIBRARIES: dict[Engine, Callable[[], Path]] = {
    "engine": gpu_library, "single": single_gpu_library, "lanes": lanes_gpu_library
}  # fmt: skip


class EmulatedGpu:
    """An engine of a GPU, told of a driver that is none."""

    def __init__(self, folder: Path, name: Engine = "engine", *, order: int = 0) -> None:
        self.name: Engine = name
        # A copy: the system loads a file only once, and each is told of a driver of its own.
        library = _LIBRARIES[name]()
        self.library = ctypes.CDLL(str(shutil.copy(library, folder / f"{self.name}.so")))
        self.driver = EmulatedDriver(folder, order)
        self.settings = self.driver.settings
        with emulated(self.driver):
            gpu.use_gpu(self.name, self.library)


def _linked(text: str, names: Collection[str], library: Path) -> ctypes.CDLL:
    with machine_code.optimised(text, names) as module:
        linker.link(machine_code.emit_object(module), library)
    return ctypes.CDLL(str(library))
