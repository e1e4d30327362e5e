"""Measurement: an outcome for each lane, by its own random number, and its collapse.

The matrix that is pending on the measured bit is not applied: weights after it follow from the
weights before and the coherence between them, and the collapse becomes a part of it. Where an
outcome is unlikely the difference of those numbers would be rounding; then it is applied.
"""

from math import inf

from diastase_engine.call_context import NOT_A_NUMBER, CallContext, fail
from diastase_engine.lanes.algebra import (
    FORMS,
    OTHERS,
    REAL,
    REAL_DIAGONAL,
    loaded,
    sum_of_products,
)
from diastase_engine.lanes.device.launches import weigh_there
from diastase_engine.lanes.pending import apply_pending, merge, write_fresh
from diastase_engine.lanes.records import (
    MATRIX,
    WIDTH,
    Lanes,
    active_of,
    group_of,
    lanes_of,
    norm_of,
    same,
)
from diastase_engine.lanes.streams import draw
from diastase_engine.lanes.sweeps import matrices_of
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.state.checks import bit_of, cannot_run
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.tiles.sweeps import next_block

UNLIKELY = 1e-4
"""An outcome of a lesser probability is drawn by weights that are sums of squares."""


weighed_there = if_gpu(weigh_there)


@kernel
def add_weights(state: State, bit: i64) -> None:
    """Write the weights of both values of a bit, what is pending left out."""
    if GPU == 1:
        weighed_there(state, bit)
        return
    lanes = lanes_of(state)
    places = lanes.places
    for group in range(lanes.groups):
        amplitudes = group_of(state, group)
        zero = same(0.0)
        one = same(0.0)
        index: i64 = 0
        for _ in range(1 << (state.qubits - 1)):
            zero += norm_of(amplitudes, places[index])
            one += norm_of(amplitudes, places[index | 1 << bit])
            index = next_block(index, 1 << bit)
        lanes.weights[4 * group] = zero
        lanes.weights[4 * group + 1] = one


@kernel
def add_coherences(state: State, bit: i64) -> None:
    """Write these, and the real and imaginary parts of the sum of a(0) conj(a(1))."""
    if GPU == 1:
        weighed_there(state, bit)
        return
    lanes = lanes_of(state)
    places = lanes.places
    for group in range(lanes.groups):
        amplitudes = group_of(state, group)
        zero = same(0.0)
        one = same(0.0)
        real = same(0.0)
        imaginary = same(0.0)
        index: i64 = 0
        for _ in range(1 << (state.qubits - 1)):
            first, second = places[index], places[index | 1 << bit]
            x, y = amplitudes[first], amplitudes[first + 1]
            u, v = amplitudes[second], amplitudes[second + 1]
            zero = zero + x * x + y * y
            one = one + u * u + v * v
            real = real + x * u + y * v
            imaginary = imaginary + y * u - x * v
            index = next_block(index, 1 << bit)
        weights = lanes.weights + 4 * group
        weights[0], weights[1], weights[2], weights[3] = zero, one, real, imaginary


@inline
def weight_after(row: list[v8], weights: ptr[v8]) -> v8:
    """Weight of the value of whose row in a matrix this is."""
    a, b, c, d = row[0], row[1], row[2], row[3]
    first, second = sum_of_products([(a, a), (b, b)], []), sum_of_products([(c, c), (d, d)], [])
    # a(0) conj(a(1)) is multiplied by (a + ib) (c - id).
    real = sum_of_products([(a, c), (b, d)], [])
    imaginary = sum_of_products([(b, c)], [(a, d)])
    cross = sum_of_products([(real, weights[2])], [(imaginary, weights[3])])
    return sum_of_products([(first, weights[0]), (second, weights[1]), (2.0, cross)], [])


@kernel
def transform_weights(lanes: Lanes, bit: i64) -> None:
    """Replace the weights by those after the bit's pending matrix."""
    for form in static(FORMS):
        if lanes.forms[bit] == form:
            for group in range(lanes.groups):
                m = loaded(matrices_of(lanes, bit) + MATRIX * group, form)
                weights = lanes.weights + 4 * group
                zero, one = weight_after(m[:4], weights), weight_after(m[4:], weights)
                weights[0], weights[1] = zero, one


@inline
def outcome_of(zero: v8, one: v8, uniform: v8, active: lane_set) -> lane_set:
    """Lanes whose outcome is 1, as `state_vector.measure.outcomes.draw` has it."""
    # Weights that were subtracted may be less than nothing.
    return active & ((uniform * (zero + one) < one) | (zero <= 0.0))


@kernel
def are_drawable(context: CallContext, lanes: Lanes, site: i64) -> i1:
    """Whether outcomes can be drawn in all lanes that are active; else an error."""
    for group in range(lanes.groups):
        weights = lanes.weights + 4 * group
        active = active_of(lanes, group)
        if not all_lanes(select(active, weights[0] + weights[1], 0.0) < inf):
            fail(context, NOT_A_NUMBER, site, 0, 0)
            return False
    return True


@kernel
def has_unlikely(lanes: Lanes) -> i1:
    """Whether a lane has drawn an outcome of little weight."""
    for group in range(lanes.groups):
        weights = lanes.weights + 4 * group
        active = active_of(lanes, group)
        zero, one = weights[0], weights[1]
        uniform = load_unaligned(lanes.uniforms, WIDTH * group)
        chosen = select(outcome_of(zero, one, uniform, active), one, zero)
        if not all_lanes(select(active, chosen - UNLIKELY * (zero + one), 1.0) > 0.0):
            return True
    return False


@kernel
def write_collapses(lanes: Lanes, reset: i64, outcomes: ptr[i64]) -> None:
    """Write outcomes, and the projectors on them as fresh matrices, normalised."""
    for group in range(lanes.groups):
        weights = lanes.weights + 4 * group
        uniform = load_unaligned(lanes.uniforms, WIDTH * group)
        is_one = outcome_of(weights[0], weights[1], uniform, active_of(lanes, group))
        store_lanes(outcomes, WIDTH * group, is_one)
        scale = 1.0 / square_root(select(is_one, weights[1], weights[0]))
        zero, one = select(is_one, 0.0, scale), select(is_one, scale, 0.0)
        if reset != 0:
            write_fresh(lanes, group, 0, [zero, 0.0, one, 0.0, 0.0, 0.0, 0.0, 0.0], REAL)
        else:
            write_fresh(lanes, group, 0, [zero, 0.0, 0.0, 0.0, 0.0, 0.0, one, 0.0], REAL_DIAGONAL)


@kernel
def weigh(state: State, bit: i64) -> None:
    """Write the weights of both values of a bit."""
    lanes = lanes_of(state)
    if lanes.forms[bit] & OTHERS != 0:
        add_coherences(state, bit)
    else:
        add_weights(state, bit)
    transform_weights(lanes, bit)


@kernel
def measure_bit(
    context: CallContext, state: State, site: i64, bit: i64, reset: i64, outcomes: ptr[i64]
) -> None:
    """Measure a bit in the lanes that are active."""
    lanes = lanes_of(state)
    for other in range(state.qubits):
        if other != bit and (lanes.any_norm >> other) & 1 == 1:
            apply_pending(state, other)
    weigh(state, bit)
    if not are_drawable(context, lanes, site):
        return
    draw(lanes)
    if lanes.forms[bit] != 0 and has_unlikely(lanes):
        apply_pending(state, bit)
        add_weights(state, bit)
    write_collapses(lanes, reset, outcomes)
    merge(lanes, bit, REAL if reset != 0 else REAL_DIAGONAL)
    lanes.any_norm |= 1 << bit


@kernel
def measure(
    context: CallContext, state: State, site: i64, wire: i64, reset: i64, outcomes: ptr[i64]
) -> None:
    """Measure a wire in the computational basis; `reset` moves it to 0 then."""
    if is_null(state):
        return
    lanes = lanes_of(state)
    for lane in range(lanes.lanes):
        outcomes[lane] = 0
    if cannot_run(context, state):
        return
    bit = bit_of(context, state, site, wire)
    if bit >= 0 and lanes.active_lanes != 0:
        state.gates += lanes.active_lanes
        measure_bit(context, state, site, bit, reset, outcomes)
