"""A GPU by its driver: functions of CUDA's driver, which are called by their addresses.

Who loads the library finds them (`diastase_runtime.gpu`) and hands over a table (`use_gpu`), as the
thread pool's are handed over. Results are CUDA's codes: what is not 0 becomes the error of the
call, after which nothing is done any more. Launches are not waited for; copies are, and come after
the launches before them.
"""

from typing import Annotated

from diastase_engine.call_context import GPU_FAILED, OUT_OF_MEMORY, fail
from diastase_engine.language import *
from diastase_engine.state_vector.device.records import THREADS
from diastase_engine.state_vector.state.records import State, memcpy, memset
from diastase_runtime.abi import GPU_FUNCTIONS, MOST_GRIDS

OUT_OF_DEVICE_MEMORY, NOT_INITIALIZED = 2, 3
"""Of CUDA's codes, `CUDA_ERROR_OUT_OF_MEMORY` and `CUDA_ERROR_NOT_INITIALIZED`."""
_BUFFER, _BUFFER_SIZE, _END = 1, 2, 0
"""Keys of `cuLaunchKernel`'s last argument: parameters are the words of a record."""

SET_CONTEXT, ALLOCATE, RELEASE, FILL, TO_DEVICE, TO_HOST, COPY, LAUNCH = range(len(GPU_FUNCTIONS))
"""Numbers of functions, in the order of the table; errors name them."""


class Driver(Record):
    """What `use_gpu` is given: addresses, the context, a handle for each grid's kernel."""

    set_context: code
    allocate: code
    release: code
    fill: code
    to_device: code
    to_host: code
    copy: code
    launch: code
    context: i64
    grids: Annotated[ptr[i64], MOST_GRIDS]


_DRIVER = shared(Driver)

_OF_ONE = signature([i64], i32)
_ALLOCATE = signature([ptr[i64], i64], i32)
_FILL = signature([i64, i32, i64], i32)
_TO_DEVICE = signature([i64, ptr[f64], i64], i32)
_TO_HOST = signature([ptr[f64], i64, i64], i32)
_COPY = signature([i64, i64, i64], i32)
_LAUNCH = signature([i64, i32, i32, i32, i32, i32, i32, i32, i64, ptr[i64], ptr[i64]], i32)


@kernel
def use_gpu(table: ptr[i64]) -> None:
    """Say where the driver is, before any state is made; or, by a null pointer, that it is none.

    A process that was forked has none: CUDA's state is the parent's.
    """
    if is_null(table):
        memset(cast(_DRIVER, ptr[f64]), 0, size_of(Driver))
    else:
        memcpy(cast(_DRIVER, ptr[f64]), cast(table, ptr[f64]), size_of(Driver))


@kernel
def is_done(state: State, result: i32, function: i64, size: i64) -> i1:
    """Whether a function did what it was asked; else the call has failed.

    `size` is what was asked of `ALLOCATE`; others may want memory of which nothing is known.
    """
    failure = to_integer(result)
    if failure == OUT_OF_DEVICE_MEMORY and function == ALLOCATE:
        fail(state.context, OUT_OF_MEMORY, state.site, size, 0)
    elif failure != 0:
        fail(state.context, GPU_FAILED, state.site, failure, function)
    return failure == 0


@kernel
def can_use_gpu(state: State) -> i1:
    """Let this thread use the GPU; false after an error."""
    if state.context.code != 0:
        return False
    driver = _DRIVER
    if is_null(driver.set_context):
        fail(state.context, GPU_FAILED, state.site, NOT_INITIALIZED, SET_CONTEXT)
        return False
    return is_done(state, call_through(driver.set_context, _OF_ONE, driver.context), SET_CONTEXT, 0)


@kernel
def allocate_on_device(state: State, size: i64) -> i64:
    """Return the address of memory, 0 after an error."""
    found = stack_array(i64, 1)
    found[0] = 0
    result = call_through(_DRIVER.allocate, _ALLOCATE, found, size)
    return found[0] if is_done(state, result, ALLOCATE, size) else 0


@kernel
def release_on_device(address: i64) -> None:
    """Give memory back, also after an error."""
    driver = _DRIVER
    if address != 0 and not is_null(driver.set_context):
        call_through(driver.set_context, _OF_ONE, driver.context)
        call_through(driver.release, _OF_ONE, address)


@kernel
def clear_on_device(state: State, address: i64, size: i64) -> None:
    """Set memory to zero."""
    is_done(state, call_through(_DRIVER.fill, _FILL, address, 0, size), FILL, 0)


@kernel
def copy_to_device(state: State, address: i64, source: ptr[f64], size: i64) -> i1:
    """Copy from the host; false after an error."""
    if state.context.code != 0:
        return False
    state.context.to_device += size
    result = call_through(_DRIVER.to_device, _TO_DEVICE, address, source, size)
    return is_done(state, result, TO_DEVICE, 0)


@kernel
def copy_to_host(state: State, target: ptr[f64], address: i64, size: i64) -> i1:
    """Copy to the host what the launches before have left; false after an error."""
    if state.context.code != 0:
        return False
    state.context.to_host += size
    result = call_through(_DRIVER.to_host, _TO_HOST, target, address, size)
    return is_done(state, result, TO_HOST, 0)


@kernel
def copy_on_device(state: State, target: i64, source: i64, size: i64) -> i1:
    """Copy from one place there to another; false after an error."""
    return is_done(state, call_through(_DRIVER.copy, _COPY, target, source, size), COPY, 0)


@kernel
def launch(state: State, grid: i64, blocks: i64, words: ptr[i64], size: i64) -> None:
    """Launch a grid's kernel with the words of its record."""
    if state.context.code != 0:
        return
    driver = _DRIVER
    sizes, extra = stack_array(i64, 1), stack_array(i64, 5)
    sizes[0] = size
    extra[0], extra[1] = _BUFFER, address(words)
    extra[2], extra[3], extra[4] = _BUFFER_SIZE, address(sizes), _END
    state.context.launches += 1
    result = call_through(
        driver.launch, _LAUNCH, driver.grids[grid], to_i32(blocks), 1, 1, THREADS, 1, 1, 0, 0,
        null(ptr[i64]), extra,
    )  # fmt: skip
    is_done(state, result, LAUNCH, 0)
