"""Memory of a lane register: a `State` of all lanes, and after it what there is for each lane.

Amplitudes are vectors of eight lanes: those of eight lanes are a *group*, whose amplitudes lie
together, each a vector of real and one of imaginary parts. Amplitude i of a group lies at
`places[i]` (in vectors): X and CNOT change `places` instead of the amplitudes, but on a GPU.

For each bit a 2x2 matrix may be *pending*: eight vectors a group, so that gates on one wire become
one matrix before any amplitude is touched; `forms` says which of them are not zero.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import ALIGNMENT, State

WIDTH = 8
"""Lanes of a group."""
MATRIX = 8
"""Vectors of a matrix."""
MOST_LANES = 1 << 20


class Lanes(Record):
    """What there is for each lane."""

    lanes: i64
    groups: i64
    active: ptr[i64]
    """1 for each lane that is active, else 0."""
    all_active: i64
    active_lanes: i64
    """How many are active."""
    forms: ptr[i64]
    """Of each bit's pending matrix, 0 where there is none."""
    any_norm: i64
    """Bits whose pending matrix may not be unitary: a collapse, a matrix of the user's."""
    places: ptr[i64]
    pending: ptr[v8]
    fresh: ptr[v8]
    """Two matrices a group: of the gate that is being applied."""
    phases: ptr[v8]
    """Two vectors a group: a phase of all amplitudes, which they are still to be multiplied by."""
    has_phase: i64
    weights: ptr[v8]
    """Four vectors a group: of the wire that is being measured."""
    angles: ptr[f64]
    """Three numbers a lane: parameters that had to be changed."""
    seeds: ptr[i64]
    counters: ptr[i64]
    """The key of each lane's random numbers, and how many were drawn."""
    uniforms: ptr[f64]
    """The last one."""
    is_seeded: i64
    key: i64
    position: i64
    number: i64
    """Of which the keys are made: those of the elements from `number` on."""
    first_counter: i64


STATE_NUMBERS = size_of(State) // 8
HANDLE_BYTES = (size_of(State) + size_of(Lanes) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@inline
def lanes_of(state: State) -> Lanes:
    """What there is for each lane of a register."""
    return cast(cast(state, ptr[f64]) + STATE_NUMBERS, Lanes)


@inline
def group_of(state: State, group: i64) -> ptr[v8]:
    """The amplitudes of eight lanes."""
    return cast(state.amplitudes, ptr[v8]) + ((group << state.qubits) << 1)


@inline
def active_of(lanes: Lanes, group: i64) -> lane_set:
    """Which lanes of a group are active."""
    return lanes_where(lanes.active, WIDTH * group)


@inline
def norm_of(amplitudes: ptr[v8], place: i64) -> v8:
    """Squared magnitude of an amplitude."""
    x, y = amplitudes[place], amplitudes[place + 1]
    return x * x + y * y


@inline
def same(number: f64) -> v8:
    """A number in all lanes."""
    return pack([number, number, number, number, number, number, number, number])
