"""Memory layout of a sweep back; see `backward`."""

from typing import Annotated

from diastase_mlir.kernels.language import Record, f64, i64, ptr, vector
from diastase_mlir.kernels.state_vector.captured import Capture
from diastase_mlir.kernels.state_vector.plan_records import Plan
from diastase_mlir.kernels.state_vector.records import CallContext, State

MOMENTS = 16
"""Numbers of an operation: `sum conj(adjoint[a]) state[b]` as a complex 2x2 matrix, for amplitudes
where its selectors do not match and where they do."""


class Undone(Record):
    """A fused operation that is undone."""

    target: i64
    mask: i64
    value: i64
    """In places of the stage, once that is known; before that in bits."""
    changes: i64
    reads: i64
    factor_mask: i64
    """Its mask where its factors are: wires may have changed their names since."""
    first: ptr[f64]
    """The first of its factors."""
    wants_otherwise: i64
    wants_matched: i64
    """Whether a derivative depends on it."""
    keeps_otherwise: i64
    keeps_matched: i64
    """Whether nothing happens there."""
    is_real: i64
    otherwise: Annotated[ptr[f64], 8]
    matched: Annotated[ptr[f64], 8]
    """The adjoint matrices."""


class Backward(Record):
    """A sweep back."""

    context: CallContext
    state: State
    adjoint: State
    shadow: State
    """A state without amplitudes, on which operations are captured and fused."""
    capture: Capture
    site: i64
    results: ptr[f64]
    undone: ptr[Undone]
    count: i64
    undone_bytes: i64
    operations_bytes: i64
    plan: Plan
    plan_memory: ptr[f64]
    plan_bytes: i64
    order: ptr[i64]
    """Indices of operations, stage after stage."""
    ends: ptr[i64]
    """For each stage, where it ends in `order`."""
    stage_bits: ptr[i64]
    stages: i64
    stage: i64
    """The one that is being run."""
    chunk_bits: i64
    groups: i64
    """Groups of chunks, each with moments of its own, whatever the number of threads."""
    moments: ptr[f64]
    moments_bytes: i64
    prefixes: ptr[f64]
    prefixes_bytes: i64
    buffers: ptr[vector]
    buffers_bytes: i64
