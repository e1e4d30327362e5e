"""Memory layout of a state, and the functions of the C library that its memory is made with.

*Amplitudes* are blocked: block `b` is two vectors of 64 bytes, the real parts of amplitudes
LANES*b and those after it, and then their imaginary parts. The low bits of an amplitude's index are
its *lane*, the others its block: three bits in double precision, four in single precision, so that
sizes in blocks are the same in both. A smaller state still fills one block; the lanes beyond it
stay zero.

*Precision*: amplitudes, and coefficients in vectors, are `stored`; everything else is computed in
double precision: matrices of gates, fused and planned; sums over more amplitudes than a vector has.

*Wires and bits*: wire 0 is the most significant bit at first, but SWAP only renames, so
`bit_of_wire` is the truth and everything else speaks of bits.

*Waiting operations*: gates are not applied at once but queued and fused; see `queue.queue`.
"""

import mmap
from typing import Annotated

from diastase_engine.call_context import CallContext
from diastase_engine.language import *

malloc = external("malloc", [i64], ptr[f64])
aligned_alloc = external("aligned_alloc", [i64, i64], ptr[f64])
realloc = external("realloc", [ptr[f64], i64], ptr[f64])
free = external("free", [ptr[f64]])
memset = external("memset", [ptr[f64], i32, i64], ptr[f64])
memcpy = external("memcpy", [ptr[f64], ptr[f64], i64], ptr[f64])
madvise = external("madvise", [ptr[f64], i64, i32], i32)

MADV_HUGEPAGE = getattr(mmap, "MADV_HUGEPAGE", -1)
"""Linux only; -1 elsewhere."""


SINGLE = setting("single", 0)
LANE_BITS = derived(lambda single: 3 + single, SINGLE)
LANES = derived(lambda lane_bits: 1 << lane_bits, LANE_BITS)
LANE_MASK = derived(lambda lanes: lanes - 1, LANES)
MOST_LANE_BITS = 4
MAX_QUBITS = 40
"""More are refused before any size is computed: 2^40 amplitudes are 16 TiB."""
QUEUE_CAPACITY = 512
"""Waiting operations of a state; the queue is flushed when it is full."""
PLANNED_QUBITS = derived(lambda lane_bits: 9 + lane_bits, LANE_BITS)
"""States of fewer qubits are swept: 32 KiB of amplitudes fit the first-level cache."""
SMALLEST_GROUP = 4
"""Diagonal operations that are applied together: as much as three of them cost one by one."""
BLOCK_BYTES = 2 * size_of(vector)
ALIGNMENT = 64
"""Of amplitudes and of vectors in scratch memory, in bytes."""


class Operation(Record):
    """`matched` on bit `target` where `index & mask == value`, `otherwise` elsewhere.

    Matrices are 2x2, row-major, real and imaginary part alternating. An empty mask matches
    everywhere. With more than one bit in the mask, `otherwise` is the identity.
    """

    otherwise: Annotated[ptr[f64], 8]
    matched: Annotated[ptr[f64], 8]
    target: i64
    mask: i64
    value: i64
    is_live: i64
    """0 for an operation that was merged into a later one, or turned out to be the identity."""
    changes: i64
    """The target (and `flips`) as a mask, 0 where the matrices are diagonal; see `fusion`."""
    reads: i64
    """The other bits that it uses."""
    flips: i64
    """0, or the mask's one bit, which changes together with the target; see `parity_operations`."""
    word: i64
    """0, or the bits that a rotation about a Pauli word flips; see `tiles.words`."""
    signs: i64
    """Of such a rotation: the bits of Y and Z."""
    first: ptr[f64]
    last: ptr[f64]
    """The chain of `Factor`s that it is the product of (`captured`), or null."""
    unused: Annotated[ptr[i64], 5]
    """Whole lines of the cache, so that matrices are in one each."""


class State(Record):
    """A register of qubits."""

    qubits: i64
    blocks: i64
    amplitudes: ptr[vector]
    operations: ptr[Operation]
    waiting: i64
    """Number of queued operations, dead ones included."""
    last_change: Annotated[ptr[i64], MAX_QUBITS]
    """For each bit: index of the last waiting operation that changes it, or -1; see `fusion`."""
    last_read: Annotated[ptr[i64], MAX_QUBITS]
    """For each bit: index of the last waiting operation that reads it, or -1."""
    bit_of_wire: Annotated[ptr[i64], MAX_QUBITS]
    chunk_bits: i64
    """0, or the chunk size that a test asks for; see `plan.stages`."""
    plan: ptr[f64]
    plan_bytes: i64
    buffer: ptr[f64]
    buffer_bytes: i64
    """Memory for plans and chunks, made when first needed and then kept."""
    next: ptr[f64]
    previous: ptr[f64]
    """Neighbours in the list that begins in the call context, or null."""
    context: CallContext
    """Of the call that it belongs to, for what runs late and may be interrupted."""
    slots: i64
    """0, or how many states a test lets a sweep back keep; see `density_matrix.sweep`."""
    derivatives: i64
    """Derivative wires of a density matrix; see `density_matrix.state.digits`."""
    script: ptr[f64]
    """The `OutcomeScript` in which its measurements find their outcomes, or null."""
    support: i64
    """Bits that some amplitude that is not zero may have; all of them, unless the state is new."""
    spoilt: i64
    """1 where all amplitudes are NaN for good; see `checks`."""
    tape: ptr[f64]
    """The `Tape` on which its operations are kept, or null."""
    capture: ptr[f64]
    """The `Capture` that operations go into, instead of the queue, or null; see `captured`."""
    gates: i64
    """How many operations were pushed."""
    applied: i64
    """How many were applied, after fusion."""
    stages: i64
    """In how many walks over the amplitudes."""
    device: i64
    """0, or the address of the amplitudes in the memory of a GPU; see `device.residence`."""
    device_plan: i64
    device_plan_bytes: i64
    """There, too: what is to be launched."""
    residence: i64
    """Which amplitudes are the state's: those on the host, those there, or both."""
    site: i64
    """Where the state was made: what a GPU fails at, fails there."""
    has_any_norm: i64
    """1 where an operation leaves another norm than 1: the next flush normalises the state."""


class Term(Record):
    """A Pauli word with its masks and its coefficient times i^q; see `observables.pauli`."""

    x: i64
    z: i64
    real: f64
    imaginary: f64


class OutcomeScript(Record):
    """The memory of a body that is run several times; see `measure.outcome_scripts`."""

    mode: i64
    started: i64
    """Whether there has been a run."""
    position: i64
    """How many outcomes of the script this run has used."""
    length: i64
    capacity: i64
    drawing: i64
    """Whether this run has become so unlikely that the rest of its outcomes is drawn."""
    valid: i64
    """Whether this run has found all postselected outcomes."""
    rejected: i64
    """How many runs before this one, without a gap, were not valid."""
    site: i64
    wire: i64
    outcome: i64
    """Of the last postselection that failed."""
    weight: f64
    """The probability of this run's outcomes so far."""
    outcomes: ptr[i64]
    trajectories: ptr[f64]
    """The `Trajectories` that it runs, or null; see `measure.trajectories`."""
    next: ptr[f64]
    previous: ptr[f64]
    """Neighbours in the list that begins in the call context, or null."""
