"""Where the amplitudes of a state are: on the host, or in the memory of a GPU.

In a library that is built for a GPU (the setting `gpu`), operations are applied there, and the
amplitudes stay there. `fetch` brings them to the host, for whatever is not done on a GPU and is
done as without one; the next operation that is applied brings them back. So everything that the
engine can do is done, and what was copied is counted.

`is_on_device` says where they are: 1, in the GPU's memory, and the host's is old; 0, on the host.
Who reads the host's only (`flush_to_read`) leaves it at 1, as both are then the same.
"""

from typing import TypeVar

from diastase_engine.language import *
from diastase_engine.state_vector.device.driver import (
    allocate_on_device,
    can_use_gpu,
    clear_on_device,
    copy_on_device,
    copy_to_device,
    copy_to_host,
    release_on_device,
)
from diastase_engine.state_vector.state.records import BLOCK_BYTES, LANE_BITS, LANES, State

GPU = setting("gpu", 0)
"""1 in a library that is built for a GPU."""


T = TypeVar("T")


def if_gpu(function: T) -> T:
    """Name a function that libraries without a GPU do not have, nor compile when they are made."""
    return derived(lambda gpu: function if gpu else None, GPU)  # pyright: ignore[reportReturnType]


@inline
def bytes_of(state: State) -> i64:
    """Bytes of all amplitudes."""
    return state.blocks * BLOCK_BYTES


@inline
def bits_there(state: State) -> i64:
    """Bits of an index, with those that a state smaller than a block does not use."""
    return select(state.qubits < LANE_BITS, LANE_BITS, state.qubits)


@kernel
def has_device_memory(state: State) -> i1:
    """Have memory for the amplitudes; false after an error."""
    if not can_use_gpu(state):
        return False
    if state.device == 0:
        state.device = allocate_on_device(state, bytes_of(state))
    return state.device != 0


@kernel
def begin_on_device(state: State) -> None:
    """Make |0...0> there."""
    if has_device_memory(state):
        one = stack_array(stored, LANES)
        for lane in static(range(LANES)):
            one[lane] = 1.0 if lane == 0 else 0.0
        clear_on_device(state, state.device, bytes_of(state))
        copy_to_device(state, state.device, cast(one, ptr[f64]), BLOCK_BYTES >> 1)
        state.is_on_device = 1


@kernel
def bring(state: State) -> i1:
    """Bring the amplitudes to the GPU; false after an error."""
    if state.is_on_device != 0:
        return can_use_gpu(state)
    if not has_device_memory(state):
        return False
    if not copy_to_device(state, state.device, cast(state.amplitudes, ptr[f64]), bytes_of(state)):
        return False
    state.is_on_device = 1
    return True


@kernel
def copy_back(state: State) -> None:
    """Have the amplitudes on the host, too."""
    if state.is_on_device != 0 and can_use_gpu(state):
        copy_to_host(state, cast(state.amplitudes, ptr[f64]), state.device, bytes_of(state))


@kernel
def fetch(state: State) -> None:
    """Have the amplitudes on the host, where they are going to be changed."""
    copy_back(state)
    state.is_on_device = 0


@kernel
def copy_there(state: State, source: State) -> None:
    """Make a state equal to another one, which is on the GPU."""
    if has_device_memory(state):
        copy_on_device(state, state.device, source.device, bytes_of(state))
        state.is_on_device = 1


@kernel
def release_there(state: State) -> None:
    """Give the GPU's memory back."""
    release_on_device(state.device)
    release_on_device(state.device_plan)


@kernel
def device_room(state: State, size: i64) -> i1:
    """Have so many bytes for what is to be launched and what comes of it; false after an error."""
    if size > state.device_plan_bytes:
        release_on_device(state.device_plan)
        state.device_plan_bytes = 0
        state.device_plan = allocate_on_device(state, size)
        if state.device_plan == 0:
            return False
        state.device_plan_bytes = size
    return True
