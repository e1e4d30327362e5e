"""The exported functions that apply gates, channels and preparations.

What they do is kept on the tape first, where there is one, as that of a state vector is, by wires;
then the transfer matrix is pushed.
"""

from diastase_engine.call_context import (
    NOT_TRACE_PRESERVING,
    OVERLAPPING_WIRES,
    SIZE_MISMATCH,
    CallContext,
    fail,
)
from diastase_engine.density_matrix.given import (
    MOST_WIRES,
    Given,
    apply_large,
    transfer_of,
    wires_of,
)
from diastase_engine.density_matrix.queue import flush, push, spoil
from diastase_engine.density_matrix.records import ONE_WIRE, State
from diastase_engine.density_matrix.superoperators import inner_matrix, places_of
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import (
    FIRST_ON_WIRES,
    HEAD,
    MOST_PARAMETERS,
    copy_parameters,
)
from diastase_engine.state_vector.gates.gates import MASK as FIELD
from diastase_engine.state_vector.queue.memory import allocate
from diastase_engine.state_vector.queue.tape import (
    DIAGONAL,
    PHASE,
    UNITARY,
    Tape,
    keep,
)
from diastase_engine.state_vector.state.checks import (
    all_are_numbers,
    bit_of,
    cannot_run,
    mask_of,
)
from diastase_engine.state_vector.state.records import MAX_QUBITS, free
from diastase_runtime.gate_table import FIELD_BITS, GATES

SWAP = GATES["SWAP"].code
SUPEROPERATOR = (1 << 10) + 16
"""The kind of a row of a tape."""
TOLERANCE = 1e-6
"""How much the first row of a transfer matrix may differ from (1, 0, ..., 0)."""


@kernel
def add_wire(context: CallContext, state: State, site: i64, wire: i64, mask: i64) -> i64:
    """A mask of wires with one more, or -1 where the wire is bad or already in it."""
    if mask < 0 or bit_of(context, state, site, wire) < 0:
        return -1
    if (mask >> wire) & 1 == 1:
        fail(context, OVERLAPPING_WIRES, site, wire, 0)
        return -1
    return mask | (1 << wire)


@kernel
def add_wires(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], start: i64
) -> i64:
    """The same for several wires."""
    mask: i64 = start
    for k in range(count):
        mask = add_wire(context, state, site, wires[k], mask)
    return mask


@kernel
def set_controls(
    context: CallContext,
    state: State,
    site: i64,
    given: Given,
    count: i64,
    controls: ptr[i64],
    values: ptr[i64],
) -> i1:
    """Write controls; whether these and the targets are good."""
    given.controls = add_wires(context, state, site, count, controls, 0)
    given.values = 0
    if add_wires(context, state, site, given.n_wires, given.wires, given.controls) < 0:
        return False
    for k in range(count):
        if values[k] != 0:
            given.values = given.values | (1 << controls[k])
    return True


@kernel
def bits_of_mask(state: State, wires: i64) -> i64:
    """The lower bits of some wires' digits."""
    found: i64 = 0
    rest: i64 = wires
    while rest != 0:
        found |= 1 << state.bit_of_wire[count_trailing_zeros(rest)]
        rest &= rest - 1
    return found


@kernel
def keep_given(context: CallContext, state: State, site: i64, given: Given) -> None:
    """Keep an operation on the tape; of an array only where it is differentiated."""
    tape = cast(state.tape, Tape)
    derivatives: i64 = given.count
    if given.kind >= UNITARY and given.kind <= DIAGONAL:
        derivatives = given.count if tape.differentiated != 0 else 0
        tape.differentiated = 0
    keep(
        context, state, site, given.kind, given.n_wires, given.wires,
        bits_of_mask(state, given.controls), bits_of_mask(state, given.values),
        given.count, given.numbers, derivatives,
    )  # fmt: skip


@kernel
def apply_unitary(context: CallContext, state: State, site: i64, given: Given) -> None:
    """Apply a unitary operation whose wires are good."""
    if not is_null(state.tape):
        keep_given(context, state, site, given)
    if state.spoilt != 0:
        return
    if not all_are_numbers(given.count, given.numbers):
        spoil(state)
        return
    push_unitary(context, state, site, given)


@kernel
def push_unitary(context: CallContext, state: State, site: i64, given: Given) -> None:
    """Push a unitary operation that consists of numbers."""
    wires = stack_array(i64, MAX_QUBITS)
    count = wires_of(given, wires)
    if given.kind == SWAP and count == 2:
        first, second = given.wires[0], given.wires[1]
        bit = state.bit_of_wire[first]
        state.bit_of_wire[first] = state.bit_of_wire[second]
        state.bit_of_wire[second] = bit
        return
    if count > MOST_WIRES:
        flush(state)
        apply_large(context, state, site, given, wires)
        return
    bits = stack_array(i64, 2 * MOST_WIRES)
    matrix = stack_array(f64, 1 << (4 * MOST_WIRES))
    transfer_of(context, site, given, count, matrix)
    for k in range(count):
        bits[2 * k] = state.bit_of_wire[wires[k]] + 1
        bits[2 * k + 1] = state.bit_of_wire[wires[k]]
    if context.code == 0 and count > 0:
        push(context, state, site, 2 * count, bits, matrix)


# --- gates by name --------------------------------------------------------------------------------


@kernel
def wires_of_gate(code: i64) -> i64:
    """On how many wires a gate with wires of its own is."""
    found: i64 = 1
    for name in static(GATES):
        if GATES[name].wires == 2 and code == GATES[name].code:
            found = 2
    return found


@kernel
def parameters_of_gate(code: i64) -> i64:
    """How many parameters a gate has."""
    found: i64 = 1 if code >= FIRST_ON_WIRES else 0
    for name in static(GATES):
        if GATES[name].parameters > 0 and code == GATES[name].code:
            found = GATES[name].parameters
    return found


@kernel
def controlled_gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    wire0: i64,
    wire1: i64,
    p0: f64,
    p1: f64,
    p2: f64,
) -> None:
    """Apply a named gate on one or two wires with controls."""
    if cannot_run(context, state):
        return
    wires, numbers = stack_array(i64, 2), stack_array(f64, MOST_PARAMETERS)
    wires[0], wires[1] = wire0, wire1
    numbers[0], numbers[1], numbers[2] = p0, p1, p2
    given = stack_record(Given)
    given.kind, given.n_wires, given.wires = code, wires_of_gate(code), wires
    given.count, given.numbers = parameters_of_gate(code), numbers
    if set_controls(context, state, site, given, n_controls, controls, control_values):
        apply_unitary(context, state, site, given)


@kernel
def gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    wire0: i64,
    wire1: i64,
    p0: f64,
    p1: f64,
    p2: f64,
) -> None:
    """Apply a named gate on one or two wires."""
    none = stack_array(i64, 1)
    controlled_gate(context, state, site, code, 0, none, none, wire0, wire1, p0, p1, p2)


@kernel
def controlled_gate_on_wires(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    n_wires: i64,
    wires: ptr[i64],
    n_parameters: i64,
    parameters: ptr[f64],
) -> None:
    """Apply a named gate on an array of wires, with controls."""
    if cannot_run(context, state):
        return
    if n_parameters != 1 or n_wires < 1:
        fail(context, SIZE_MISMATCH, site, n_parameters, 1)
        return
    given = stack_record(Given)
    given.kind, given.n_wires, given.wires = code, n_wires, wires
    given.count, given.numbers = 1, parameters
    if set_controls(context, state, site, given, n_controls, controls, control_values):
        apply_unitary(context, state, site, given)


@kernel
def gate_on_wires(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_wires: i64,
    wires: ptr[i64],
    n_parameters: i64,
    parameters: ptr[f64],
) -> None:
    """Apply a named gate on an array of wires; all of them have one parameter."""
    controlled_gate_on_wires(
        context, state, site, code, 0, wires, wires, n_wires, wires, n_parameters, parameters
    )


@kernel
def gate_run(
    context: CallContext,
    state: State,
    count: i64,
    table: ptr[i64],
    constants: ptr[f64],
    parameters: ptr[f64],
) -> None:
    """Apply `count` gates of a table (`state_vector.gates.gates`)."""
    numbers = stack_array(f64, MOST_PARAMETERS)
    given = stack_record(Given)
    position: i64 = 0
    for _ in range(count):
        if cannot_run(context, state):
            return
        row = table + position
        n_wires = (row[0] >> FIELD_BITS) & FIELD
        n_controls = (row[0] >> (2 * FIELD_BITS)) & FIELD
        n_parameters = (row[0] >> (3 * FIELD_BITS)) & FIELD
        wires = row + HEAD
        controls = wires + n_wires
        values = controls + n_controls
        copy_parameters(n_parameters, values + n_controls, constants, parameters, numbers)
        given.kind, given.n_wires, given.wires = row[0] & FIELD, n_wires, wires
        given.count, given.numbers = n_parameters, numbers
        if set_controls(context, state, row[1], given, n_controls, controls, values):
            apply_unitary(context, state, row[1], given)
        position += HEAD + n_wires + 2 * n_controls + n_parameters


@kernel
def global_phase(context: CallContext, state: State, site: i64, phi: f64) -> None:
    """A phase changes nothing; one that is no number spoils the state."""
    if cannot_run(context, state):
        return
    numbers, none = stack_array(f64, 1), stack_array(i64, 1)
    numbers[0] = phi
    if not is_null(state.tape):
        keep(context, state, site, PHASE, 0, none, 0, 0, 1, numbers, 1)
    if not phi * 0.0 == 0.0:
        spoil(state)


@kernel
def check_wires(context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64]) -> None:
    """Record an error where these wires do not exist or are not all different."""
    if not cannot_run(context, state):
        mask_of(context, state, site, count, wires, 0)


# --- gates by arrays ------------------------------------------------------------------------------


@kernel
def apply_array(
    context: CallContext,
    state: State,
    site: i64,
    kind: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    numbers: ptr[f64],
) -> None:
    """Apply a gate that is given by an array."""
    if cannot_run(context, state):
        return
    given = stack_record(Given)
    given.kind, given.n_wires, given.wires = kind, n_targets, targets
    given.count = 2 << (2 * n_targets) if kind == UNITARY else 2 << n_targets
    given.numbers = numbers
    if set_controls(context, state, site, given, n_controls, controls, control_values):
        apply_unitary(context, state, site, given)


@kernel
def unitary(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    matrix: ptr[f64],
) -> None:
    """Apply a matrix U, row-major, to target wires, with controls: U rho U^+."""
    apply_array(
        context, state, site, UNITARY, n_targets, targets, n_controls, controls, control_values,
        matrix,
    )  # fmt: skip


@kernel
def diagonal(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    targets: ptr[i64],
    n_controls: i64,
    controls: ptr[i64],
    control_values: ptr[i64],
    elements: ptr[f64],
) -> None:
    """Apply a diagonal matrix to target wires, with controls."""
    apply_array(
        context, state, site, DIAGONAL, n_targets, targets, n_controls, controls, control_values,
        elements,
    )  # fmt: skip


# --- channels -------------------------------------------------------------------------------------


@kernel
def preserves_trace(size: i64, matrix: ptr[f64]) -> i1:
    """Whether the first row of a transfer matrix is (1, 0, ..., 0); false for NaN."""
    for column in range(size):
        difference = matrix[column] - (1.0 if column == 0 else 0.0)
        if not (difference <= TOLERANCE and -difference <= TOLERANCE):
            return False
    return True


@kernel
def superoperator(
    context: CallContext,
    state: State,
    site: i64,
    n_targets: i64,
    wires: ptr[i64],
    matrix: ptr[f64],
    checked: i64,
) -> None:
    """Apply a transfer matrix in the order I, X, Y, Z, on wires of both kinds."""
    if cannot_run(context, state):
        return
    bits = stack_array(i64, 2 * MAX_QUBITS)
    count = places_of(context, state, site, n_targets, wires, bits)
    if count < 0:
        return
    if checked != 0 and not preserves_trace(1 << count, matrix):
        fail(context, NOT_TRACE_PRESERVING, site, 0, 0)
        return
    if not is_null(state.tape):
        tape = cast(state.tape, Tape)
        elements = 1 << (2 * count)
        derivatives = elements if tape.differentiated != 0 else 0
        tape.differentiated = 0
        keep(
            context, state, site, SUPEROPERATOR, n_targets, wires, 0, 0, elements, matrix,
            derivatives,
        )  # fmt: skip
    push_superoperator(context, state, site, n_targets, wires, matrix)


@kernel
def push_superoperator(
    context: CallContext, state: State, site: i64, n_targets: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Push a transfer matrix in the order I, X, Y, Z on checked wires."""
    bits = stack_array(i64, 2 * MAX_QUBITS)
    count = places_of(context, state, site, n_targets, wires, bits)
    small = stack_array(f64, ONE_WIRE)
    inner: ptr[f64] = small
    if count > 2:
        inner = allocate(context, site, 8 << (2 * count))
        if is_null(inner):
            return
    inner_matrix(state, n_targets, wires, count, matrix, inner)
    push(context, state, site, count, bits, inner)
    if count > 2:
        free(inner)
