"""Where the amplitudes of a state are: on the host, or in the memory of a GPU.

In a library that is built for a GPU (the setting `gpu`), operations are applied there, and the
amplitudes stay there. What is not done on a GPU is done on the host, as without one. So everything
that the engine can do is done, and what was copied is counted.

`residence` says where the amplitudes are the state's: `ON_HOST`, `ON_DEVICE`, or `ON_BOTH`. Who
reads them makes a copy where they are not, and leaves both: `copy_back` on the host, `bring` on the
GPU. Who changes them makes the other side's old: `fetch` on the host, `change_there` on the GPU.
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
ON_HOST, ON_DEVICE, ON_BOTH = range(3)


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
        state.residence = ON_DEVICE


@kernel
def bring(state: State) -> i1:
    """Have the amplitudes on the GPU, too; false after an error."""
    if state.residence != ON_HOST:
        return can_use_gpu(state)
    if not has_device_memory(state):
        return False
    if not copy_to_device(state, state.device, cast(state.amplitudes, ptr[f64]), bytes_of(state)):
        return False
    state.residence = ON_BOTH
    return True


@inline
def change_there(state: State) -> None:
    """Say that the amplitudes, which are on the GPU, are going to be changed there."""
    state.residence = ON_DEVICE


@kernel
def copy_back(state: State) -> None:
    """Have the amplitudes on the host, too."""
    if state.residence == ON_DEVICE and can_use_gpu(state):
        if copy_to_host(state, cast(state.amplitudes, ptr[f64]), state.device, bytes_of(state)):
            state.residence = ON_BOTH


@kernel
def fetch(state: State) -> None:
    """Have the amplitudes on the host, where they are going to be changed."""
    copy_back(state)
    state.residence = ON_HOST


@kernel
def copy_there(state: State, source: State) -> None:
    """Make a state equal to another one, which is on the GPU."""
    if has_device_memory(state):
        copy_on_device(state, state.device, source.device, bytes_of(state))
        state.residence = ON_DEVICE


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
