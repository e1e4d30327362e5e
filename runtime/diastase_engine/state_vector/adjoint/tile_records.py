"""Memory layout of steps: what the operations of a part are undone by, and of tiles among them."""

from typing import Annotated

from diastase_engine.language import *
from diastase_engine.state_vector.tiles.plan_records import SLOTS

BOTH_SLOTS = derived(lambda slots: 2 if slots == 3 else 1, SLOTS)
"""Of a tile of both registers: half as many blocks of each as a tile of one has."""
MOST_SLOTS = 2
MOST_IN_TILE = 16
SET_VECTORS = 10
"""Coefficients of a side: a matrix, then cosine and sine of a phase."""

ALONE, DIAGONAL_RUN, IN_TILE = range(3)
NOTHING = -1


class Step(Record):
    """Operations `begin` to `end` of a part's order, undone together; the last step comes first."""

    kind: i64
    begin: i64
    end: i64
    prepared: i64
    """Where a tile's operations are among those that are prepared."""
    slots: Annotated[ptr[i64], MOST_SLOTS]
    """Places of a tile's slots in block indices, ascending."""
    fixed: i64
    """The slots as a mask."""
    has_run: i64
    """Whether the next step is a diagonal run, undone together with this one."""


class TileUndone(Record):
    """An operation, prepared for the registers of a tile; see `tiles`."""

    coefficients: Annotated[ptr[f64], 2 * SET_VECTORS * size_of(vector) // 8]
    """Vectors of blocks that are not selected, then of those that are."""
    outer_mask: i64
    outer_value: i64
    """Selectors outside of the tile, on the block index in places."""
    slot_match: i64
    """For each block of the tile, a bit: whether selectors on slots match."""
    codes: Annotated[ptr[i64], 2]
    """What is to be done where the selectors outside do not match, and where they do."""
    variants: Annotated[ptr[i64], 2]
    """What is to be done with a pair of blocks of either side."""
    used: i64
    """For each of the `SUMS`, a bit: whether it is needed."""
    unused: Annotated[ptr[i64], 8]
    """Whole lines of the cache."""


class RunUndone(Record):
    """A diagonal operation, prepared for the pieces of its part, in the place of a `TileUndone`."""

    coefficients: Annotated[ptr[f64], 8 * size_of(vector) // 8]
    """Real and imaginary parts, for blocks that are not selected, zero and one, then for others."""
    inner_mask: i64
    inner_value: i64
    """Selectors on the blocks of a piece."""
    outer_mask: i64
    outer_value: i64
    """Those on other bits of the block index in places."""
    inner_row: i64
    outer_row: i64
    """The target, if it is no lane, likewise."""
    size: i64
    """After so many blocks of a piece it is the same again."""
    wants: Annotated[ptr[i64], 2]
    """Whether a derivative depends on either side."""
