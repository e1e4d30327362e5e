"""Diagonal operations that follow each other in a part, undone on a piece together.

All of them multiply state and adjoint by the same phases, so `v = Im conj(adjoint) state` is the
same before and after each: their sums are sums of one set of *values* v, and what is done to the
amplitudes is one product with the *phases* of all. Both are made apart from the amplitudes. An
operation repeats itself after `size` blocks, twice its highest bit in the piece, so it is

- multiplied into the phases of so many blocks, which are then doubled for operations of larger
  size: the smallest first;
- given the sum of the values of so many blocks, to which those of the others have been added: the
  largest first.

A layer of ZZ rotations, each of which would walk through both pieces, costs a few such walks.
Operations in a run are in the order of their sizes (`sort_runs`).
"""

from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.passes import undo
from diastase_engine.state_vector.adjoint.records import (
    PHASES,
    SUMS,
    UNDO,
    VALUES,
    Backward,
    Pass,
    Undone,
    Work,
)
from diastase_engine.state_vector.state.records import LANE_BITS

SHORTEST = 3
"""Fewer are undone one by one."""


@kernel
def size_in_piece(operation: Undone, blocks: i64) -> i64:
    """After how many blocks of a piece an operation is the same again."""
    bits = ((operation.mask | (1 << operation.target)) >> LANE_BITS) & (blocks - 1)
    size: i64 = 1
    while size <= bits:
        size <<= 1
    return size


@kernel
def sort_runs(run: Backward, part: i64, blocks: i64) -> None:
    """Put the operations of each run in a part into the order of their sizes."""
    first = run.ends[part - 1] if part > 0 else 0
    for k in range(first, run.ends[part]):
        index = run.order[k]
        operation = run.undone[index]
        operation.size = size_in_piece(operation, blocks)
        place: i64 = k
        while (
            operation.changes == 0
            and place > first
            and run.undone[run.order[place - 1]].changes == 0
            and run.undone[run.order[place - 1]].size > operation.size
        ):
            run.order[place] = run.order[place - 1]
            place -= 1
        run.order[place] = index


@kernel
def run_begins(run: Backward, first: i64, last: i64) -> i64:
    """The first operation of the run that ends with `last`, in a part from `first` on."""
    place: i64 = last
    while place >= first and run.undone[run.order[place]].changes == 0:
        place -= 1
    return place + 1


@kernel
def double(phases: ptr[vector], size: i64) -> None:
    """Repeat the phases of so many blocks."""
    for k in range(2 * size):
        phases[2 * size + k] = phases[k]


@kernel
def fold(values: ptr[wide], size: i64) -> None:
    """Add the second half of the values of so many blocks to the first."""
    half = size >> 1
    for k in range(half):
        values[k] = values[k] + values[half + k]


@kernel
def multiply_all(each: Pass, phases: ptr[vector], values: ptr[wide]) -> None:
    """Multiply state and adjoint by the phases, and write the values."""
    state, adjoint = each.state, each.adjoint
    for block in range(each.blocks):
        p = 2 * block
        a, b = phases[p], phases[p + 1]
        x, y, l, m = state[p], state[p + 1], adjoint[p], adjoint[p + 1]  # noqa: E741
        values[block] = widen(l * y - m * x)
        state[p], state[p + 1] = x * a - y * b, x * b + y * a
        adjoint[p], adjoint[p + 1] = l * a - m * b, l * b + m * a


@kernel
def undo_run(work: Work, each: Pass, first: i64, begin: i64, last: i64, base: i64) -> None:
    """Undo the operations `begin` to `last` of a part that begins at `first`."""
    run, blocks, state = work.run, each.blocks, each.state
    phases, values = work.phases, work.values
    phases[0], phases[1] = broadcast(1.0), broadcast(0.0)
    each.purpose, each.state, each.blocks = PHASES, phases, 1
    for k in range(begin, last + 1):
        each.operation = run.undone[run.order[k]]
        while each.blocks < each.operation.size:
            double(phases, each.blocks)
            each.blocks <<= 1
        each.all_sums = work.sums + SUMS * (k - first)
        undo(each, base)
    while each.blocks < blocks:
        double(phases, each.blocks)
        each.blocks <<= 1
    each.state = state
    multiply_all(each, phases, values)
    each.purpose, each.values = VALUES, values
    k: i64 = last
    while k >= begin:
        each.operation = run.undone[run.order[k]]
        if each.operation.wants_matched | each.operation.wants_otherwise != 0:
            while each.blocks > each.operation.size:
                fold(values, each.blocks)
                each.blocks >>= 1
            each.all_sums = work.sums + SUMS * (k - first)
            undo(each, base)
        k -= 1
    each.purpose, each.blocks = UNDO, blocks
