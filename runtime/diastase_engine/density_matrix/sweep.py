"""The sweep back: derivatives of a loss by the numbers of everything on a tape.

In: a density matrix that has been recorded, and its adjoint, a vector a such that a change dr of the
state changes the loss by a . dr. Out: derivatives in the order in which operations were executed.
Steps (`steps`) are gone through from the last to the first: the derivatives by the elements of its
matrix are sums of products of a and the state before the step (`outer_sums`), and a then is
multiplied by the transposed matrix.

Channels cannot be undone, so states are computed again, from the beginning of the tape, by
checkpointing: as many are kept as fit into a budget, spaced evenly where they are too few, and again
between these when the sweep arrives there. Steps without derivatives need no state at all.

Source of the checkpointing: Griewank, "Achieving logarithmic growth of temporal and spatial
complexity in reverse automatic differentiation" (1992), in a simple form.
"""

from math import nan, pi, sin

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.density_matrix.given import Given, apply_large, matrix_of, wires_of
from diastase_engine.density_matrix.memory import set_start
from diastase_engine.density_matrix.observables import can_meet, component_of, operator_words
from diastase_engine.density_matrix.outer_sums import sum_outer, sum_outer_gathered
from diastase_engine.density_matrix.pauli_basis import to_matrix, word_of_element
from diastase_engine.density_matrix.preparations import (
    digits_of,
    put_amplitudes,
    put_matrix,
)
from diastase_engine.density_matrix.queue import apply_gathered
from diastase_engine.density_matrix.records import MOST_BITS, State, components, index_bits
from diastase_engine.density_matrix.row_derivatives import derivatives_of_row
from diastase_engine.density_matrix.steps import (
    MATRIX,
    STATE,
    TRANSFER,
    Step,
    Steps,
    find_steps,
    given_of,
    matrix_of_row,
    numbers_of,
    row_of,
)
from diastase_engine.density_matrix.transfer import Prepared, apply_to, prepare, room_of
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import FIRST_ON_WIRES, MOST_PARAMETERS
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import (
    DERIVATIVES,
    DIAGONAL,
    HEAD,
    KIND,
    PREPARE,
    UNITARY,
    WIRES,
    Tape,
)
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.parallel import is_interrupted, write_bulk
from diastase_engine.state_vector.state.records import BLOCK_BYTES, MAX_QUBITS, free, memset

BUDGET = setting("checkpoint_bytes", 1 << 23)
"""Bytes of checkpoints: what stays in a cache. In more memory the system gives new pages, and a
state is computed again in the time of that. There may be `FEWEST` in any case."""
FEWEST = setting("fewest_checkpoints", 6)
MOST_CHECKPOINTS = 4096


class Checkpoint(Record):
    """A state that is kept."""

    memory: ptr[f64]
    """Null until it is first needed."""
    step: i64
    """The step that it is the state before."""


class Sweep(Record):
    """A sweep that is under way."""

    context: CallContext
    state: State
    adjoint: State
    site: i64
    results: ptr[f64]
    steps: Steps
    size: i64
    """Bytes of a vector."""
    own: ptr[vector]
    """The state's own memory, where states are computed."""
    checkpoints: ptr[Checkpoint]
    count: i64
    """How many of them there are."""
    most: i64
    prepared: ptr[f64]
    """Memory for a prepared matrix."""


@kernel
def new_checkpoint(run: Sweep, step: i64) -> ptr[f64]:
    """Memory for the state before a step, or null."""
    checkpoint = run.checkpoints[run.count]
    if is_null(checkpoint.memory):
        checkpoint.memory = allocate(run.context, run.site, run.size)
    checkpoint.step = step
    run.count += 1
    return checkpoint.memory


@kernel
def state_before(run: Sweep, step: i64) -> None:
    """Make the state that before a step: where it lies is `amplitudes` of the state."""
    state = run.state
    while run.count > 0 and run.checkpoints[run.count - 1].step > step:
        run.count -= 1
    current: i64 = 0
    if run.count == 0:
        state.amplitudes = run.own
        set_start(state)
    else:
        current = run.checkpoints[run.count - 1].step
        state.amplitudes = cast(run.checkpoints[run.count - 1].memory, ptr[vector])
    free_places = run.most - run.count
    spacing: i64 = 1
    while spacing * (free_places + 1) < step - current:
        spacing += 1
    since: i64 = 0
    while current < step and run.context.code == 0:
        target = run.own
        since += 1
        if since == spacing and current + 1 < step and run.count < run.most:
            target = cast(new_checkpoint(run, current + 1), ptr[vector])
            since = 0
        if not is_null(target):
            run_step(run, run.steps.steps[current], target)
            state.amplitudes = target
        current += 1


@kernel
def use_wires(state: State, step: Step) -> None:
    """Have the wires where they were when a step was executed."""
    for wire in range(state.qubits + state.derivative_wires):
        state.bit_of_wire[wire] = step.bit_of_wire[wire]


@kernel
def run_step(run: Sweep, step: Step, target: ptr[vector]) -> None:
    """Apply a step to the state; what comes of it goes to `target`."""
    state, context, site = run.state, run.context, run.site
    if is_interrupted(state):
        return
    if step.kind == MATRIX:
        prepare(step.count, step.bits, step.matrix, run.prepared)
        apply_to(cast(run.prepared, Prepared), state, target)
        return
    if address(target) != address(state.amplitudes):
        write_bulk(cast(target, ptr[f64]), cast(state.amplitudes, ptr[f64]), run.size)
        state.amplitudes = target
    use_wires(state, step)
    row = row_of(run.steps, step.row)
    if step.kind == STATE:
        if row[KIND] == PREPARE:
            put_amplitudes(context, state, site, row[WIRES], row + HEAD, numbers_of(row))
        else:
            put_matrix(context, state, site, row[WIRES], row + HEAD, numbers_of(row))
    elif step.kind == TRANSFER:
        apply_transfer(run, state, step, False)
    else:
        given, wires = stack_record(Given), stack_array(i64, MAX_QUBITS)
        given_of(row, given)
        wires_of(given, wires)
        apply_large(context, state, site, given, wires)


@kernel
def apply_transfer(run: Sweep, state: State, step: Step, transposed: i1) -> None:
    """Apply a large transfer matrix to a vector, or its transposed one."""
    size = 1 << step.count
    matrix = allocate(run.context, run.site, 8 * size * size)
    if is_null(matrix):
        return
    row = row_of(run.steps, step.row)
    matrix_of_row(run.context, state, run.site, row, step.count, matrix)
    if transposed:
        transpose(size, matrix)
    apply_gathered(run.context, state, run.site, step.count, step.bits, matrix)
    free(matrix)


@kernel
def transpose(size: i64, matrix: ptr[f64]) -> None:
    """Transpose a matrix in place."""
    for row in range(size):
        for column in range(row):
            kept = matrix[row * size + column]
            matrix[row * size + column] = matrix[column * size + row]
            matrix[column * size + row] = kept


# --- small matrices -------------------------------------------------------------------------------


@kernel
def multiply(size: i64, left: ptr[f64], right: ptr[f64], product: ptr[f64], turned: i64) -> None:
    """`product = left @ right`; of `turned`, bit 0 transposes the left one, bit 1 the right one."""
    for row in range(size):
        for column in range(size):
            total: f64 = 0.0
            for k in range(size):
                a = left[k * size + row] if turned & 1 == 1 else left[row * size + k]
                b = right[column * size + k] if turned & 2 == 2 else right[k * size + column]
                total += a * b
            product[row * size + column] = total


@kernel
def write_identity(size: i64, matrix: ptr[f64]) -> None:
    """Write the identity."""
    for row in range(size):
        for column in range(size):
            matrix[row * size + column] = 1.0 if row == column else 0.0


@kernel
def derivatives_of_step(run: Sweep, step: Step, by_element: ptr[f64]) -> None:
    """Write the derivatives of all rows of a step with a small matrix.

    For R = L M N the derivatives by the elements of M are L^T H N^T.
    """
    context, steps, site = run.context, run.steps, run.site
    use_wires(run.state, step)
    if step.row == step.last:
        row = row_of(steps, step.row)
        place = run.results + steps.derivative_of[step.row]
        derivatives_of_row(context, run.state, site, row, step.count, by_element, place)
        return
    size = 1 << step.count
    elements = size * size
    rows: i64 = 0
    number: i64 = step.row
    while number >= 0:
        rows += 1
        number = steps.after[number]
    memory = allocate(context, site, 8 * elements * (2 * rows + 4))
    if is_null(memory):
        return
    # Of each row its matrix, and the product of all rows before it.
    before, own = memory, memory + elements * (rows + 1)
    rest, half, part = own + elements * rows, own + elements * (rows + 1), own + elements * (rows + 2)
    numbers = cast(allocate(context, site, 8 * rows), ptr[i64])
    if is_null(numbers):
        free(memory)
        return
    write_identity(size, before)
    number = step.row
    for k in range(rows):
        numbers[k] = number
        matrix = own + k * elements
        matrix_of_row(context, run.state, site, row_of(steps, number), step.count, matrix)
        multiply(size, matrix, before + k * elements, before + (k + 1) * elements, 0)
        number = steps.after[number]
    write_identity(size, rest)
    for back in range(rows):
        k = rows - 1 - back
        row = row_of(steps, numbers[k])
        if row[DERIVATIVES] > 0:
            multiply(size, rest, by_element, half, 1)
            multiply(size, half, before + k * elements, part, 2)
            place = run.results + steps.derivative_of[numbers[k]]
            derivatives_of_row(context, run.state, site, row, step.count, part, place)
        multiply(size, rest, own + k * elements, half, 0)
        for element in range(elements):
            rest[element] = half[element]
    free(cast(numbers, ptr[f64]))
    free(memory)


@kernel
def undo_matrix(run: Sweep, step: Step) -> None:
    """Go back over a step with a small matrix."""
    state, adjoint = run.state, run.adjoint
    prepared = cast(run.prepared, Prepared)
    elements = 1 << (2 * step.count)
    matrix = allocate(run.context, run.site, 8 * elements)
    if is_null(matrix):
        return
    if step.wants != 0:
        prepare(step.count, step.bits, step.matrix, run.prepared)
        sum_outer(
            run.context, run.site, prepared, step.count, step.bits, state.amplitudes,
            adjoint.amplitudes, 2 * state.blocks, matrix,
        )  # fmt: skip
        derivatives_of_step(run, step, matrix)
    for element in range(elements):
        matrix[element] = step.matrix[element]
    transpose(1 << step.count, matrix)
    prepare(step.count, step.bits, matrix, run.prepared)
    apply_to(prepared, adjoint, adjoint.amplitudes)
    free(matrix)


# --- what has no small matrix ---------------------------------------------------------------------


@kernel
def undo_transfer(run: Sweep, step: Step) -> None:
    """Go back over a large transfer matrix."""
    row = row_of(run.steps, step.row)
    if step.wants != 0:
        by_gathered(run, step, row)
    apply_transfer(run, run.adjoint, step, True)


@kernel
def by_gathered(run: Sweep, step: Step, row: ptr[i64]) -> None:
    """Write the derivatives by the elements of a large matrix."""
    sums = allocate(run.context, run.site, 8 << (2 * step.count))
    if is_null(sums):
        return
    state, adjoint = run.state, run.adjoint
    sum_outer_gathered(
        state, step.count, step.bits, components(state), components(adjoint), sums
    )
    place = run.results + run.steps.derivative_of[step.row]
    derivatives_of_row(run.context, state, run.site, row, step.count, sums, place)
    free(sums)


LARGEST_DIFFERENTIATED = 10
"""Index bits of the largest unitary by whose elements is differentiated: five wires."""


@kernel
def undo_unitary(run: Sweep, step: Step) -> None:
    """Go back over a unitary on many wires; its inverse is its adjoint."""
    context, state, adjoint, site = run.context, run.state, run.adjoint, run.site
    row = row_of(run.steps, step.row)
    given, wires = stack_record(Given), stack_array(i64, MAX_QUBITS)
    given_of(row, given)
    count = wires_of(given, wires)
    is_array = given.kind == UNITARY or given.kind == DIAGONAL
    if step.wants != 0:
        if is_array:
            if step.count > LARGEST_DIFFERENTIATED:
                fail(context, OUT_OF_MEMORY, site, -1, 0)
                return
            for k in range(count):
                step.bits[2 * k] = state.bit_of_wire[wires[k]] + 1
                step.bits[2 * k + 1] = state.bit_of_wire[wires[k]]
            by_gathered(run, step, row)
        else:
            by_large_parameters(run, step, given, wires)
    if given.kind >= FIRST_ON_WIRES and not is_array:
        negative = stack_array(f64, 1)
        negative[0] = 0.0 - given.numbers[0]
        given.numbers = negative
        apply_large(context, adjoint, site, given, wires)
        return
    size = 1 << given.n_wires
    memory = allocate(context, site, 16 * size * size)
    if is_null(memory):
        return
    adjoint_of(context, site, given, size, memory)
    given.kind, given.numbers, given.count = UNITARY, memory, 2 * size * size
    apply_large(context, adjoint, site, given, wires)
    free(memory)


@kernel
def adjoint_of(context: CallContext, site: i64, given: Given, size: i64, out: ptr[f64]) -> None:
    """Write the adjoint of the matrix on an operation's targets."""
    if given.kind == UNITARY:
        for k in range(2 * size * size):
            out[k] = given.numbers[k]
    elif given.kind == DIAGONAL:
        for k in range(2 * size * size):
            out[k] = 0.0
        for k in range(size):
            out[2 * (k * size + k)] = given.numbers[2 * k]
            out[2 * (k * size + k) + 1] = given.numbers[2 * k + 1]
    else:
        controls = given.controls
        given.controls = 0
        matrix_of(context, site, given, given.n_wires, out)
        given.controls = controls
    for row in range(size):
        for column in range(row + 1):
            here, there = 2 * (row * size + column), 2 * (column * size + row)
            a, b = out[here], out[here + 1]
            c, d = out[there], out[there + 1]
            out[here], out[here + 1] = c, 0.0 - d
            out[there], out[there + 1] = a, 0.0 - b


_SHIFTS = [(2.0 * x, sign / (16.0 * sin(x / 2) ** 2)) for x, sign in (
    (0.25 * pi, 1.0), (0.75 * pi, -1.0), (1.25 * pi, 1.0), (1.75 * pi, -1.0)
)]  # fmt: skip
"""Shifts and weights that give the derivative of any function of the frequencies 1/2 and 1.

Source: Wierichs et al., "General parameter-shift rules for quantum gradients" (2022).
"""


@kernel
def by_large_parameters(run: Sweep, step: Step, given: Given, wires: ptr[i64]) -> None:
    """Write the derivatives by the parameters of a gate on many wires, by shifts of it."""
    state, adjoint = run.state, run.adjoint
    before = allocate(run.context, run.site, run.size)
    if is_null(before):
        return
    now = cast(state.amplitudes, ptr[f64])
    write_bulk(before, now, run.size)
    numbers = stack_array(f64, MOST_PARAMETERS)
    own = given.numbers
    for k in range(given.count):
        total: f64 = 0.0
        for shift in static(_SHIFTS):
            for place in range(given.count):
                numbers[place] = own[place]
            numbers[k] = own[k] + shift[0]
            given.numbers = numbers
            apply_large(run.context, state, run.site, given, wires)
            given.numbers = own
            product = broadcast_wide(0.0)
            for place in range(2 * state.blocks):
                product += widen(state.amplitudes[place] * adjoint.amplitudes[place])
            total += shift[1] * horizontal_sum(product)
            write_bulk(now, before, run.size)
        run.results[run.steps.derivative_of[step.row] + k] = total
    free(before)


@kernel
def undo_state(run: Sweep, step: Step) -> None:
    """Go back over a preparation: r[Q, P] = r[Q, I] s[P], s[P] = Tr(P sigma)."""
    state, adjoint, context, site = run.state, run.adjoint, run.context, run.site
    row = row_of(run.steps, step.row)
    count, wires, numbers = row[WIRES], row + HEAD, numbers_of(row)
    size = 1 << count
    words = size * size
    memory = allocate(context, site, 32 * words)
    if is_null(memory):
        return
    sums, matrix = memory, memory + 2 * words
    if row[KIND] == PREPARE:
        for k in range(size):
            for other in range(size):
                place = 2 * (k * size + other)
                a, b = numbers[2 * k], numbers[2 * k + 1]
                c, d = numbers[2 * other], numbers[2 * other + 1]
                matrix[place], matrix[place + 1] = a * c + b * d, b * c - a * d
    else:
        for k in range(2 * words):
            matrix[k] = numbers[k]
    own = operator_words(context, site, count, matrix)
    if is_null(own):
        free(memory)
        return
    for word in range(words):
        sums[2 * word], sums[2 * word + 1] = 0.0, 0.0
    fixed = digits_of(state, count, wires)
    base: i64 = 0
    for _ in range((1 << index_bits(state)) >> (2 * count)):
        before = components(state)[base]
        total: f64 = 0.0
        for word in range(words):
            place = base | component_of(state, count, wires, word)
            a = components(adjoint)[place]
            sums[2 * word] = sums[2 * word] + a * before
            total += a * own[2 * word]
            components(adjoint)[place] = 0.0
        components(adjoint)[base] = total
        base = ((base | fixed) + 1) & ~fixed
    if row[DERIVATIVES] > 0:
        # The operator of the sums: a change d(sigma) changes the loss by Re Tr(operator d(sigma)).
        to_matrix(count, sums)
        for k in range(2 * words):
            sums[k] = to_float(size) * sums[k]
        write_state_derivatives(run, step, row, count, sums, numbers)
    free(own)
    free(memory)


@kernel
def write_state_derivatives(
    run: Sweep, step: Step, row: ptr[i64], count: i64, operator: ptr[f64], numbers: ptr[f64]
) -> None:
    """Write derivatives by the elements of a density matrix, or by amplitudes."""
    size = 1 << count
    results = run.results + run.steps.derivative_of[step.row]
    for k in range(size):
        real: f64 = 0.0
        imaginary: f64 = 0.0
        for other in range(size):
            place = 2 * word_of_element(k, other, count)
            turned = 2 * word_of_element(other, k, count)
            if row[KIND] == PREPARE:
                a, b = operator[place], operator[place + 1]
                c, d = numbers[2 * other], numbers[2 * other + 1]
                real += a * c - b * d
                imaginary += a * d + b * c
            else:
                results[2 * (k * size + other)] = operator[turned]
                results[2 * (k * size + other) + 1] = 0.0 - operator[turned + 1]
        if row[KIND] == PREPARE:
            results[2 * k], results[2 * k + 1] = 2.0 * real, 2.0 * imaginary


# --- all of it ------------------------------------------------------------------------------------


@kernel
def undo_all(run: Sweep) -> None:
    """Go back over all steps."""
    step_number: i64 = run.steps.count - 1
    while step_number >= 0 and run.context.code == 0:
        step = run.steps.steps[step_number]
        if is_interrupted(run.state):
            return
        if step.wants != 0 or step.kind == STATE:
            state_before(run, step_number)
        use_wires(run.state, step)
        use_wires(run.adjoint, step)
        if run.context.code == 0:
            if step.kind == MATRIX:
                undo_matrix(run, step)
            elif step.kind == TRANSFER:
                undo_transfer(run, step)
            elif step.kind == STATE:
                undo_state(run, step)
            else:
                undo_unitary(run, step)
        step_number -= 1


@kernel
def tape_sweep(
    context: CallContext, state: State, adjoint: State, site: i64, size: i64, results: ptr[f64]
) -> None:
    """Write `size` derivatives, those of the tape and then zeros; neither vector is of use then."""
    for k in range(size):
        results[k] = 0.0
    if cannot_run(context, state) or is_null(adjoint) or is_null(state.tape):
        return
    tape = cast(state.tape, Tape)
    if tape.derivatives > size or not can_meet(context, state, adjoint, site):
        return
    if state.spoilt != 0 or adjoint.spoilt != 0:
        for k in range(tape.derivatives):
            results[k] = nan
        return
    kept = state.tape
    state.tape = null(ptr[f64])
    run, steps = stack_record(Sweep), stack_record(Steps)
    run.context, run.state, run.adjoint, run.site = context, state, adjoint, site
    run.results, run.steps, run.own, run.count = results, steps, state.amplitudes, 0
    run.size = state.blocks * BLOCK_BYTES
    run.most = FEWEST
    while run.most < MOST_CHECKPOINTS and (run.most + 1) * run.size <= BUDGET:
        run.most += 1
    run.prepared = allocate(context, site, room_of(MOST_BITS))
    memory = allocate(context, site, size_of(Checkpoint) * MOST_CHECKPOINTS)
    if not is_null(memory) and not is_null(run.prepared):
        memset(memory, 0, size_of(Checkpoint) * MOST_CHECKPOINTS)
        run.checkpoints = cast(memory, ptr[Checkpoint])
        if find_steps(context, state, site, tape, steps):
            undo_all(run)
        free(steps.memory)
        for k in range(run.most):
            free(run.checkpoints[k].memory)
    free(memory)
    free(run.prepared)
    state.amplitudes = run.own
    state.tape = kept
    tape.used, tape.derivatives = 0, 0


