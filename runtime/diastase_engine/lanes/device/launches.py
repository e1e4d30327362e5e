"""Lane registers on a GPU: what the host launches, and what it copies.

Matrices of gates are made on the host, as without one, and copied for a launch. Where amplitudes
are is said by the register's `residence`, as a state vector's is (`state_vector.device`).
"""

from diastase_engine.lanes.device.kernels import (
    WEIGHTS,
    LaneGate,
    LaneOutcomes,
    LaneStart,
    LaneSums,
)
from diastase_engine.lanes.records import MATRIX, lanes_of, same
from diastase_engine.language import *
from diastase_engine.state_vector.device.driver import (
    clear_on_device,
    copy_to_device,
    copy_to_host,
    launch,
)
from diastase_engine.state_vector.device.residence import (
    bring,
    bytes_of,
    change_there,
    device_room,
    has_device_memory,
)
from diastase_engine.state_vector.device.sums import blocks_for
from diastase_engine.state_vector.state.parallel import is_interrupted
from diastase_engine.state_vector.state.records import State, Term
from diastase_runtime.abi import LANE_GRIDS

BEGIN, SWEEP = LANE_GRIDS.index("begin_lanes_there"), LANE_GRIDS.index("sweep_lanes")
WEIGH, WORDS = LANE_GRIDS.index("weigh_lanes"), LANE_GRIDS.index("add_lane_words")
OUTCOMES = LANE_GRIDS.index("add_outcomes")


@kernel
def begin_there(state: State) -> None:
    """Make all lanes |0...0> there."""
    if not has_device_memory(state):
        return
    clear_on_device(state, state.device, bytes_of(state))
    change_there(state)
    run = stack_record(LaneStart)
    run.numbers, run.qubits = at(state.device), state.qubits
    run.lanes = lanes_of(state).lanes
    launch(state, BEGIN, blocks_for(run.lanes), cast(run, ptr[i64]), size_of(LaneStart))


@kernel
def sweep_there(
    state: State, form: i64, target: i64, flips: i64, mask: i64, value: i64, matrices: ptr[v8]
) -> None:
    """Multiply pairs of amplitudes; see `lanes.sweeps.sweep`."""
    lanes = lanes_of(state)
    size = lanes.lanes * MATRIX * 8
    if is_interrupted(state) or not bring(state) or not device_room(state, size):
        return
    if not copy_to_device(state, state.device_plan, cast(matrices, ptr[f64]), size):
        return
    run = stack_record(LaneGate)
    run.numbers, run.matrices = at(state.device), at(state.device_plan)
    run.form, run.qubits, run.flips = form, state.qubits, flips
    run.fixed, run.value = mask | (1 << target), value
    run.pair_bits = state.qubits - count_ones(run.fixed)
    run.threads = lanes.lanes << run.pair_bits
    change_there(state)
    launch(state, SWEEP, blocks_for(run.threads), cast(run, ptr[i64]), size_of(LaneGate))


@kernel
def weigh_there(state: State, bit: i64) -> None:
    """Write the weights of a bit, and its coherence; zeros after an error."""
    lanes = lanes_of(state)
    for k in range(WEIGHTS * lanes.groups):
        lanes.weights[k] = same(0.0)
    size = WEIGHTS * lanes.lanes * 8
    if not bring(state) or not device_room(state, size):
        return
    run = stack_record(LaneSums)
    run.numbers, run.out = at(state.device), at(state.device_plan)
    run.qubits, run.bit, run.lanes, run.n_terms = state.qubits, bit, lanes.lanes, 0
    run.terms = null(ptr[f64])
    launch(state, WEIGH, lanes.groups, cast(run, ptr[i64]), size_of(LaneSums))
    copy_to_host(state, cast(lanes.weights, ptr[f64]), state.device_plan, size)


@kernel
def words_there(state: State, terms: ptr[Term], count: i64, out: ptr[f64]) -> None:
    """Write the expectation values of words, of each in all lanes."""
    lanes = lanes_of(state)
    size, before = 8 * count * lanes.lanes, count * size_of(Term)
    if not bring(state) or not device_room(state, size + before):
        return
    if not copy_to_device(state, state.device_plan, cast(terms, ptr[f64]), before):
        return
    where = state.device_plan + before
    run = stack_record(LaneSums)
    run.numbers, run.out, run.terms = at(state.device), at(where), at(state.device_plan)
    run.qubits, run.bit, run.lanes, run.n_terms = state.qubits, 0, lanes.lanes, count
    launch(state, WORDS, lanes.groups, cast(run, ptr[i64]), size_of(LaneSums))
    copy_to_host(state, out, where, size)


@kernel
def outcomes_there(state: State, count: i64, bits: ptr[i64], out: ptr[f64]) -> None:
    """Write probabilities by the values of some bits, a row for each lane."""
    lanes = lanes_of(state)
    size = 8 * lanes.lanes << count
    if not bring(state) or not device_room(state, size):
        return
    run = stack_record(LaneOutcomes)
    run.numbers, run.out = at(state.device), at(state.device_plan)
    run.qubits, run.count, run.fixed = state.qubits, count, 0
    run.threads = lanes.lanes << count
    for k in range(count):
        run.bits[k] = bits[k]
        run.fixed = run.fixed | (1 << bits[k])
    launch(state, OUTCOMES, blocks_for(run.threads), cast(run, ptr[i64]), size_of(LaneOutcomes))
    copy_to_host(state, out, state.device_plan, size)
