"""What a launch is given: operations, tiles, and the words of each grid's kernel.

Amplitudes lie on a GPU as they do on the host (`state.records`), so that they are copied as they
are. *Places* number the bits of a stage first, as in a plan of the host (`tiles.plan_records`).
"""

from typing import Annotated

from diastase_engine.language import *

SLOT_BITS = 3
"""A thread has 2^3 amplitudes in registers."""
STAGE_BITS = 11
"""A block has 2^11 amplitudes in the memory that its threads share: 32 KiB in double precision."""
THREAD_BITS = STAGE_BITS - SLOT_BITS
THREADS = 1 << THREAD_BITS
MOST_BLOCKS = 1024
"""Of a kernel that adds up: each block gives one number, or two."""

DIAGONAL, TARGET, PARITY, WORD = range(4)
"""Kinds of operations: all that `state.records.Operation` can be."""


class DeviceOperation(Record):
    """An operation, prepared for a tile; of a word, for the whole state."""

    coefficients: Annotated[ptr[f64], 16]
    """Numbers as amplitudes have them: the matrix where the selectors do not match, then the one
    where they do. Of a word: the cosine, and the sine times g."""
    kind: i64
    mask: i64
    value: i64
    """Selectors that are no slots."""
    slot_mask: i64
    slot_value: i64
    """Those that are, as a mask of slots."""
    target: i64
    """The target as a mask of slots, if it is one."""
    row_mask: i64
    """Else as a mask of places: of a diagonal operation."""
    other: i64
    """Of a parity operation, the other bit that it flips, as a mask of slots; of a word, its z."""
    sums: i64
    """Of an operation that is undone: which of `adjoint.records.SUMS` are made, as a mask."""


class DeviceTile(Record):
    """Operations whose targets are among a few bits of a stage."""

    first: i64
    end: i64
    slots: Annotated[ptr[i64], SLOT_BITS]
    """Places, ascending."""
    row: i64
    rows: i64
    """Of operations that are undone: the first of their sums, and how many there are."""


class Stage(Record):
    """Words of `run_stage` and `undo_stage`: tiles on chunks of 2^size amplitudes."""

    numbers: ptr[stored]
    adjoint: ptr[stored]
    """Where operations are undone: the other register."""
    operations: ptr[DeviceOperation]
    tiles: ptr[DeviceTile]
    first: i64
    end: i64
    bits: i64
    size: i64
    upper: Annotated[ptr[i64], SLOT_BITS]
    """The bits, as masks, that are counted by the amplitudes of one thread."""
    chunks: i64
    stride: i64
    """Where operations are undone: how many chunks there are, and blocks; each has several."""
    sums: ptr[f64]
    rows: i64
    """Sums of each block, so many."""


class Words(Record):
    """Words of `rotate_words` and `undo_words`: rotations that flip the same bits."""

    numbers: ptr[stored]
    adjoint: ptr[stored]
    """Where they are undone: the other register."""
    operations: ptr[DeviceOperation]
    first: i64
    end: i64
    word: i64
    pivot: i64
    """The highest bit of the word."""
    pairs: i64
    stride: i64
    """Where they are undone: threads of all blocks; each has several pairs."""
    sums: ptr[f64]
    """Of each block, one for each rotation."""


class Sums(Record):
    """Words of kernels that add up, each block what every so-manieth amplitude gives."""

    numbers: ptr[stored]
    count: i64
    """Amplitudes."""
    stride: i64
    """Threads of all blocks."""
    mask: i64
    """The one bit by which weights are kept apart, or 0."""
    sums: ptr[f64]
    """Two for each block."""
    terms: ptr[f64]
    """`observables.pauli.Term`s."""
    n_terms: i64


class Scaling(Record):
    """Words of `multiply_all`."""

    numbers: ptr[stored]
    count: i64
    """Numbers, not amplitudes."""
    factor: f64


class Folding(Record):
    """Words of `write_weights` and `fold`."""

    numbers: ptr[stored]
    source: ptr[f64]
    target: ptr[f64]
    count: i64
    """Numbers that are written."""
    bit: i64
    """Over which `fold` adds up."""
