"""Memory layout of a plan: how the waiting operations are applied, few at a time.

A plan is a list of *stages*, a stage a list of *tiles*, a tile a list of *tile operations*.

* A stage runs on parts of the state that lie in the second-level cache. Usually a part is a
  *chunk*: the 2^bits amplitudes that agree in all bits that are not the stage's, copied to a
  buffer and back. A stage of one tile, or of all bits, works in place.
* A tile runs on parts that lie in registers: the lanes of 2^SLOTS blocks, which differ in
  the tile's *slot* bits.

*Places*: inside a part of a stage the stage's bits are numbered from 0 in their order, so that the
chunk is contiguous, and the others follow. A block index in places (`base | block`) therefore says
everything about where an amplitude is, and selectors outside the tile are tested on it.
"""

from typing import Annotated

from diastase_engine.language import *
from diastase_engine.state_vector.state.records import MAX_QUBITS

SLOTS = setting("slots")
CHUNK_BITS = setting("chunk_bits")
MAX_SLOTS = 3
SET_VECTORS = 8
"""Coefficient vectors of a tile operation where its selectors match, and as many elsewhere."""


class TileOperation(Record):
    """An operation, prepared for the registers of a tile; see `tile_operations`."""

    coefficients: Annotated[ptr[f64], 2 * SET_VECTORS * size_of(vector) // 8]
    """Vectors: first for amplitudes that are not selected, then for those that are; or a table,
    with two for each of up to 2^MAX_SLOTS blocks (`diagonal_groups`)."""
    code: i64
    """Which of the cases of `tiles`."""
    outer_mask: i64
    outer_value: i64
    """Selectors outside the tile, on the block index in places."""
    row_mask: i64
    """The target of a diagonal operation where it is outside the tile, else 0."""
    slot_match: i64
    """For each block of the tile, a bit: whether selectors on slots match."""
    slot_row: i64
    """For each block of the tile, a bit: the target of a diagonal operation on a slot."""
    skips: i64
    """Bit `2 * matches + row`: whether nothing is to be done there."""
    operation: i64
    """Index of the waiting operation; -1 where it is not of a single one."""


class Tile(Record):
    """Tile operations `first` to `end`, on blocks that differ in the slot bits."""

    first: i64
    end: i64
    slots: Annotated[ptr[i64], MAX_SLOTS]
    """Places of the slots in block indices, ascending."""
    fixed: i64
    """All block bits that do not count groups of blocks: the slots, and what is zero in a state
    that is still new where the stage works in place."""
    groups: i64
    word: i64
    """0, or the bits that all of its operations flip, in places: it then has no slots, but pairs of
    blocks; see `words`."""
    far_word: i64
    far_slots: Annotated[ptr[i64], MAX_SLOTS]
    far_fixed: i64
    """The same for blocks that are not in a buffer but where the state has them."""


class Stage(Record):
    """Tiles `first` to `end`, on parts of the state that do not depend on each other."""

    first: i64
    end: i64
    bits: i64
    """The stage's bits as a mask, the lanes among them."""
    parts: i64
    in_place: i64
    single: i64
    """Index of the waiting operation where there is but one, which is swept, else -1."""


class Plan(Record):
    """Stages in order, and the lists from which they are made."""

    stages: ptr[Stage]
    tiles: ptr[Tile]
    operations: ptr[TileOperation]
    stage_count: i64
    tile_count: i64
    operation_count: i64
    targets: ptr[i64]
    """For each waiting operation its target as a mask; none for a diagonal one."""
    selectors: ptr[i64]
    """For each waiting operation the bits that it only reads."""
    words: ptr[i64]
    """For each waiting operation the bits of a Pauli word, else 0."""
    pending: ptr[i64]
    of_stage: ptr[i64]
    of_tile: ptr[i64]
    """Indices of waiting operations: not in a stage yet, not in a tile yet, in this tile."""
    listed: i64
    """How many waiting operations there are."""
    bits: i64
    """The bits of the last pick."""
    left: i64
    """How many operations the last pick left."""
    chunk_bits: i64
    support: i64
    """Bits that may be one where an amplitude is not zero; see `records.State`."""
    place: Annotated[ptr[i64], MAX_QUBITS]
    """For each bit its place in the stage that is being planned."""
