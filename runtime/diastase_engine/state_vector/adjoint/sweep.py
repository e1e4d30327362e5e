"""The sweep back: derivatives of a loss by the parameters of everything on a tape.

In: a state that has been recorded (`queue.tape`), and its *adjoint*, a register A such that a
change dS of the state changes the loss by `Re <A|dS>`. Out: the derivatives, in the order in which
the operations were executed. Both registers are taken back to the beginning of the tape (but for a
phase, which is the same for both), many operations at a time: rows are captured again
(`tape_replay`), fused (`forms`), divided into stages (`plan`) and undone (`run`, `passes`), and
what was summed up on the way gives the derivatives by all parameters (`add_derivatives`).
Operations that are given by arrays are undone one by one (`arrays`), rotations about long Pauli
words together with their like (`words`). On a GPU the same rows are undone there (`device`).

Source: Jones and Gacon, "Efficient calculation of gradients in classical simulations of variational
quantum algorithms" (2020), for the sweep; the fusion is ours.

*Derivatives* by all parameters that were fused into an operation come from what was summed up. With
U = L F R, where F is a factor, the derivative by a parameter of F is `Re <A| dU U^+ |S>`, with A
and S as they are after U; and `dU U^+ = L dF F^+ L^+`. So with N the sum of `|S><A|` at the
operation's target it is `Re trace(dF F^+ N')` for `N' = L^+ N L`, which goes through the factors
from the last to the first. Only the anti-Hermitian part of N counts, which is what was summed up.
This is small work, whatever the size of the state.
"""

from math import nan

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.adjoint.arrays import is_undone_alone, undo_array
from diastase_engine.state_vector.adjoint.device.undo import undo_on_device
from diastase_engine.state_vector.adjoint.forms import (
    change_of,
    fuse,
    side_of,
    turn,
    write_adjoint_of,
)
from diastase_engine.state_vector.adjoint.plan import plan_backward
from diastase_engine.state_vector.adjoint.records import (
    BY_ONE,
    BY_X,
    BY_Y,
    BY_ZERO,
    SIDE_SUMS,
    SUMS,
    Backward,
    Undone,
)
from diastase_engine.state_vector.adjoint.run import run_backward
from diastase_engine.state_vector.adjoint.tape_replay import capture_row
from diastase_engine.state_vector.adjoint.words import is_word_row, undo_words, words_alike
from diastase_engine.state_vector.device.residence import GPU, if_gpu
from diastase_engine.state_vector.observables.linear_algebra import can_meet_unmoved
from diastase_engine.state_vector.operations.captured import Capture, Factor
from diastase_engine.state_vector.queue.tape import DERIVATIVES, HEAD, NUMBERS, WIRES, Tape
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import MAX_QUBITS, State, free, memset
from diastase_engine.state_vector.state.small_matrices import multiply


@kernel
def trace_of_product(left: ptr[f64], right: ptr[f64]) -> f64:
    """Re trace(left right)."""
    total: f64 = 0.0
    for row in static(range(2)):
        for column in static(range(2)):
            a, b = left[4 * row + 2 * column], left[4 * row + 2 * column + 1]
            x, y = right[4 * column + 2 * row], right[4 * column + 2 * row + 1]
            total += a * x - b * y
    return total


@kernel
def write_moment(moments: ptr[f64], phases: ptr[f64], result: ptr[f64]) -> None:
    """Write the anti-Hermitian part of N, as it is after the phases."""
    x, y = 0.5 * moments[BY_X], 0.5 * moments[BY_Y]
    c, s = phases[0], phases[1]
    result[0], result[1] = 0.0, moments[BY_ZERO]
    result[2], result[3] = y * c + x * s, x * c - y * s
    result[4], result[5] = -(y * c + x * s), x * c - y * s
    result[6], result[7] = 0.0, moments[BY_ONE]


@kernel
def add_side(run: Backward, undone: Undone, matched: i64, moments: ptr[f64]) -> None:
    """Add what one side of an operation gives to the results."""
    mask = undone.factor_mask
    moment, work = stack_array(f64, 8), stack_array(f64, 8)
    inverse = stack_array(f64, 8)
    write_moment(moments, undone.phases + 2 * matched, moment)
    if undone.turned[matched] != 0:
        turn(moment)
    place: ptr[f64] = undone.last
    while not is_null(place):
        factor = cast(place, Factor)
        matrix = side_of(factor, mask, matched != 0)
        write_adjoint_of(matrix, inverse)
        multiply(inverse, moment, work)
        for k in range(factor.parameters):
            change = change_of(run.capture, factor, k, mask, matched != 0)
            number = factor.parameter + k
            run.results[number] = run.results[number] + trace_of_product(change, work)
        multiply(work, matrix, moment)
        place = factor.previous


@kernel
def add_derivatives(run: Backward) -> None:
    """Add the derivatives by all parameters that were captured."""
    total = stack_array(f64, SUMS)
    for index in range(run.count):
        undone = run.undone[index]
        for k in static(range(SUMS)):
            total[k] = 0.0
        for group in range(run.groups):
            moments = run.moments + (group * run.count + index) * SUMS
            for k in static(range(SUMS)):
                total[k] = total[k] + moments[k]
        for k in static(range(SUMS)):
            total[k] = total[k] * undone.weight
        if undone.wants_matched != 0:
            add_side(run, undone, 1, total + SIDE_SUMS)
        if undone.factor_mask != 0 and undone.wants_otherwise != 0:
            add_side(run, undone, 0, total)


undone_there = if_gpu(undo_on_device)


@kernel
def undo_fused(run: Backward) -> i1:
    """Undo all fused operations, wherever the amplitudes are; false without memory for a plan."""
    if GPU == 1:
        return undone_there(run)
    if not plan_backward(run):
        return False
    run_backward(run)
    return True


MOST_ROWS = 1024
"""Rows that are captured, fused and undone together, at most."""


@kernel
def undo_rows(run: Backward, rows: ptr[i64], first: i64, end: i64, parameter: i64) -> None:
    """Undo the rows between two places, the first parameter of which has this number."""
    state, shadow, capture = run.state, run.shadow, run.capture
    capture.count, capture.pairs = 0, 0
    for wire in range(state.qubits):
        shadow.bit_of_wire[wire] = state.qubits - 1 - wire
    place: i64 = first
    number: i64 = parameter
    while place < end:
        row = rows + place
        if not capture_row(run.context, shadow, run.site, row, number):
            fail(run.context, OUT_OF_MEMORY, run.site, -1, 0)
            return
        number += row[DERIVATIVES]
        place += HEAD + row[WIRES] + row[NUMBERS] + 1
    bit_of = stack_array(i64, MAX_QUBITS)
    bit_of[0] = 0
    for wire in range(state.qubits):
        bit_of[shadow.bit_of_wire[wire]] = state.bit_of_wire[wire]
    if not fuse(run, bit_of) or not undo_fused(run):
        fail(run.context, OUT_OF_MEMORY, run.site, -1, 0)
        return
    for wire in range(state.qubits):
        state.bit_of_wire[wire] = bit_of[state.qubits - 1 - wire]
        run.adjoint.bit_of_wire[wire] = state.bit_of_wire[wire]
    add_derivatives(run)


@kernel
def are_alike(state: State, adjoint: State) -> i1:
    """Whether the wires of two registers are the same bits, and nothing waits."""
    for wire in range(state.qubits):
        if state.bit_of_wire[wire] != adjoint.bit_of_wire[wire]:
            return False
    return state.waiting == 0 and adjoint.waiting == 0


@kernel
def can_undo(run: Backward) -> i1:
    """Apply what waits, and let the wires of both registers be the same bits."""
    state, adjoint = run.state, run.adjoint
    return are_alike(state, adjoint) or can_meet_unmoved(run.context, state, adjoint, run.site)


@kernel
def undo_all(run: Backward, tape: Tape) -> None:
    """Undo everything, the last operation first."""
    end: i64 = tape.used
    number: i64 = tape.derivatives
    while end > 0 and run.context.code == 0:
        first: i64 = end - tape.rows[end - 1]
        row = tape.rows + first
        number -= row[DERIVATIVES]
        if is_undone_alone(row):
            undo_array(run, row, run.results + number)
        elif is_word_row(row):
            if can_undo(run):
                count = words_alike(run.state, tape.rows, first)
                undo_words(run, tape.rows, first, count, run.results + number)
                for _ in range(count - 1):
                    first -= tape.rows[first - 1]
                    number -= 1
        else:
            count: i64 = 1
            going: i64 = 1
            while first > 0 and going != 0:
                before = first - tape.rows[first - 1]
                earlier = tape.rows + before
                if count == MOST_ROWS or is_undone_alone(earlier) or is_word_row(earlier):
                    going = 0
                else:
                    first = before
                    number -= earlier[DERIVATIVES]
                    count += 1
            if can_undo(run):
                undo_rows(run, tape.rows, first, end, number)
        end = first


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
    if tape.derivatives > size or not can_meet_unmoved(context, state, adjoint, site):
        return
    run, shadow, capture = stack_record(Backward), stack_record(State), stack_record(Capture)
    memset(cast(run, ptr[f64]), 0, size_of(Backward))
    memset(cast(shadow, ptr[f64]), 0, size_of(State))
    memset(cast(capture, ptr[f64]), 0, size_of(Capture))
    run.context, run.state, run.adjoint, run.site = context, state, adjoint, site
    run.shadow, run.capture = shadow, capture
    run.results = results
    run.shadow.qubits, run.shadow.spoilt = state.qubits, 1
    run.shadow.capture = cast(capture, ptr[f64])
    kept = state.tape
    state.tape = null(ptr[f64])  # What undoes is not kept.
    undo_all(run, tape)
    state.tape = kept
    if state.spoilt != 0 or adjoint.spoilt != 0:
        for k in range(tape.derivatives):
            results[k] = nan
    tape.used, tape.derivatives = 0, 0
    release_work(run)


@kernel
def release_work(run: Backward) -> None:
    """Give all memory back."""
    free(cast(run.shadow.operations, ptr[f64]))
    free(cast(run.capture.factors, ptr[f64]))
    free(run.capture.derivatives)
    free(cast(run.undone, ptr[f64]))
    free(run.plan_memory)
    free(run.step_memory)
    free(run.moments)
    free(run.work)
