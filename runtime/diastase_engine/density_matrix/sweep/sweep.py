"""The sweep back: derivatives of a loss by all that is on a tape.

In: a state that has been recorded since it had the tape's `start`, and its adjoint a, such that a
change dr of the state's numbers changes the loss by `a . dr`. Out: derivatives, in the order of
execution. Both registers are at the beginning of the tape then.

States before breaks (`rows`) come out of *slots*, memory for whole states within `BUDGET`. Where
there are fewer slots than breaks, the tape is halved: the second half is swept with the state
between the halves in a slot, then the first. So memory is bounded, and each halving costs one more
run. In the last slot, the state before each break is computed from it.
"""

from math import nan

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.gates.gate_factors import MOST_NUMBERS
from diastase_engine.density_matrix.gates.kept import SUPEROPERATOR
from diastase_engine.density_matrix.operations.apply import flush
from diastase_engine.density_matrix.operations.conjugation import Factor
from diastase_engine.density_matrix.readout.linear_algebra import can_meet
from diastase_engine.density_matrix.state.digits import MAX_WIRES
from diastase_engine.density_matrix.sweep.gradients import conjugation_derivatives
from diastase_engine.density_matrix.sweep.real import undo_put, undo_superoperator
from diastase_engine.density_matrix.sweep.rows import (
    conjugate_checked,
    is_break,
    is_conjugation,
    mark_breaks,
    read_factor,
    replay,
    words_of,
    write_parameters,
)
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import MOST_PARAMETERS
from diastase_engine.state_vector.queue import tape as tapes
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import (
    DERIVATIVES,
    KIND,
    PHASE,
    Tape,
)
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.parallel import write_bulk
from diastase_engine.state_vector.state.records import BLOCK_BYTES, State, free

BUDGET = 1 << 28
"""Bytes of all slots."""
FEWEST_SLOTS = 4

tape_record_rows = tapes.tape_record


class Sweep(Record):
    """A sweep that is under way."""

    context: CallContext
    state: State
    adjoint: State
    site: i64
    rows: ptr[i64]
    results: ptr[f64]
    number: i64
    """Of the derivatives of what has not been undone."""
    start: ptr[f64]
    kept: ptr[f64]
    """The states in slots 1, 2, ...; slot 0 is `start`."""
    slots: i64
    bytes: i64
    """Of one state."""
    factor: Factor
    room: ptr[f64]


@kernel
def tape_record(context: CallContext, state: State, site: i64) -> None:
    """Keep all operations from now on, and the state as it is."""
    if cannot_run(context, state) or not is_null(state.tape):
        return
    flush(state)
    size = state.blocks * BLOCK_BYTES
    start = allocate(context, site, size)
    if is_null(start):
        return
    write_bulk(start, cast(state.amplitudes, ptr[f64]), size)
    tape_record_rows(context, state, site)
    if is_null(state.tape):
        free(start)
    else:
        cast(state.tape, Tape).start = start


@inline
def slot(run: Sweep, k: i64) -> ptr[f64]:
    """The memory of a slot."""
    return run.start if k == 0 else run.kept + (k - 1) * (run.bytes >> 3)


@kernel
def load(run: Sweep, k: i64) -> None:
    """Give the state the numbers of a slot."""
    run.state.waiting = 0
    write_bulk(cast(run.state.amplitudes, ptr[f64]), slot(run, k), run.bytes)


@kernel
def save(run: Sweep, k: i64) -> None:
    """Keep the state's numbers in a slot."""
    flush(run.state)
    write_bulk(slot(run, k), cast(run.state.amplitudes, ptr[f64]), run.bytes)


@kernel
def place_of_break(run: Sweep, first: i64, end: i64, which: i64) -> i64:
    """The row of a break, counted from 0; how many there are, less than -1, where it is none."""
    place: i64 = first
    found: i64 = 0
    while place < end:
        row = run.rows + place
        if is_break(row):
            if found == which:
                return place
            found += 1
        place += words_of(row)
    return -1 - found


@kernel
def run_forward(run: Sweep, first: i64, end: i64, slots: i64) -> None:
    """Do rows again; states before breaks go into slots from this one on, unless it is -1."""
    place: i64 = first
    free_slot: i64 = slots
    while place < end and run.context.code == 0:
        row = run.rows + place
        if slots >= 0 and is_break(row):
            save(run, free_slot)
            free_slot += 1
        replay(run.context, run.state, run.site, row, run.factor, run.room)
        place += words_of(row)


@kernel
def undo_row(run: Sweep, row: ptr[i64], broken: i64) -> None:
    """Undo one row; the state before a break is there."""
    context, state, adjoint, site = run.context, run.state, run.adjoint, run.site
    run.number -= row[DERIVATIVES]
    results = run.results + run.number
    if is_conjugation(row):
        p, wires, factor = (
            stack_array(f64, MOST_PARAMETERS),
            stack_array(i64, MAX_WIRES),
            run.factor,
        )
        write_parameters(row, p)
        factor.numbers = run.room
        read_factor(state, row, p, factor, wires)
        factor.adjoint = 1
        if broken == 0:
            conjugate_checked(context, state, site, wires, factor)
        if row[DERIVATIVES] != 0:
            factor.adjoint = 0
            conjugation_derivatives(context, state, adjoint, site, row, wires, factor, results)
            factor.adjoint = 1
        conjugate_checked(context, adjoint, site, wires, factor)
    elif row[KIND] == SUPEROPERATOR:
        undo_superoperator(context, state, adjoint, site, row, broken, results)
    elif row[KIND] != PHASE:
        undo_put(context, state, adjoint, site, row, results)


@kernel
def sweep_rows(run: Sweep, first: i64, end: i64, slots: i64) -> None:
    """Undo rows, before which the state is in a slot; those after it are free."""
    breaks = -1 - place_of_break(run, first, end, -1)
    free_slots = run.slots - slots - 1
    if breaks > free_slots and breaks > 1 and free_slots > 0:
        middle = place_of_break(run, first, end, breaks >> 1)
        load(run, slots)
        run_forward(run, first, middle, -1)
        save(run, slots + 1)
        sweep_rows(run, middle, end, slots + 1)
        sweep_rows(run, first, middle, slots)
        return
    are_saved = breaks <= free_slots
    load(run, slots)
    run_forward(run, first, end, slots + 1 if are_saved else -1)
    place: i64 = end
    left: i64 = breaks
    while place > first and run.context.code == 0:
        place -= run.rows[place - 1]
        row = run.rows + place
        broken: i64 = 0
        if is_break(row):
            broken = 1
            if are_saved:
                load(run, slots + left)
            else:
                load(run, slots)
                run_forward(run, first, place, -1)
            left -= 1
        undo_row(run, row, broken)


@kernel
def tape_sweep(
    context: CallContext, state: State, adjoint: State, site: i64, size: i64, results: ptr[f64]
) -> None:
    """Write `size` derivatives, those of the tape and then zeros; undoes all that is on it."""
    for k in range(size):
        results[k] = 0.0
    if cannot_run(context, state) or is_null(adjoint) or is_null(state.tape):
        return
    tape = cast(state.tape, Tape)
    if tape.derivatives > size or not can_meet(context, state, adjoint, site):
        return
    run, factor = stack_record(Sweep), stack_record(Factor)
    run.context, run.state, run.adjoint, run.site = context, state, adjoint, site
    run.rows, run.results, run.number = tape.rows, results, tape.derivatives
    run.start, run.kept, run.bytes = tape.start, null(ptr[f64]), state.blocks * BLOCK_BYTES
    run.factor, run.room = factor, stack_array(f64, MOST_NUMBERS)
    mark_breaks(context, state, site, tape.rows, tape.used)
    breaks = -1 - place_of_break(run, 0, tape.used, -1)
    most: i64 = BUDGET >> count_trailing_zeros(run.bytes)
    if most < FEWEST_SLOTS:
        most = FEWEST_SLOTS
    if state.slots > 0:
        most = state.slots
    run.slots = breaks + 1 if breaks < most else most
    if run.slots > 1:
        run.kept = allocate(context, site, (run.slots - 1) * run.bytes)
    kept = state.tape
    state.tape = null(ptr[f64])  # What undoes is not kept.
    if context.code == 0 and state.spoilt == 0 and adjoint.spoilt == 0:
        sweep_rows(run, 0, tape.used, 0)
    state.tape = kept
    if state.spoilt != 0 or adjoint.spoilt != 0:
        for k in range(tape.derivatives):
            results[k] = nan
    tape.used, tape.derivatives = 0, 0
    free(run.kept)
