"""Probabilities, amplitudes in the user's order, and measurement with collapse.

A collapse is one more operation on the queue: the projector divided by the norm, followed by a
flip where the wire is reset. Outcomes come from the call's counter-based random numbers, so a
seed and the order of the measurements determine them.
"""

from diastase_engine.call_context import IMPOSSIBLE_POSTSELECTION, CallContext, fail, next_uniform
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.device.sums import marginal_there, weights_there
from diastase_engine.state_vector.measure.outcome_scripts import IMPOSSIBLE, scripted_outcome
from diastase_engine.state_vector.measure.trajectories import repeated_choice, repeats
from diastase_engine.state_vector.plan.plan_memory import chunk_bits_of
from diastase_engine.state_vector.queue.queue import (
    apply_first,
    apply_waiting,
    flush,
    flush_first,
    flush_to_read,
    forget_first,
    push_single,
)
from diastase_engine.state_vector.state.checks import (
    bit_of,
    bits_of,
    cannot_run,
    in_order,
    is_drawable,
    mask_of,
)
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    MAX_QUBITS,
    Operation,
    OutcomeScript,
    State,
    memset,
)
from diastase_engine.state_vector.state.small_matrices import (
    EVERYWHERE,
    EXCHANGE,
    is_identity,
    write,
)
from diastase_engine.state_vector.tiles.sweeps import SHARED_BLOCKS, next_block, place_of
from diastase_engine.state_vector.tiles.weighing import SUMS, apply_and_weigh, can_weigh
from diastase_engine.threads.loops import run_parallel

summed_there, marginals_there = if_gpu(weights_there), if_gpu(marginal_there)


@inline
def lane_places(count: i64, bits: ptr[i64]) -> ptr[i64]:
    """`place_of` for the lanes of block 0; a block adds its own place."""
    places = stack_array(i64, LANES)
    for lane in static(range(LANES)):
        places[lane] = place_of(lane, count, bits)
    return places


@inline
def weight(state: State, block: i64) -> wide:
    """Squared magnitudes of a block."""
    x, y = widen(state.amplitudes[2 * block]), widen(state.amplitudes[2 * block + 1])
    return x * x + y * y


@kernel
def marginal(state: State, count: i64, bits: ptr[i64], out: ptr[f64]) -> None:
    """Add up probabilities by the values of some bits."""
    memset(out, 0, 8 << count)
    places = lane_places(count, bits)
    weights = stack_array(wide, 1)
    numbers = cast(weights, ptr[f64])
    for block in range(state.blocks):
        weights[0] = weight(state, block)
        base = place_of(block << LANE_BITS, count, bits)
        for lane in static(range(LANES)):
            place = base | places[lane]
            out[place] = out[place] + numbers[lane]


class Weights(Record):
    """Probabilities of all outcomes in order, while they are written."""

    state: State
    out: ptr[f64]


@kernel
def write_weights(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Write those of some blocks; `argument` is a `Weights`."""
    run = cast(argument, Weights)
    for block in range(first, last):
        store_unaligned(run.out, block << LANE_BITS, weight(run.state, block))


@kernel
def probabilities(
    context: CallContext, state: State, site: i64, n_wires: i64, wires: ptr[i64], out: ptr[f64]
) -> None:
    """Probabilities of the outcomes on some wires in their order; of all wires where none."""
    if cannot_run(context, state):
        return
    if mask_of(context, state, site, n_wires, wires, 0) < 0:
        return
    bits = stack_array(i64, MAX_QUBITS)
    bits_of(state, n_wires, wires, bits)
    if GPU == 1:
        apply_waiting(state)
        if n_wires != 0:
            marginals_there(state, n_wires, bits, out)
        else:
            marginals_there(state, state.qubits, state.bit_of_wire, out)
        return
    flush(state)
    if n_wires != 0:
        marginal(state, n_wires, bits, out)
    elif state.qubits >= LANE_BITS and in_order(state):
        run = stack_record(Weights)
        run.state = state
        run.out = out
        run_parallel(code_of(write_weights), cast(run, ptr[f64]), state.blocks, SHARED_BLOCKS)
    else:
        marginal(state, state.qubits, state.bit_of_wire, out)


@kernel
def amplitudes(context: CallContext, state: State, out: ptr[stored]) -> None:
    """All amplitudes, wire 0 most significant, real and imaginary parts alternating."""
    if cannot_run(context, state):
        return
    flush_to_read(state)
    count = state.qubits
    places = lane_places(count, state.bit_of_wire)
    lanes = LANES if count >= LANE_BITS else 1 << count
    numbers = cast(state.amplitudes, ptr[stored])
    for block in range(state.blocks):
        base = place_of(block << LANE_BITS, count, state.bit_of_wire)
        for lane in range(lanes):
            place = 2 * (base | places[lane])
            out[place] = numbers[2 * LANES * block + lane]
            out[place + 1] = numbers[2 * LANES * block + LANES + lane]


@kernel
def weight_where(state: State, fixed: i64, value: i64, sums: ptr[wide]) -> None:
    """Write the weights, lane by lane, of the blocks whose bits `fixed` have this value."""
    # Two sums, as each addition waits for the one before.
    even, odd = broadcast_wide(0.0), broadcast_wide(0.0)
    count = state.blocks >> count_ones(fixed)
    block: i64 = 0
    for _ in range(count >> 1):
        other = next_block(block, fixed)
        even += weight(state, block | value)
        odd += weight(state, other | value)
        block = next_block(other, fixed)
    if count == 1:
        even = weight(state, value)
    sums[0] = even + odd


@kernel
def joint_weights(state: State, bit: i64, selector: i64, weights: ptr[f64]) -> None:
    """Write the total weight of the amplitudes with a bit 0, and with it 1.

    With a selector (a mask of one bit, or none) two pairs: where it is 0, and where it is 1.
    """
    mask = 1 << bit
    fixed = (mask | selector) >> LANE_BITS
    sums = stack_array(wide, SUMS)
    for selected in range(1 if selector >> LANE_BITS == 0 else 2):
        for one in range(1 if mask >> LANE_BITS == 0 else 2):
            value = (selected * selector | one * mask) >> LANE_BITS
            weight_where(state, fixed, value, sums + 2 * selected + one)
    sort_weights(sums, mask, selector, weights)


@kernel
def sort_weights(sums: ptr[wide], mask: i64, selector: i64, weights: ptr[f64]) -> None:
    """The same from sums over the blocks with each value of these bits."""
    in_lanes = (mask | selector) & LANE_MASK
    for selected in range(1 if selector == 0 else 2):
        for one in range(2):
            lanes = lanes_match(in_lanes, (selected * selector | one * mask) & LANE_MASK)
            number: i64 = 0 if mask >> LANE_BITS == 0 else one
            if selector >> LANE_BITS != 0:
                number += 2 * selected
            weights[2 * selected + one] = horizontal_sum(select(lanes, sums[number], 0.0))


@kernel
def is_exchange(matrix: ptr[f64]) -> i1:
    """Whether a matrix is exactly X."""
    return equal_lanes(load_unaligned(matrix, 0), pack(EXCHANGE)) == EVERYWHERE


@kernel
def is_flip(operation: Operation, bit: i64) -> i1:
    """Whether an operation is exactly a CNOT whose target is this bit."""
    return (
        operation.is_live != 0
        and operation.changes == 1 << bit
        and operation.word == 0
        and count_ones(operation.mask) == 1
        and operation.value == operation.mask
        and is_exchange(operation.matched)
        and is_identity(operation.otherwise)
    )


@kernel
def flush_and_weigh(
    state: State, count: i64, bit: i64, selector: i64, weights: ptr[f64], number: ptr[f64]
) -> None:
    """Apply the first `count` waiting operations and write `joint_weights`, in one walk perhaps."""
    final: i64 = count - 1
    while final >= 0 and state.operations[final].is_live == 0:
        final -= 1
    if final < 0 or state.qubits >= PARALLEL_QUBITS or not can_weigh(state.operations[final]):
        flush_first(state, count)
        joint_weights(state, bit, selector, weights)
        number[0], number[1] = 1.0, 0.0
        return
    apply_first(state, final)
    sums = stack_array(wide, SUMS)
    apply_and_weigh(state, state.operations[final], bit, selector, sums, number)
    state.applied += 1
    state.stages += 1
    forget_first(state, count)
    sort_weights(sums, 1 << bit, selector, weights)
    size = number[0] * number[0] + number[1] * number[1]
    for k in range(2 if selector == 0 else 4):
        weights[k] = weights[k] * size


@kernel
def outcome_weights(state: State, bit: i64, weights: ptr[f64], number: ptr[f64]) -> None:
    """Apply what waits and write the weights of both outcomes.

    A CNOT that comes last may wait on: its selector says how the weights are to be added, and with
    the collapse it becomes one operation. Nothing else may: a collapse that waits is not unitary,
    and the weights of all bits depend on it.

    The amplitudes are then to be multiplied by `number`; by 1, if the caller has written 0 there.
    """
    if GPU == 1:
        apply_waiting(state)
        summed_there(state, 1 << bit, weights)
        number[0], number[1] = 1.0, 0.0
        return
    if chunk_bits_of(state) != 0 or state.has_any_norm != 0:
        flush(state)
        joint_weights(state, bit, 0, weights)
        number[0], number[1] = 1.0, 0.0
        return
    last = state.waiting - 1
    if last < 0 or not is_flip(state.operations[last], bit):
        flush_and_weigh(state, state.waiting, bit, 0, weights, number)
        return
    both = stack_array(f64, 4)
    flush_and_weigh(state, last, bit, state.operations[last].mask, both, number)
    weights[0], weights[1] = both[0] + both[3], both[1] + both[2]


@kernel
def draw(context: CallContext, weights: ptr[f64]) -> i64:
    """Draw a random outcome; one of weight zero is never drawn."""
    uniform = next_uniform(context)
    if weights[0] == 0.0:
        return 1
    if uniform * (weights[0] + weights[1]) < weights[1]:
        return 1
    return 0


@kernel
def push_collapse(
    state: State, bit: i64, outcome: i64, reset: i64, weight_of: f64, number: ptr[f64]
) -> None:
    """Queue the projector on an outcome, normalised; `reset` then moves it to 0.

    All amplitudes are multiplied by `number`, too.
    """
    matrix = stack_array(f64, 8)
    size = 1.0 / square_root(weight_of)
    zero: f64 = size if outcome == 0 else 0.0
    one: f64 = size - zero
    moved: f64 = one if reset != 0 else 0.0
    a, b = number[0], number[1]
    left = one - moved
    write([zero * a, zero * b, moved * a, moved * b, 0.0, 0.0, left * a, left * b], matrix)
    push_single(state, bit, 0, 0, matrix)


@kernel
def choose_outcome(
    context: CallContext, state: State, site: i64, wire: i64, weights: ptr[f64], postselect: i64
) -> i64:
    """The outcome of a measurement: drawn, postselected, or as a script says; 0 after an error."""
    if not is_drawable(context, site, weights[0] + weights[1]):
        return 0
    if not is_null(state.script):
        return scripted_outcome(context, state, site, wire, weights, postselect)
    if postselect < 0:
        return draw(context, weights)
    outcome = postselect & 1
    if not weights[outcome] > IMPOSSIBLE * (weights[0] + weights[1]):
        fail(context, IMPOSSIBLE_POSTSELECTION, site, wire, outcome)
    return outcome


@kernel
def measure(
    context: CallContext, state: State, site: i64, wire: i64, reset: i64, postselect: i64
) -> i64:
    """Measure a wire in the computational basis: the outcome, and the state collapses."""
    if cannot_run(context, state):
        return 0
    bit = bit_of(context, state, site, wire)
    if bit < 0:
        return 0
    weights, number = stack_array(f64, 2), stack_array(f64, 2)
    number[0], number[1] = 1.0, 0.0
    if not is_null(state.script) and repeats(cast(state.script, OutcomeScript)):
        again = repeated_choice(cast(state.script, OutcomeScript), weights)
        push_collapse(state, bit, again, reset, weights[0], number)
        return again
    outcome_weights(state, bit, weights, number)
    outcome = choose_outcome(context, state, site, wire, weights, postselect)
    if context.code != 0:
        return 0
    push_collapse(state, bit, outcome, reset, weights[outcome], number)
    return outcome
