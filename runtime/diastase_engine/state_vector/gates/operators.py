"""What is no gate: amplitudes written, sparse matrices and projectors applied, density matrices.

Operators walk over the amplitudes in *groups*: the wires in question take all their values, the
others stand still. `offsets_of` gives the place of each value within a group. Amplitudes are
written into wires that are in |0...0> (`prepare`), or into all of them.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.device.operators import (
    MOST_PROJECTED,
    give_there,
    project_there,
)
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.gates.dense import position
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.queue import (
    apply_waiting,
    flush,
    flush_to_read,
    forget_waiting,
    overwrite,
)
from diastase_engine.state_vector.queue.tape import PREPARE, keep_array
from diastase_engine.state_vector.state.checks import cannot_run, mask_of
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    State,
    free,
    memset,
)

given_there, projected_there = if_gpu(give_there), if_gpu(project_there)


@kernel
def place_of(state: State, n_wires: i64, wires: ptr[i64], index: i64, rest: i64) -> i64:
    """Return `rest` with the bits of `index` on checked wires, the first one most significant."""
    place: i64 = rest
    for k in range(n_wires):
        if (index >> (n_wires - 1 - k)) & 1 == 1:
            place |= 1 << state.bit_of_wire[wires[k]]
    return place


@kernel
def prepare(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    amplitudes: ptr[f64],
) -> None:
    """Give wires, which are in |0...0>, these amplitudes."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    if not is_null(state.tape):
        keep_array(context, state, site, PREPARE, n_wires, wires, 0, 0, amplitudes)
    put_amplitudes(context, state, site, n_wires, wires, amplitudes)


@kernel
def put_amplitudes(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    amplitudes: ptr[f64],
) -> None:
    """Multiply each amplitude whose (checked) wires are zero into those of all their values.

    Amplitudes whose wires are not zero, of which there must be none, are overwritten.
    """
    if GPU == 1:
        apply_waiting(state)
        given_there(state, n_wires, wires, amplitudes)
        return
    flush(state)
    mask = mask_of(context, state, site, n_wires, wires, 0)
    numbers = cast(state.amplitudes, ptr[stored])
    for rest in range(1 << state.qubits):
        origin = 2 * LANES * (rest >> LANE_BITS) + (rest & LANE_MASK)
        x, y = numbers[origin], numbers[origin + LANES]
        if rest & mask == 0 and (x != 0.0 or y != 0.0):
            for index in range(1 << n_wires):
                place = place_of(state, n_wires, wires, index, rest)
                target = 2 * LANES * (place >> LANE_BITS) + (place & LANE_MASK)
                a, b = amplitudes[2 * index], amplitudes[2 * index + 1]
                numbers[target] = x * a - y * b
                numbers[target + LANES] = x * b + y * a


@kernel
def set_amplitudes(context: CallContext, state: State, amplitudes: ptr[f64]) -> None:
    """Give a state these amplitudes, wire 0 most significant, whatever they were."""
    if cannot_run(context, state):
        return
    forget_waiting(state)
    overwrite(state)
    state.support, state.spoilt, state.has_any_norm = -1, 0, 0
    for wire in range(state.qubits):
        state.bit_of_wire[wire] = state.qubits - 1 - wire
    numbers = cast(state.amplitudes, ptr[stored])
    for index in range(1 << state.qubits):
        target = 2 * LANES * (index >> LANE_BITS) + (index & LANE_MASK)
        numbers[target] = amplitudes[2 * index]
        numbers[target + LANES] = amplitudes[2 * index + 1]


@kernel
def offsets_of(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64]
) -> ptr[i64]:
    """Places of the 2^k values of checked wires within a group, then as much scratch; or null."""
    size = 1 << n_wires
    memory = allocate(context, site, 8 * 3 * size)
    offsets = cast(memory, ptr[i64])
    if is_null(memory):
        return offsets
    offsets[0] = 0
    for k in range(n_wires):  # the last wire is the least significant bit of a value
        bit = position(1 << state.bit_of_wire[wires[n_wires - 1 - k]])
        for value in range(1 << k):
            offsets[(1 << k) | value] = offsets[value] | bit
    return offsets


@inline
def next_group(group: i64, mask: i64) -> i64:
    """Return the next index whose bits in `mask` are zero."""
    return ((group | mask) + 1) & ~mask


@kernel
def gather(numbers: ptr[stored], base: i64, size: i64, offsets: ptr[i64], out: ptr[f64]) -> None:
    """Copy a group's amplitudes, real and imaginary parts alternating."""
    for value in range(size):
        place = base + offsets[value]
        out[2 * value] = numbers[place]
        out[2 * value + 1] = numbers[place + LANES]


@kernel
def apply_sparse(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    row_starts: ptr[i64],
    columns: ptr[i64],
    values: ptr[f64],
) -> None:
    """Apply a sparse matrix (CSR; columns are known to be in range) to some wires."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_wires, wires, 0)
    if mask < 0:
        return
    offsets = offsets_of(context, state, site, n_wires, wires)
    if is_null(offsets):
        return
    flush(state)
    size = 1 << n_wires
    before = cast(offsets, ptr[f64]) + size
    numbers = cast(state.amplitudes, ptr[stored])
    group: i64 = 0
    for _ in range(1 << (state.qubits - n_wires)):
        base = position(group)
        gather(numbers, base, size, offsets, before)
        for row in range(size):
            real: f64 = 0.0
            imaginary: f64 = 0.0
            k: i64 = row_starts[row]
            while k < row_starts[row + 1]:
                column = columns[k]
                a, b = values[2 * k], values[2 * k + 1]
                x, y = before[2 * column], before[2 * column + 1]
                real += a * x - b * y
                imaginary += a * y + b * x
                k += 1
            numbers[base + offsets[row]] = real
            numbers[base + offsets[row] + LANES] = imaginary
        group = next_group(group, mask)
    free(cast(offsets, ptr[f64]))


@kernel
def project_on(
    context: CallContext,
    state: State,
    site: i64,
    n_wires: i64,
    wires: ptr[i64],
    vector: ptr[f64],
) -> None:
    """Apply |v><v| for a vector of some wires."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_wires, wires, 0)
    if mask < 0:
        return
    if GPU == 1:
        if n_wires <= MOST_PROJECTED:
            apply_waiting(state)
            projected_there(state, n_wires, wires, vector)
            return
    offsets = offsets_of(context, state, site, n_wires, wires)
    if is_null(offsets):
        return
    flush(state)
    numbers = cast(state.amplitudes, ptr[stored])
    group: i64 = 0
    for _ in range(1 << (state.qubits - n_wires)):
        base = position(group)
        real: f64 = 0.0
        imaginary: f64 = 0.0
        for value in range(1 << n_wires):
            place = base + offsets[value]
            a, b = vector[2 * value], vector[2 * value + 1]
            x, y = numbers[place], numbers[place + LANES]
            real += a * x + b * y
            imaginary += a * y - b * x
        for value in range(1 << n_wires):
            place = base + offsets[value]
            a, b = vector[2 * value], vector[2 * value + 1]
            numbers[place] = a * real - b * imaginary
            numbers[place + LANES] = a * imaginary + b * real
        group = next_group(group, mask)
    free(cast(offsets, ptr[f64]))


@kernel
def density_matrix(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Write the density matrix of some wires, row-major, the others traced out."""
    if cannot_run(context, state):
        return
    mask = mask_of(context, state, site, n_wires, wires, 0)
    if mask < 0:
        return
    offsets = offsets_of(context, state, site, n_wires, wires)
    if is_null(offsets):
        return
    flush_to_read(state)
    size = 1 << n_wires
    group_of = cast(offsets, ptr[f64]) + size
    memset(out, 0, 16 * size * size)
    group: i64 = 0
    for _ in range(1 << (state.qubits - n_wires)):
        gather(cast(state.amplitudes, ptr[stored]), position(group), size, offsets, group_of)
        for row in range(size):
            a, b = group_of[2 * row], group_of[2 * row + 1]
            line = out + 2 * size * row
            for column in range(size):
                x, y = group_of[2 * column], group_of[2 * column + 1]
                line[2 * column] = line[2 * column] + a * x + b * y
                line[2 * column + 1] = line[2 * column + 1] + b * x - a * y
        group = next_group(group, mask)
    free(cast(offsets, ptr[f64]))
