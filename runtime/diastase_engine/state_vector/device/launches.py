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
from diastase_engine.state_vector.state.records import LANE_MASK, Operation, State, memset
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


STAGE_WORDS = 4
_BYTES_OF_ONE = size_of(DeviceOperation) + size_of(DeviceTile) + 8 * STAGE_WORDS


@kernel
def room_for_launches(state: State, launches: Launches, count: i64) -> i1:
    """Make room for so many operations, on the host; whether there is any."""
    needed = count * _BYTES_OF_ONE
    if not room_in_buffer(state, needed):
        return False
    launches.tile_offset = count * size_of(DeviceOperation)
    launches.bytes = launches.tile_offset + count * size_of(DeviceTile)
    launches.operations = cast(state.buffer, ptr[DeviceOperation])
    launches.tiles = cast(state.buffer + (launches.tile_offset >> 3), ptr[DeviceTile])
    launches.stages = cast(state.buffer + (launches.bytes >> 3), ptr[i64])
    launches.operation_count, launches.tile_count, launches.stage_count = 0, 0, 0
    return True


@kernel
def next_launch(launches: Launches, first: i64, end: i64, bits: i64, word: i64) -> None:
    """Add a launch."""
    numbers = launches.stages + STAGE_WORDS * launches.stage_count
    numbers[0], numbers[1], numbers[2], numbers[3] = first, end, bits, word
    launches.stage_count += 1


@kernel
def next_prepared(launches: Launches) -> DeviceOperation:
    """One more operation, whose numbers are still to come."""
    prepared = launches.operations[launches.operation_count]
    launches.operation_count += 1
    memset(cast(prepared, ptr[f64]), 0, size_of(DeviceOperation))
    return prepared


@kernel
def prepare_matrices(launches: Launches, otherwise: ptr[f64], matched: ptr[f64]) -> DeviceOperation:
    """One more operation, with its matrices."""
    prepared = next_prepared(launches)
    numbers = cast(prepared.coefficients, ptr[stored])
    for k in static(range(8)):
        numbers[OTHERWISE + k] = otherwise[k]
        numbers[MATCHED + k] = matched[k]
    return prepared


@kernel
def place_in_tile(
    prepared: DeviceOperation, tile: DeviceTile, count: i64, target: i64, mask: i64, value: i64
) -> None:
    """Write where the bits of an operation are, all of them masks of places; `count` are slots.

    A target that is no slot is that of a diagonal operation.
    """
    slots: i64 = 0
    for slot in range(count):
        place = 1 << tile.slots[slot]
        slots |= place
        if target == place:
            prepared.target = 1 << slot
        if mask & place != 0:
            prepared.slot_mask = prepared.slot_mask | (1 << slot)
        if value & place != 0:
            prepared.slot_value = prepared.slot_value | (1 << slot)
    prepared.mask, prepared.value = mask & ~slots, value & ~slots
    prepared.row_mask = target & ~slots


@kernel
def prepare_for_tile(
    launches: Launches, plan: Plan, tile: DeviceTile, operation: Operation
) -> None:
    """Add an operation of a tile."""
    prepared = prepare_matrices(launches, operation.otherwise, operation.matched)
    mask, value = places_of(plan, operation.mask), places_of(plan, operation.value)
    place_in_tile(prepared, tile, SLOT_BITS, 1 << plan.place[operation.target], mask, value)
    prepared.kind = TARGET
    if operation.flips != 0:
        prepared.kind, prepared.other = PARITY, prepared.slot_mask
    elif operation.changes == 0:
        prepared.kind = DIAGONAL


@kernel
def next_tile(launches: Launches, plan: Plan, bits: i64, count: i64) -> DeviceTile:
    """Add a tile whose slots are these bits, `count` of them; operations are still to come."""
    tile = launches.tiles[launches.tile_count]
    launches.tile_count += 1
    rest: i64 = bits
    for slot in range(count):
        tile.slots[slot] = plan.place[count_trailing_zeros(rest)]
        rest &= rest - 1
    tile.first, tile.end = launches.operation_count, launches.operation_count
    tile.row, tile.rows = 0, 0
    return tile


@kernel
def add_device_tile(
    state: State, launches: Launches, plan: Plan, stage_bits: i64, count: i64
) -> None:
    """Add the tile of the operations in `of_tile`, whose targets are `plan.bits`."""
    slots = fill_up(plan.bits, SLOT_BITS, stage_bits)
    tile = next_tile(launches, plan, slots, SLOT_BITS)
    for k in range(count):
        prepare_for_tile(launches, plan, tile, state.operations[plan.of_tile[k]])
    tile.end = launches.operation_count


@kernel
def set_places_there(state: State, plan: Plan, stage_bits: i64) -> None:
    """Number the bits of a stage first, then the others; bits that are none are their own."""
    set_places(state, plan, stage_bits)
    for unused in range(state.qubits, bits_there(state)):
        plan.place[unused] = unused


@kernel
def add_device_stage(state: State, launches: Launches, plan: Plan, size: i64, count: i64) -> None:
    """Add the launch of the operations in `of_stage`, whose targets are `plan.bits`."""
    stage_bits = fill_up(plan.bits, size, (1 << bits_there(state)) - 1)
    set_places_there(state, plan, stage_bits)
    first = launches.tile_count
    left: i64 = count
    while left > 0:
        taken = pick(plan, plan.of_stage, left, SLOT_BITS, 0, 0, plan.of_tile)
        left = plan.left
        add_device_tile(state, launches, plan, stage_bits, taken)
    next_launch(launches, first, launches.tile_count, stage_bits, 0)


@kernel
def add_word(launches: Launches, operation: Operation, word: i64) -> None:
    """Add a rotation about a Pauli word that flips these bits."""
    prepared = next_prepared(launches)
    prepared.kind, prepared.other = WORD, operation.signs
    prepared.mask, prepared.value = operation.mask, operation.value
    # g = (-i)^(q + 1), with q the number of Y
    turns = (count_ones(word & operation.signs) + 1) & 3
    unit = 1.0 if turns == 0 or turns == 3 else -1.0
    real, imaginary = unit if turns & 1 == 0 else 0.0, unit if turns & 1 == 1 else 0.0
    cosine, sine = operation.matched[0], operation.matched[1]
    numbers = cast(prepared.coefficients, ptr[stored])
    numbers[0] = cosine
    numbers[2], numbers[3] = sine * real, sine * imaginary
    numbers[4], numbers[5] = real, imaginary


@kernel
def add_words_launch(state: State, launches: Launches, plan: Plan, word: i64, count: i64) -> None:
    """Add the launch of the rotations in `of_stage`, all of which flip the same bits."""
    first = launches.operation_count
    for k in range(count):
        add_word(launches, state.operations[plan.of_stage[k]], word)
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
def set_stage(state: State, launches: Launches, numbers: ptr[i64], size: i64, stage: Stage) -> None:
    """Write the words of a stage's launch, as far as they are those of `run_stage`."""
    memset(cast(stage, ptr[f64]), 0, size_of(Stage))
    stage.numbers = cast(at(state.device), ptr[stored])
    stage.operations = cast(at(state.device_plan), ptr[DeviceOperation])
    stage.tiles = cast(at(state.device_plan + launches.tile_offset), ptr[DeviceTile])
    stage.first, stage.end, stage.bits, stage.size = numbers[0], numbers[1], numbers[2], size
    fill_upper(stage.upper, stage.bits, size)


@kernel
def launch_stage(state: State, launches: Launches, numbers: ptr[i64], size: i64) -> None:
    """Launch the tiles of a stage."""
    stage = stack_record(Stage)
    set_stage(state, launches, numbers, size, stage)
    blocks = 1 << (bits_there(state) - size)
    launch(state, RUN_STAGE, blocks, cast(stage, ptr[i64]), size_of(Stage))


@kernel
def set_words(state: State, first: i64, end: i64, word: i64, words: Words) -> None:
    """Write the words of a launch of rotations, as far as they are those of `rotate_words`."""
    memset(cast(words, ptr[f64]), 0, size_of(Words))
    words.numbers = cast(at(state.device), ptr[stored])
    words.operations = cast(at(state.device_plan), ptr[DeviceOperation])
    words.first, words.end, words.word = first, end, word
    words.pivot = 63 - count_leading_zeros(word)
    words.pairs = 1 << (bits_there(state) - 1)


@kernel
def launch_words(state: State, numbers: ptr[i64]) -> None:
    """Launch rotations about words."""
    words = stack_record(Words)
    set_words(state, numbers[0], numbers[1], numbers[3], words)
    blocks = (words.pairs + THREADS - 1) >> THREAD_BITS
    launch(state, ROTATE_WORDS, blocks, cast(words, ptr[i64]), size_of(Words))


@kernel
def run_on_device(state: State) -> i1:
    """Apply the waiting operations; false where that was not possible, also after an error."""
    launches = stack_record(Launches)
    if is_interrupted(state) or not bring(state):
        return False
    if not room_for_plan(state) or not room_for_launches(state, launches, state.waiting):
        return False
    if not device_room(state, launches.bytes):
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
        numbers = launches.stages + STAGE_WORDS * k
        if numbers[3] != 0:
            launch_words(state, numbers)
        else:
            launch_stage(state, launches, numbers, size)
    return True
