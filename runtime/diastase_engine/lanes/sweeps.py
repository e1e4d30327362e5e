"""Matrices applied to amplitudes: where some bits have given values, in all lanes at once."""

from math import nan

from diastase_engine.lanes.algebra import FORMS, GENERAL, image, loaded
from diastase_engine.lanes.device.launches import sweep_there
from diastase_engine.lanes.records import MATRIX, WIDTH, Lanes, group_of, lanes_of
from diastase_engine.language import *
from diastase_engine.state_vector.device.residence import GPU, fetch, if_gpu
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.tiles.sweeps import next_block

swept_there, fetched = if_gpu(sweep_there), if_gpu(fetch)


@inline
def apply_pair(amplitudes: ptr[v8], first: i64, second: i64, matrix: list[v8]) -> None:
    """Multiply two amplitudes, which lie at these places, by a matrix."""
    column = [
        amplitudes[first], amplitudes[first + 1], amplitudes[second], amplitudes[second + 1]
    ]  # fmt: skip
    result = image(matrix, column)
    amplitudes[first], amplitudes[first + 1] = result[0], result[1]
    amplitudes[second], amplitudes[second + 1] = result[2], result[3]


@inline
def sweep_form(
    state: State, form: int, target: i64, flips: i64, mask: i64, value: i64, matrices: ptr[v8]
) -> None:
    """`sweep` for matrices of a (static) form."""
    lanes = lanes_of(state)
    places = lanes.places
    fixed = mask | (1 << target)
    count = 1 << (state.qubits - count_ones(fixed))
    for group in range(lanes.groups):
        amplitudes = group_of(state, group)
        matrix = loaded(matrices + MATRIX * group, form)
        index: i64 = 0
        for _ in range(count):
            place = index | value
            apply_pair(amplitudes, places[place], places[place ^ flips], matrix)
            index = next_block(index, fixed)


@kernel
def sweep(
    state: State,
    form: i64,
    target: i64,
    flips: i64,
    mask: i64,
    value: i64,
    matrices: ptr[v8],
) -> None:
    """Multiply pairs of amplitudes by the lanes' matrices, where the bits in `mask` have a value.

    The first of a pair has 0 in the target bit; the other differs from it in `flips`.
    """
    state.applied += lanes_of(state).active_lanes
    state.stages += lanes_of(state).active_lanes
    if GPU == 1:
        swept_there(state, form, target, flips, mask, value, matrices)
        return
    for each in static(FORMS[:-1]):
        if form == each:
            sweep_form(state, each, target, flips, mask, value, matrices)
            return
    sweep_form(state, GENERAL, target, flips, mask, value, matrices)


@inline
def can_rename(lanes: Lanes) -> i1:
    """Whether amplitudes may be exchanged by name: in all lanes, and nowhere but on the host."""
    return GPU == 0 and lanes.all_active != 0


@kernel
def exchange(state: State, target: i64, flips: i64, mask: i64, value: i64) -> None:
    """Exchange the same pairs in all lanes: by name."""
    places = lanes_of(state).places
    fixed = mask | (1 << target)
    index: i64 = 0
    for _ in range(1 << (state.qubits - count_ones(fixed))):
        first = index | value
        kept = places[first]
        places[first] = places[first ^ flips]
        places[first ^ flips] = kept
        index = next_block(index, fixed)


@kernel
def matrices_of(lanes: Lanes, bit: i64) -> ptr[v8]:
    """Where the pending matrices of a bit are."""
    return lanes.pending + bit * lanes.groups * MATRIX


@kernel
def spoil_lane(state: State, lane: i64) -> None:
    """Make all amplitudes of a lane NaN, for good."""
    if GPU == 1:
        fetched(state)
    numbers = cast(group_of(state, lane >> 3), ptr[f64])
    for k in range(2 << state.qubits):
        numbers[WIDTH * k + (lane & (WIDTH - 1))] = nan
