"""Amplitudes of wires given, and projections, on a GPU; nothing waits: see `groups`."""

from diastase_engine.language import *
from diastase_engine.state_vector.device.driver import copy_to_device, launch
from diastase_engine.state_vector.device.groups import Groups
from diastase_engine.state_vector.device.records import THREAD_BITS
from diastase_engine.state_vector.device.residence import (
    bits_there,
    bring,
    change_there,
    device_room,
)
from diastase_engine.state_vector.device.sums import blocks_for
from diastase_engine.state_vector.state.records import MAX_QUBITS, State
from diastase_runtime.abi import GRIDS

GIVE_AMPLITUDES, PROJECT = GRIDS.index("give_amplitudes"), GRIDS.index("project")
_MASKS_BYTES = 8 * MAX_QUBITS
PIECE = 1 << 16
"""Values whose amplitudes are given at once, so that little memory is needed besides the state."""
MOST_PROJECTED = 16
"""Wires that are projected onto a vector there, all of which must be there."""


@kernel
def begin_groups(state: State, run: Groups, n_wires: i64, wires: ptr[i64], most: i64) -> i1:
    """Have the state there, and room for so many numbers of a vector; false after an error."""
    if not bring(state) or not device_room(state, _MASKS_BYTES + 16 * most):
        return False
    masks = stack_array(i64, MAX_QUBITS)
    run.mask = 0
    for k in range(n_wires):
        masks[k] = 1 << state.bit_of_wire[wires[n_wires - 1 - k]]
        run.mask = run.mask | masks[k]
    run.numbers = cast(at(state.device), ptr[stored])
    run.masks = cast(at(state.device_plan), ptr[i64])
    run.vector = at(state.device_plan + _MASKS_BYTES)
    run.group_bits = bits_there(state) - n_wires
    run.first, run.width_bits = 0, 0
    change_there(state)
    return copy_to_device(state, state.device_plan, cast(masks, ptr[f64]), 8 * n_wires)


@kernel
def give_piece(state: State, run: Groups, amplitudes: ptr[f64]) -> None:
    """Give the run's values their amplitudes."""
    where = state.device_plan + _MASKS_BYTES
    if copy_to_device(state, where, amplitudes + 2 * run.first, 16 * run.values):
        blocks = blocks_for(run.values << run.group_bits)
        launch(state, GIVE_AMPLITUDES, blocks, cast(run, ptr[i64]), size_of(Groups))


@kernel
def give_there(state: State, n_wires: i64, wires: ptr[i64], amplitudes: ptr[f64]) -> None:
    """Give (checked) wires, which are in |0...0>, these amplitudes."""
    run = stack_record(Groups)
    size = 1 << n_wires
    if begin_groups(state, run, n_wires, wires, size if size < PIECE else PIECE):
        run.first = 1
        while run.first < size:
            rest = size - run.first
            run.values = rest if rest < PIECE else PIECE
            give_piece(state, run, amplitudes)
            run.first += run.values
        run.first, run.values = 0, 1
        give_piece(state, run, amplitudes)


@kernel
def project_there(state: State, n_wires: i64, wires: ptr[i64], vector: ptr[f64]) -> None:
    """Apply |v><v| to (checked) wires, `MOST_PROJECTED` at most."""
    run = stack_record(Groups)
    run.values = 1 << n_wires
    if begin_groups(state, run, n_wires, wires, run.values):
        where = state.device_plan + _MASKS_BYTES
        if copy_to_device(state, where, vector, 16 * run.values):
            run.width_bits = n_wires if n_wires < THREAD_BITS else THREAD_BITS
            blocks = blocks_for(1 << (run.group_bits + run.width_bits))
            launch(state, PROJECT, blocks, cast(run, ptr[i64]), size_of(Groups))
