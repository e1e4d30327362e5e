"""Transfer matrices wait, and are multiplied as they arrive.

A matrix on one wire is multiplied into the one that waits for its wire; a matrix on two wires takes
in those of its wires and waits behind others. `flush` applies what is left. What is on more bits,
or on derivative wires, is applied at once, after all that waits.

A state that got something that is no number is *spoilt*: all components are NaN, for good.
"""

from math import nan

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.plan import run_waiting
from diastase_engine.density_matrix.records import (
    CAPACITY,
    ONE_WIRE,
    TWO_WIRES,
    State,
    Waiting,
    components,
    index_bits,
    queue_of,
    waiting_of,
)
from diastase_engine.density_matrix.transfer import (
    MOST_BITS,
    Prepared,
    apply_to,
    prepare,
    room_of,
)
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.checks import all_are_numbers
from diastase_engine.state_vector.state.records import LANES, free, memcpy


@kernel
def forget_waiting(state: State) -> None:
    """Empty the queue without applying it."""
    queue = queue_of(state)
    queue.length, queue.singles = 0, 0


@kernel
def settle_singles(state: State, bits: i64) -> None:
    """Put the waiting matrices of these digits (lower bits) behind the others."""
    queue = queue_of(state)
    rest: i64 = queue.singles & bits
    while rest != 0:
        bit = count_trailing_zeros(rest)
        rest &= rest - 1
        waiting = new_waiting(state)
        waiting.count = 2
        waiting.bits[0], waiting.bits[1] = bit + 1, bit
        memcpy(waiting.matrix, queue.single + ONE_WIRE * (bit >> 1), 8 * ONE_WIRE)
    queue.singles = queue.singles & ~bits


@kernel
def new_waiting(state: State) -> Waiting:
    """Room behind the queue."""
    queue = queue_of(state)
    if queue.length == CAPACITY:
        run_waiting(state)
        queue.length = 0
    waiting = waiting_of(state)[queue.length]
    queue.length += 1
    return waiting


@kernel
def flush(state: State) -> None:
    """Apply all that waits."""
    settle_singles(state, -1)
    queue = queue_of(state)
    if queue.length != 0:
        run_waiting(state)
        queue.length = 0


@kernel
def spoil(state: State) -> None:
    """Make all components NaN, for good."""
    forget_waiting(state)
    state.spoilt = 1
    count = 1 << index_bits(state)
    if count >= LANES:
        for k in range(count >> count_trailing_zeros(LANES)):
            state.amplitudes[k] = broadcast(nan)
    else:
        for k in range(count):
            components(state)[k] = nan


@kernel
def multiply_single(matrix: ptr[f64], waiting: ptr[f64]) -> None:
    """`waiting = matrix @ waiting` for matrices on one wire."""
    product = stack_array(f64, ONE_WIRE)
    for row in static(range(4)):
        for column in static(range(4)):
            total: f64 = 0.0
            for k in static(range(4)):
                total += matrix[4 * row + k] * waiting[4 * k + column]
            product[4 * row + column] = total
    memcpy(waiting, product, 8 * ONE_WIRE)


@kernel
def take_in(matrix: ptr[f64], single: ptr[f64], shift: i64) -> None:
    """`matrix = matrix @ single`, on the digit of the columns that begins at bit `shift`."""
    numbers = stack_array(f64, 4)
    for row in range(16):
        for other in range(4):
            place = matrix + 16 * row + (other << (2 - shift))
            for column in static(range(4)):
                total: f64 = 0.0
                for k in static(range(4)):
                    total += place[k << shift] * single[4 * k + column]
                numbers[column] = total
            for column in static(range(4)):
                place[column << shift] = numbers[column]


@kernel
def push_one(state: State, bit: i64, matrix: ptr[f64]) -> None:
    """Queue a matrix on the digit whose lower bit this is."""
    queue = queue_of(state)
    single = queue.single + ONE_WIRE * (bit >> 1)
    if (queue.singles >> bit) & 1 == 1:
        multiply_single(matrix, single)
    else:
        memcpy(single, matrix, 8 * ONE_WIRE)
        queue.singles = queue.singles | (1 << bit)


@kernel
def push_two(state: State, first: i64, second: i64, matrix: ptr[f64]) -> None:
    """Queue a matrix on two digits, the first one the more significant."""
    waiting = new_waiting(state)
    waiting.count = 4
    waiting.bits[0], waiting.bits[1] = first + 1, first
    waiting.bits[2], waiting.bits[3] = second + 1, second
    memcpy(waiting.matrix, matrix, 8 * TWO_WIRES)
    queue = queue_of(state)
    if (queue.singles >> first) & 1 == 1:
        take_in(waiting.matrix, queue.single + ONE_WIRE * (first >> 1), 2)
    if (queue.singles >> second) & 1 == 1:
        take_in(waiting.matrix, queue.single + ONE_WIRE * (second >> 1), 0)
    queue.singles = queue.singles & ~((1 << first) | (1 << second))


@kernel
def apply_now(
    context: CallContext, state: State, site: i64, count: i64, bits: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a matrix on any bits, after all that waits."""
    flush(state)
    if count > MOST_BITS:
        apply_gathered(context, state, site, count, bits, matrix)
        return
    memory = allocate(context, site, room_of(count))
    if is_null(memory):
        return
    prepare(count, bits, matrix, memory)
    apply_to(cast(memory, Prepared), state, state.amplitudes)
    free(memory)


@kernel
def apply_gathered(
    context: CallContext, state: State, site: i64, count: i64, bits: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a matrix of any size: components are gathered, multiplied and put back."""
    size = 1 << count
    memory = allocate(context, site, 24 * size)
    if is_null(memory):
        return
    before, after, offsets = memory, memory + size, cast(memory + 2 * size, ptr[i64])
    fixed: i64 = 0
    for k in range(count):
        fixed |= 1 << bits[k]
    for row in range(size):
        offset: i64 = 0
        for k in range(count):
            offset |= ((row >> (count - 1 - k)) & 1) << bits[k]
        offsets[row] = offset
    numbers = components(state)
    base: i64 = 0
    for _ in range((1 << index_bits(state)) >> count):
        for row in range(size):
            before[row] = numbers[base | offsets[row]]
        for row in range(size):
            total: f64 = 0.0
            for column in range(size):
                total += matrix[row * size + column] * before[column]
            after[row] = total
        for row in range(size):
            numbers[base | offsets[row]] = after[row]
        base = ((base | fixed) + 1) & ~fixed
    free(memory)


@kernel
def push(
    context: CallContext, state: State, site: i64, count: i64, bits: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a transfer matrix on index bits, the first one the most significant, now or later.

    Pairs of bits that are digits come together, the higher one first.
    """
    if state.spoilt != 0:
        return
    if not all_are_numbers(1 << (2 * count), matrix):
        spoil(state)
        return
    digits = 2 * state.qubits
    if count == 2 and bits[0] < digits:
        push_one(state, bits[1], matrix)
    elif count == 4 and bits[0] < digits and bits[2] < digits:
        push_two(state, bits[1], bits[3], matrix)
    else:
        apply_now(context, state, site, count, bits, matrix)
