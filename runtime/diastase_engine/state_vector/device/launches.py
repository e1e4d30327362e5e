"""Waiting operations to launches: the engine's plan, with the sizes of a GPU.

`plan.pick` chooses what runs together, for a stage and for its tiles, as it does for the host: a
stage has 2^STAGE_BITS amplitudes to a block, a tile 2^SLOT_BITS to a thread. Rotations about Pauli
words that flip the same bits are a launch of their own.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.device.driver import copy_to_device, launch
from diastase_engine.state_vector.device.records import (
    DIAGONAL,
    PARITY,
    SLOT_BITS,
    STAGE_BITS,
    TARGET,
    THREAD_BITS,
    THREADS,
    WORD,
    DeviceOperation,
    DeviceTile,
    Stage,
    Words,
)
from diastase_engine.state_vector.device.residence import (
    bits_there,
    bring,
    change_there,
    device_room,
)
from diastase_engine.state_vector.plan.plan import (
    fill_up,
    list_waiting,
    pick,
    pick_word,
    places_of,
    set_places,
)
from diastase_engine.state_vector.plan.plan_memory import lay_out, room_for_plan, room_in_buffer
from diastase_engine.state_vector.state.parallel import is_interrupted
from diastase_engine.state_vector.state.records import LANE_MASK, Operation, State
from diastase_engine.state_vector.tiles.plan_records import Plan
from diastase_engine.state_vector.tiles.sweeps import spread
from diastase_runtime.abi import GRIDS

RUN_STAGE, ROTATE_WORDS = GRIDS.index("run_stage"), GRIDS.index("rotate_words")
OTHERWISE, MATCHED = 0, 8


class Launches(Record):
    """What is written for the GPU, in memory of the host, and how far."""

    operations: ptr[DeviceOperation]
    tiles: ptr[DeviceTile]
    stages: ptr[i64]
    """For each launch four numbers: first and end, of operations or of tiles; bits; a word or 0."""
    operation_count: i64
    tile_count: i64
    stage_count: i64
    tile_offset: i64
    """Bytes before the tiles."""
    bytes: i64
    """Of operations and tiles."""


_STAGE_WORDS = 4
_BYTES_OF_ONE = size_of(DeviceOperation) + size_of(DeviceTile) + 8 * _STAGE_WORDS


@kernel
def room_for_launches(state: State, launches: Launches) -> i1:
    """Make room for all that waits, here and there; whether there is any."""
    count = state.waiting
    needed = count * _BYTES_OF_ONE
    if not room_in_buffer(state, needed):
        return False
    launches.tile_offset = count * size_of(DeviceOperation)
    launches.bytes = launches.tile_offset + count * size_of(DeviceTile)
    launches.operations = cast(state.buffer, ptr[DeviceOperation])
    launches.tiles = cast(state.buffer + (launches.tile_offset >> 3), ptr[DeviceTile])
    launches.stages = cast(state.buffer + (launches.bytes >> 3), ptr[i64])
    launches.operation_count, launches.tile_count, launches.stage_count = 0, 0, 0
    return device_room(state, launches.bytes)


@kernel
def next_launch(launches: Launches, first: i64, end: i64, bits: i64, word: i64) -> None:
    """Add a launch."""
    numbers = launches.stages + _STAGE_WORDS * launches.stage_count
    numbers[0], numbers[1], numbers[2], numbers[3] = first, end, bits, word
    launches.stage_count += 1


@kernel
def next_prepared(launches: Launches, operation: Operation) -> DeviceOperation:
    """One more operation, with its matrices."""
    prepared = launches.operations[launches.operation_count]
    launches.operation_count += 1
    numbers = cast(prepared.coefficients, ptr[stored])
    for k in static(range(8)):
        numbers[OTHERWISE + k] = operation.otherwise[k]
        numbers[MATCHED + k] = operation.matched[k]
    prepared.slot_mask, prepared.slot_value = 0, 0
    prepared.target, prepared.row_mask, prepared.other = 0, 0, 0
    return prepared


@kernel
def prepare_for_tile(
    launches: Launches, plan: Plan, tile: DeviceTile, operation: Operation
) -> None:
    """Add an operation of a tile, its bits as places and slots."""
    prepared = next_prepared(launches, operation)
    mask, value = places_of(plan, operation.mask), places_of(plan, operation.value)
    target = 1 << plan.place[operation.target]
    slots: i64 = 0
    for slot in static(range(SLOT_BITS)):
        place = 1 << tile.slots[slot]
        slots |= place
        if target == place:
            prepared.target = 1 << slot
        if mask & place != 0:
            prepared.slot_mask = prepared.slot_mask | (1 << slot)
        if value & place != 0:
            prepared.slot_value = prepared.slot_value | (1 << slot)
    prepared.mask, prepared.value = mask & ~slots, value & ~slots
    prepared.kind = TARGET
    if operation.flips != 0:
        prepared.kind, prepared.other = PARITY, prepared.slot_mask
    elif operation.changes == 0:
        prepared.kind, prepared.row_mask = DIAGONAL, target & ~slots


@kernel
def add_device_tile(
    state: State, launches: Launches, plan: Plan, stage_bits: i64, count: i64
) -> None:
    """Add the tile of the operations in `of_tile`, whose targets are `plan.bits`."""
    tile = launches.tiles[launches.tile_count]
    launches.tile_count += 1
    rest: i64 = fill_up(plan.bits, SLOT_BITS, stage_bits)
    for slot in static(range(SLOT_BITS)):
        tile.slots[slot] = plan.place[count_trailing_zeros(rest)]
        rest &= rest - 1
    tile.first = launches.operation_count
    for k in range(count):
        prepare_for_tile(launches, plan, tile, state.operations[plan.of_tile[k]])
    tile.end = launches.operation_count


@kernel
def add_device_stage(state: State, launches: Launches, plan: Plan, size: i64, count: i64) -> None:
    """Add the launch of the operations in `of_stage`, whose targets are `plan.bits`."""
    bits = bits_there(state)
    stage_bits = fill_up(plan.bits, size, (1 << bits) - 1)
    set_places(state, plan, stage_bits)
    for unused in range(state.qubits, bits):
        plan.place[unused] = unused
    first = launches.tile_count
    left: i64 = count
    while left > 0:
        taken = pick(plan, plan.of_stage, left, SLOT_BITS, 0, 0, plan.of_tile)
        left = plan.left
        add_device_tile(state, launches, plan, stage_bits, taken)
    next_launch(launches, first, launches.tile_count, stage_bits, 0)


@kernel
def add_words_launch(state: State, launches: Launches, plan: Plan, word: i64, count: i64) -> None:
    """Add the launch of the rotations in `of_stage`, all of which flip the same bits."""
    first = launches.operation_count
    for k in range(count):
        operation = state.operations[plan.of_stage[k]]
        prepared = next_prepared(launches, operation)
        prepared.kind, prepared.other = WORD, operation.signs
        prepared.mask, prepared.value = operation.mask, operation.value
        # g = (-i)^(q + 1), with q the number of Y
        turns = (count_ones(word & operation.signs) + 1) & 3
        sine = operation.matched[1]
        signed = sine if turns == 0 or turns == 3 else -sine
        numbers = cast(prepared.coefficients, ptr[stored])
        numbers[2] = signed if turns & 1 == 0 else 0.0
        numbers[3] = signed if turns & 1 == 1 else 0.0
        numbers[0] = operation.matched[0]
    next_launch(launches, first, launches.operation_count, 0, word)


@kernel
def plan_launches(state: State, launches: Launches, plan: Plan, size: i64) -> None:
    """Plan all waiting operations."""
    plan.listed = list_waiting(state, plan)
    remaining: i64 = plan.listed
    while remaining > 0:
        word = plan.words[plan.pending[0]]
        if word != 0:
            count = pick_word(plan, plan.pending, remaining, word, plan.of_stage)
            remaining = plan.left
            add_words_launch(state, launches, plan, word, count)
        else:
            count = pick(plan, plan.pending, remaining, size, LANE_MASK, 0, plan.of_stage)
            remaining = plan.left
            add_device_stage(state, launches, plan, size, count)


@kernel
def fill_upper(upper: ptr[i64], bits: i64, size: i64) -> None:
    """Write the bits of a chunk that are counted by the amplitudes of one thread."""
    for k in static(range(SLOT_BITS)):
        upper[k] = 0
        if THREAD_BITS + k < size:
            upper[k] = spread(1 << (THREAD_BITS + k), bits)


@kernel
def launch_stage(state: State, launches: Launches, numbers: ptr[i64], size: i64) -> None:
    """Launch the tiles of a stage."""
    stage = stack_record(Stage)
    stage.numbers = cast(at(state.device), ptr[stored])
    stage.operations = cast(at(state.device_plan), ptr[DeviceOperation])
    stage.tiles = cast(at(state.device_plan + launches.tile_offset), ptr[DeviceTile])
    stage.first, stage.end, stage.bits, stage.size = numbers[0], numbers[1], numbers[2], size
    fill_upper(stage.upper, stage.bits, size)
    blocks = 1 << (bits_there(state) - size)
    launch(state, RUN_STAGE, blocks, cast(stage, ptr[i64]), size_of(Stage))


@kernel
def launch_words(state: State, numbers: ptr[i64]) -> None:
    """Launch rotations about words."""
    words = stack_record(Words)
    words.numbers = cast(at(state.device), ptr[stored])
    words.operations = cast(at(state.device_plan), ptr[DeviceOperation])
    words.first, words.end, words.word = numbers[0], numbers[1], numbers[3]
    words.pivot = 63 - count_leading_zeros(words.word)
    words.pairs = 1 << (bits_there(state) - 1)
    blocks = (words.pairs + THREADS - 1) >> THREAD_BITS
    launch(state, ROTATE_WORDS, blocks, cast(words, ptr[i64]), size_of(Words))


@kernel
def run_on_device(state: State) -> i1:
    """Apply the waiting operations; false where that was not possible, also after an error."""
    launches = stack_record(Launches)
    if is_interrupted(state) or not bring(state):
        return False
    if not room_for_plan(state) or not room_for_launches(state, launches):
        return False
    bits = bits_there(state)
    size: i64 = STAGE_BITS if STAGE_BITS < bits else bits
    plan = lay_out(state, size)
    plan_launches(state, launches, plan, size)
    state.applied += plan.listed
    state.stages += launches.stage_count
    if not copy_to_device(state, state.device_plan, state.buffer, launches.bytes):
        return False
    change_there(state)
    for k in range(launches.stage_count):
        numbers = launches.stages + _STAGE_WORDS * k
        if numbers[3] != 0:
            launch_words(state, numbers)
        else:
            launch_stage(state, launches, numbers, size)
    return True
