"""Rotations about long Pauli words undone on a state and its adjoint, with their derivatives.

Rows that follow each other on the tape and flip the same bits x are undone in one walk over pairs
of blocks of both registers, the last one first; see `tiles.words`. With T = -i P the rotation is
`cos + sin T`, its derivative `T / 2` times itself, so the derivative of the loss is half of
`Re <adjoint| T |state>`, both as they are after it. Sums belong to fixed parts of the walk.
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.device.kernels import MOST_WORDS
from diastase_engine.state_vector.adjoint.device.undo import undo_words_on_device
from diastase_engine.state_vector.adjoint.records import Backward
from diastase_engine.state_vector.adjoint.tape_replay import bits_of_wires
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.gates.matrices import cos, sin
from diastase_engine.state_vector.gates.pauli_rotations import (
    flipped_by,
    is_long_word,
    signs_of,
)
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import HEAD, KIND, MASK, VALUE, WIRES
from diastase_engine.state_vector.state.parallel import PARALLEL_QUBITS, is_interrupted
from diastase_engine.state_vector.state.records import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    Operation,
    State,
    free,
)
from diastase_engine.state_vector.tiles.parity import FLIPPED
from diastase_engine.state_vector.tiles.plan_records import TileOperation
from diastase_engine.state_vector.tiles.sweeps import next_block, spread
from diastase_engine.state_vector.tiles.words import (
    COSINE,
    PREPARED_VECTORS,
    SINES,
    UNITS,
    parity,
    pivot_of,
    prepare_word,
)
from diastase_engine.threads.loops import run_parallel

undone_there = if_gpu(undo_words_on_device)
MOST = MOST_WORDS
"""Rows that are undone in one walk."""
PARTS = 64
_OPERATION_WORDS = size_of(Operation) // 8


class WordsUndone(Record):
    """A walk that is being made."""

    state: ptr[vector]
    adjoint: ptr[vector]
    word: i64
    fixed: i64
    count: i64
    """Of its rows."""
    operations: ptr[TileOperation]
    pairs: i64
    """Of blocks, in each part."""
    sums: ptr[wide]
    """Of each part, one for each row."""


@kernel
def is_word_row(row: ptr[i64]) -> i1:
    """Whether a row of the tape is such a rotation."""
    return is_long_word(row[KIND], row[WIRES])


@kernel
def words_alike(state: State, rows: ptr[i64], last: i64) -> i64:
    """How many rows, the last of which begins at this place, can be undone together."""
    row = rows + last
    flipped = flipped_by(state, row[KIND], row + HEAD)
    count: i64 = 1
    place: i64 = last
    while place > 0 and count < MOST:
        place -= rows[place - 1]
        row = rows + place
        if not is_word_row(row) or flipped_by(state, row[KIND], row + HEAD) != flipped:
            return count
        count += 1
    return count


@inline
def partner_times(vectors: ptr[vector], u: vector, w: vector, imaginary: bool) -> list[vector]:
    """A coefficient times (u + iw), or i times that."""
    s = vectors[0]
    return [-(s * w), s * u] if imaginary else [s * u, s * w]


@inline
def partners(x: list[vector], lanes: list[int], paired: bool) -> list[vector]:
    """What the blocks of a pair, or one by itself, are mixed with."""
    last = 2 if paired else 0
    return [
        shuffle(x[last], lanes),
        shuffle(x[last + 1], lanes),
        shuffle(x[0], lanes),
        shuffle(x[1], lanes),
    ]


@inline
def undo_in_pair(
    x: list[vector],
    a: list[vector],
    run: WordsUndone,
    prepared: TileOperation,
    index: i64,
    sums: ptr[wide],
    lanes: list[int],
    paired: bool,
    imaginary: bool,
) -> None:
    """Undo a rotation on a pair of blocks of state `x` and adjoint `a`; add to its sum."""
    vectors = cast(prepared, ptr[vector])
    c = vectors[COSINE]
    far, far_adjoint = partners(x, lanes, paired), partners(a, lanes, paired)
    total = sums[0]
    for k in static(range(2 if paired else 1)):
        place = index ^ (run.word >> LANE_BITS) if k == 1 else index
        odd = parity(place, prepared.row_mask)
        t = partner_times(vectors + (UNITS + odd), far[2 * k], far[2 * k + 1], imaginary)
        total += widen(a[2 * k] * t[0]) + widen(a[2 * k + 1] * t[1])
        t = partner_times(vectors + (SINES + odd), far[2 * k], far[2 * k + 1], imaginary)
        x[2 * k], x[2 * k + 1] = c * x[2 * k] + t[0], c * x[2 * k + 1] + t[1]
        t = partner_times(
            vectors + (SINES + odd), far_adjoint[2 * k], far_adjoint[2 * k + 1], imaginary
        )
        a[2 * k], a[2 * k + 1] = c * a[2 * k] + t[0], c * a[2 * k + 1] + t[1]
    sums[0] = total


@inline
def undo_pairs(run: WordsUndone, part: i64, lanes: list[int], paired: bool) -> None:
    """Undo all rows on a part of the pairs."""
    x, a = registers(vector, 4), registers(vector, 4)
    state, adjoint = run.state, run.adjoint
    sums = run.sums + part * run.count
    for k in range(run.count):
        sums[k] = broadcast_wide(0.0)
    block: i64 = spread(part * run.pairs, ~run.fixed)
    for _ in range(run.pairs):
        p, q = 2 * block, 2 * (block ^ (run.word >> LANE_BITS))
        x[0], x[1], a[0], a[1] = state[p], state[p + 1], adjoint[p], adjoint[p + 1]
        if paired:
            x[2], x[3], a[2], a[3] = state[q], state[q + 1], adjoint[q], adjoint[q + 1]
        for k in range(run.count):
            prepared = run.operations[k]
            if block & prepared.outer_mask == prepared.outer_value:
                if prepared.code == 1:
                    undo_in_pair(x, a, run, prepared, block, sums + k, lanes, paired, True)
                else:
                    undo_in_pair(x, a, run, prepared, block, sums + k, lanes, paired, False)
        state[p], state[p + 1], adjoint[p], adjoint[p + 1] = x[0], x[1], a[0], a[1]
        if paired:
            state[q], state[q + 1], adjoint[q], adjoint[q + 1] = x[2], x[3], a[2], a[3]
        block = next_block(block, run.fixed)


@kernel
def undo_parts(argument: ptr[f64], first: i64, last: i64, worker: i64) -> None:
    """Make some parts of a walk; `argument` is a `WordsUndone`."""
    run = cast(argument, WordsUndone)
    for part in range(first, last):
        for lanes in static(range(LANES)):
            if run.word & LANE_MASK == lanes:
                if run.fixed != 0:
                    undo_pairs(run, part, FLIPPED[lanes], True)
                else:
                    undo_pairs(run, part, FLIPPED[lanes], False)


@kernel
def set_undoing(state: State, row: ptr[i64], operation: Operation) -> None:
    """Write the rotation that undoes a row."""
    kind, count, wires = row[KIND], row[WIRES], row + HEAD
    angle = cast(wires + count, ptr[f64])[0]
    operation.word = flipped_by(state, kind, wires)
    operation.signs = signs_of(state, kind, count, wires)
    operation.matched[0], operation.matched[1] = cos(0.5 * angle), -sin(0.5 * angle)
    operation.mask = bits_of_wires(state, row[MASK])
    operation.value = bits_of_wires(state, row[VALUE])


@kernel
def undo_walking(
    state: State, adjoint: State, operations: ptr[Operation], count: i64, results: ptr[f64]
) -> None:
    """Undo rotations that flip the same bits, in this order; write `Re <adjoint| T |state>`."""
    walk = stack_record(WordsUndone)
    prepared = cast(stack_array(vector, MOST * PREPARED_VECTORS), ptr[TileOperation])
    for k in range(count):
        each = operations[k]
        prepare_word(each, each.signs, each.mask, each.value, prepared[k])
    walk.state, walk.adjoint = state.amplitudes, adjoint.amplitudes
    walk.word = operations[0].word
    walk.fixed = pivot_of(walk.word)
    walk.operations, walk.count = prepared, count
    pairs = state.blocks >> (1 if walk.fixed != 0 else 0)
    parts: i64 = PARTS if pairs > PARTS else pairs
    walk.pairs = pairs >> count_trailing_zeros(parts)
    for k in range(count):
        results[k] = 0.0
    memory = allocate(state.context, state.site, 8 * LANES * parts * count)
    if is_null(memory):
        return
    walk.sums = cast(memory, ptr[wide])
    if not is_interrupted(state):
        if state.qubits < PARALLEL_QUBITS:
            undo_parts(cast(walk, ptr[f64]), 0, parts, 0)
        else:
            run_parallel(code_of(undo_parts), cast(walk, ptr[f64]), parts, 1)
        for k in range(count):
            for part in range(parts):
                results[k] = results[k] + horizontal_sum(walk.sums[part * count + k])
    free(memory)


@kernel
def undo_words(run: Backward, rows: ptr[i64], last: i64, count: i64, results: ptr[f64]) -> None:
    """Undo `count` rows, the last of which begins at a place; `results` is for the last one.

    Both registers have no waiting operations, and the same bits for all wires.
    """
    state = run.state
    memory, sums = stack_array(i64, MOST * _OPERATION_WORDS), stack_array(f64, MOST)
    operations = cast(memory, ptr[Operation])
    place: i64 = last
    for k in range(count):
        set_undoing(state, rows + place, operations[k])
        place -= rows[place - 1] if k < count - 1 else 0
    if GPU == 1:
        undone_there(state, run.adjoint, operations, count, sums)
    else:
        undo_walking(state, run.adjoint, operations, count, sums)
    for k in range(count):
        results[-k] = results[-k] + 0.5 * sums[k]
