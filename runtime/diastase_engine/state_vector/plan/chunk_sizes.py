"""How large the chunks of a state are, and whether there is to be a plan at all.

Small states lie in the first-level cache, where a plan wins nothing. A state that several threads
share is cut into two chunks for each, as long as that costs few more stages.
"""

from diastase_engine.language import derived, i64, kernel
from diastase_engine.state_vector.state.parallel import workers_on
from diastase_engine.state_vector.state.records import LANE_BITS, State
from diastase_engine.state_vector.tiles.plan_records import CHUNK_BITS, SLOTS

PLANNED_QUBITS = derived(lambda lane_bits: 9 + lane_bits, LANE_BITS)
"""States of fewer qubits are swept: 32 KiB of amplitudes fit the first-level cache."""

SMALLEST_SHARED_CHUNK = derived(lambda lane_bits: 9 + lane_bits, LANE_BITS)
"""Smaller chunks would make more stages, which costs more than one thread's waiting."""


@kernel
def shared_chunk_bits(state: State) -> i64:
    """Return the usual size of chunks, or a smaller one that makes two chunks for each thread."""
    bits: i64 = CHUNK_BITS if CHUNK_BITS < state.qubits else state.qubits
    wanted = 2 * workers_on(state, 1 << state.qubits)
    while bits > SMALLEST_SHARED_CHUNK and (1 << (state.qubits - bits)) < wanted:
        bits -= 1
    return bits


@kernel
def chunk_bits_of(state: State) -> i64:
    """Return the size of chunks, or 0 where the waiting operations are to be swept."""
    if state.qubits < LANE_BITS + SLOTS:
        return 0
    wanted: i64 = state.chunk_bits
    if wanted == 0:
        if state.qubits < PLANNED_QUBITS:
            return 0
        wanted = shared_chunk_bits(state)
    if wanted < LANE_BITS + SLOTS:
        wanted = LANE_BITS + SLOTS
    return wanted if wanted < state.qubits else state.qubits
