"""Memory layout of a sweep back; see `sweep`."""

from typing import Annotated

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.tile_records import Step, TileUndone
from diastase_engine.state_vector.operations.captured import Capture
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.tiles.plan_records import Plan

BY_X, BY_Y, BY_ZERO, BY_ONE = range(4)
"""What is summed up for each side of an operation: `Im <adjoint| P |state>`, on all amplitudes that
the side is about, for P = X and Y at its target, and for the projectors on its zero and its one."""
SIDE_SUMS = 4
SUMS = 2 * SIDE_SUMS
"""Sums of an operation: where its selectors do not match, then where they do."""
UNDO_BITS = 10
"""Of a GPU: a block has 2^10 amplitudes of each register, 32 KiB in double precision."""
UNDO_SLOTS = 2
"""There a thread has 2^2 of each in registers."""


class Undone(Record):
    """A fused operation that is undone; see `forms`."""

    target: i64
    mask: i64
    value: i64
    """In places of the part, once that is known; before that in bits."""
    changes: i64
    reads: i64
    factor_mask: i64
    """Its mask where its factors are: wires may have changed their names since."""
    first: ptr[f64]
    last: ptr[f64]
    """The ends of the chain of its factors."""
    wants_otherwise: i64
    wants_matched: i64
    """Whether a derivative depends on it."""
    keeps_otherwise: i64
    keeps_matched: i64
    """Whether nothing happens there."""
    form: i64
    otherwise: Annotated[ptr[f64], 8]
    matched: Annotated[ptr[f64], 8]
    """The adjoint matrices, without the phases."""
    phases: Annotated[ptr[f64], 4]
    """Of the ones, on either side: cosine and sine."""
    turned: Annotated[ptr[i64], 2]
    """Whether a side's ones are its zeros: rows and columns of its matrix are exchanged."""
    weight: f64
    """What its sums are multiplied by; see `ratios`."""
    size: i64
    """Of a diagonal operation: after so many blocks of a piece it is the same again."""


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
    """Indices of operations, part after part."""
    ends: ptr[i64]
    """For each part, where it ends in `order`."""
    part_bits: ptr[i64]
    """For each part, its bits as a mask, in a chunk of its stage."""
    stage_ends: ptr[i64]
    """For each stage, which is the first part behind it."""
    stage_bits: ptr[i64]
    stages: i64
    stage: i64
    """The one that is being run."""
    first_part: i64
    """Its first part."""
    chunk_bits: i64
    steps: ptr[Step]
    """Of the stage that is being run; see `tile_plan`."""
    step_count: i64
    step_ends: ptr[i64]
    """For each part, where its steps end."""
    prepared: ptr[TileUndone]
    """For each operation of the stage."""
    most_in_stage: i64
    step_memory: ptr[f64]
    step_bytes: i64
    most: i64
    """The most operations of any part."""
    groups: i64
    """Groups of chunks, each with sums of its own, whatever the number of threads."""
    moments: ptr[f64]
    """Sums of each group and operation."""
    moments_bytes: i64
    work: ptr[f64]
    """For each worker two chunks, two pieces, sums in the lanes of vectors, and what diagonal runs
    need."""
    work_bytes: i64
    worker_words: i64


class Work(Record):
    """What a worker has, and where it is."""

    run: Backward
    chunk: ptr[vector]
    """Of the state; that of the adjoint follows."""
    piece: ptr[vector]
    sums: ptr[wide]
    phases: ptr[vector]
    values: ptr[vector]
    """See `diagonal_runs`."""
    partials: ptr[vector]
    """Sums of a tile's operations, in the precision of amplitudes."""
    part: i64
    first: i64
    """Where the stage begins in the order of all operations."""
    group: i64


class Pass(Record):
    """A pass over some blocks of two chunks."""

    state: ptr[vector]
    adjoint: ptr[vector]
    operation: Undone
    all_sums: ptr[wide]
    """Of the operation."""
    sums: ptr[wide]
    """Of the side that the pass is for."""
    fixed: i64
    value: i64
    """Block bits that do not change, and what they are."""
    blocks: i64
    """How many blocks a chunk has."""
    lane_mask: i64
    lane_value: i64
    row: i64
    """The row of a diagonal matrix, where its target is no lane."""
    turned: i64
    """Whether zero and one are exchanged."""
