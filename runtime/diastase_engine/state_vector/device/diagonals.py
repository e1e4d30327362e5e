"""A diagonal matrix on a GPU, with controls: each amplitude times its element.

The elements, as many as the amplitudes perhaps, are sent in pieces; the wires of a matrix that come
first say which piece an amplitude belongs to. Threads are for amplitudes of the piece only.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.arithmetic import amplitude, put, times
from diastase_engine.state_vector.device.driver import copy_to_device, launch
from diastase_engine.state_vector.device.records import THREADS
from diastase_engine.state_vector.device.residence import (
    bits_there,
    bring,
    change_there,
    device_room,
)
from diastase_engine.state_vector.device.stages import without
from diastase_engine.state_vector.device.sums import blocks_for
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.tiles.sweeps import place_of
from diastase_runtime.abi import GRIDS

APPLY_DIAGONAL = GRIDS.index("apply_diagonal")
PIECE_BITS = 18
"""A piece of elements is 4 MiB."""


class Elements(Record):
    """Words of `apply_diagonal`."""

    numbers: ptr[stored]
    count: i64
    """Amplitudes that are multiplied."""
    fixed: i64
    value: i64
    """Bits that have a value, and that."""
    elements: ptr[f64]
    bits: ptr[i64]
    """Of an element's number, the first one most significant."""
    n_bits: i64


@kernel
def apply_diagonal(block: i64, run: Elements) -> None:
    """Multiply amplitudes, each by its element."""
    for thread in each_thread():
        number = block * THREADS + thread
        if number < run.count:
            index: i64 = number
            fixed: i64 = run.fixed
            while fixed != 0:
                index = without(index, count_trailing_zeros(fixed))
                fixed &= fixed - 1
            index |= run.value
            element = run.elements + 2 * place_of(index, run.n_bits, run.bits)
            product = times(pair_of(element[0], element[1]), amplitude(run.numbers, index))
            put(run.numbers, index, product)


@kernel
def value_of(number: i64, count: i64, bits: ptr[i64]) -> i64:
    """Return the index whose bits make a number, the first of them the most significant."""
    index: i64 = 0
    for k in range(count):
        index |= ((number >> (count - 1 - k)) & 1) << bits[k]
    return index


@kernel
def diagonal_there(
    state: State, count: i64, bits: ptr[i64], mask: i64, value: i64, elements: ptr[f64]
) -> None:
    """Multiply every amplitude whose controls match."""
    inside: i64 = count if count < PIECE_BITS else PIECE_BITS
    leading = count - inside
    size = 16 << inside
    if not bring(state) or not device_room(state, size + 8 * inside):
        return
    to_bits = state.device_plan + size
    run = stack_record(Elements)
    run.numbers, run.elements = cast(at(state.device), ptr[stored]), at(state.device_plan)
    run.bits, run.n_bits = cast(at(to_bits), ptr[i64]), inside
    run.fixed = mask | value_of(-1, leading, bits)
    run.count = 1 << (bits_there(state) - count_ones(run.fixed))
    copy_to_device(state, to_bits, cast(bits + leading, ptr[f64]), 8 * inside)
    change_there(state)
    for piece in range(1 << leading):
        run.value = value | value_of(piece, leading, bits)
        if not copy_to_device(state, state.device_plan, elements + piece * (size >> 3), size):
            break
        words = cast(run, ptr[i64])
        launch(state, APPLY_DIAGONAL, blocks_for(run.count), words, size_of(Elements))
