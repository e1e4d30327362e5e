"""Groups: the numbers of a state whose index differs on some bits only; any real matrix on them."""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.state.digits import index_bits
from diastase_engine.language import *
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.state.parallel import is_interrupted
from diastase_engine.state_vector.state.records import State, free

BETWEEN_POLLS = (1 << 10) - 1
"""Groups, less one."""


@kernel
def fill_offsets(count: i64, bits: ptr[i64], offsets: ptr[i64]) -> i64:
    """Write where each of 2^count rows lies in a group (first bit most significant); all bits."""
    offsets[0] = 0
    mask: i64 = 0
    for k in range(count):  # the last bit is the least significant one of a row
        bit = 1 << bits[count - 1 - k]
        mask |= bit
        for row in range(1 << k):
            offsets[(1 << k) | row] = offsets[row] | bit
    return mask


@inline
def next_group(group: i64, mask: i64) -> i64:
    """Return the next index whose bits in `mask` are zero."""
    return ((group | mask) + 1) & ~mask


@inline
def is_over(state: State, group_number: i64) -> i1:
    """Whether the call is over; asked now and then."""
    return group_number & BETWEEN_POLLS == 0 and is_interrupted(state)


@kernel
def apply_to_groups(
    context: CallContext, state: State, site: i64, count: i64, bits: ptr[i64], matrix: ptr[f64]
) -> None:
    """Multiply each group by a real matrix, row-major."""
    size = 1 << count
    memory = allocate(context, site, 16 * size)
    if is_null(memory):
        return
    offsets, before = cast(memory, ptr[i64]), memory + size
    mask = fill_offsets(count, bits, offsets)
    numbers = cast(state.amplitudes, ptr[stored])
    group: i64 = 0
    for number in range(1 << (index_bits(state) - count)):
        if is_over(state, number):
            break
        for row in range(size):
            before[row] = numbers[group + offsets[row]]
        for row in range(size):
            total: f64 = 0.0
            line = matrix + row * size
            for column in range(size):
                total += line[column] * before[column]
            numbers[group + offsets[row]] = total
        group = next_group(group, mask)
    free(memory)
