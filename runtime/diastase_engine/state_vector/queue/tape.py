"""A register's *tape*: every operation that it was given, in the order of execution.

`backward` reads it from its end. A row is a list of words, the last of which is how many they are:

    kind, wires, numbers, derivatives, control mask, control value, *wires, *numbers, words

`kind` is a gate's code (`gate_table`), or one of those below; *numbers* are parameters, or the
elements of an array; *derivatives* is how many numbers a sweep gives for it. All is told by wires,
not by bits: amplitudes may be moved at any time, as long as no wire notices.
"""

from diastase_engine.call_context import OUT_OF_MEMORY, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import State, free, malloc, realloc
from diastase_runtime.gate_table import GATES

PHASE, UNITARY, DIAGONAL, PREPARE = range(1 << 10, (1 << 10) + 4)
KIND, WIRES, NUMBERS, DERIVATIVES, MASK, VALUE, HEAD = range(7)
"""Words of a row; the wires begin at `HEAD`."""
_FEWEST_WORDS = 256


class Tape(Record):
    """What was kept."""

    rows: ptr[i64]
    used: i64
    room: i64
    """In words."""
    derivatives: i64
    """How many numbers a sweep gives for all of it."""
    differentiated: i64
    """1 where the next operation's array has derivatives."""
    start: ptr[f64]
    """The numbers of a density matrix at the beginning, or null."""


@kernel
def tape_record(context: CallContext, state: State, site: i64) -> None:
    """Keep all operations from now on."""
    if cannot_run(context, state) or not is_null(state.tape):
        return
    memory = malloc(size_of(Tape))
    if is_null(memory):
        fail(context, OUT_OF_MEMORY, site, size_of(Tape), 0)
        return
    tape = cast(memory, Tape)
    tape.rows = null(ptr[i64])
    tape.used, tape.room, tape.derivatives, tape.differentiated = 0, 0, 0, 0
    tape.start = null(ptr[f64])
    state.tape = memory


@kernel
def tape_differentiated(context: CallContext, state: State) -> None:
    """The array of the next operation has derivatives."""
    if not cannot_run(context, state) and not is_null(state.tape):
        cast(state.tape, Tape).differentiated = 1


@kernel
def tape_length(context: CallContext, state: State) -> i64:
    """How many numbers a sweep gives."""
    if cannot_run(context, state) or is_null(state.tape):
        return 0
    return cast(state.tape, Tape).derivatives


@kernel
def release_tape(state: State) -> None:
    """Give the memory back, if there is any."""
    if not is_null(state.tape):
        free(cast(cast(state.tape, Tape).rows, ptr[f64]))
        free(cast(state.tape, Tape).start)
        free(state.tape)
        state.tape = null(ptr[f64])


@kernel
def new_row(context: CallContext, tape: Tape, site: i64, words: i64) -> ptr[i64]:
    """Room for a row, or an error and null."""
    if tape.used + words > tape.room:
        room = 2 * tape.room + words + _FEWEST_WORDS
        memory = realloc(cast(tape.rows, ptr[f64]), 8 * room)
        if is_null(memory):
            fail(context, OUT_OF_MEMORY, site, 8 * room, 0)
            return null(ptr[i64])
        tape.rows, tape.room = cast(memory, ptr[i64]), room
    row = tape.rows + tape.used
    tape.used += words
    return row


@kernel
def wires_of_bits(state: State, bits: i64) -> i64:
    """The wires of some bits, as a mask."""
    if bits == 0:
        return 0
    found: i64 = 0
    for wire in range(state.qubits):
        found |= ((bits >> state.bit_of_wire[wire]) & 1) << wire
    return found


@kernel
def keep(
    context: CallContext,
    state: State,
    site: i64,
    kind: i64,
    n_wires: i64,
    wires: ptr[i64],
    mask: i64,
    value: i64,
    count: i64,
    numbers: ptr[f64],
    derivatives: i64,
) -> None:
    """Write a row; `mask` and `value` are bits of controls."""
    tape = cast(state.tape, Tape)
    words = HEAD + n_wires + count + 1
    row = new_row(context, tape, site, words)
    if is_null(row):
        return
    row[KIND], row[WIRES], row[NUMBERS], row[DERIVATIVES] = kind, n_wires, count, derivatives
    row[MASK], row[VALUE] = wires_of_bits(state, mask), wires_of_bits(state, value)
    for k in range(n_wires):
        row[HEAD + k] = wires[k]
    kept = cast(row + HEAD + n_wires, ptr[f64])
    for k in range(count):
        kept[k] = numbers[k]
    row[words - 1] = words
    tape.derivatives += derivatives


@kernel
def keep_gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    mask: i64,
    value: i64,
    wire0: i64,
    wire1: i64,
    p0: f64,
    p1: f64,
    p2: f64,
) -> None:
    """Keep a gate on one or two wires."""
    wires, numbers = stack_array(i64, 2), stack_array(f64, 3)
    wires[0], wires[1] = wire0, wire1
    numbers[0], numbers[1], numbers[2] = p0, p1, p2
    n_wires: i64 = 0
    count: i64 = 0
    for name in static(GATES):
        if code == GATES[name].code:
            n_wires, count = GATES[name].wires, GATES[name].parameters
    keep(context, state, site, code, n_wires, wires, mask, value, count, numbers, count)


@kernel
def keep_gate_on_wires(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_wires: i64,
    wires: ptr[i64],
    mask: i64,
    value: i64,
    parameter: f64,
) -> None:
    """Keep a gate on an array of wires; all of them have one parameter."""
    numbers = stack_array(f64, 1)
    numbers[0] = parameter
    keep(context, state, site, code, n_wires, wires, mask, value, 1, numbers, 1)


@kernel
def keep_phase(context: CallContext, state: State, site: i64, phi: f64) -> None:
    """Keep a global phase."""
    wires, numbers = stack_array(i64, 1), stack_array(f64, 1)
    numbers[0] = phi
    keep(context, state, site, PHASE, 0, wires, 0, 0, 1, numbers, 1)


@kernel
def keep_array(
    context: CallContext,
    state: State,
    site: i64,
    kind: i64,
    n_wires: i64,
    wires: ptr[i64],
    mask: i64,
    value: i64,
    numbers: ptr[f64],
) -> None:
    """Keep an operation that is given by an array."""
    tape = cast(state.tape, Tape)
    count: i64 = 2 << (2 * n_wires) if kind == UNITARY else 2 << n_wires
    derivatives: i64 = count if tape.differentiated != 0 else 0
    tape.differentiated = 0
    keep(context, state, site, kind, n_wires, wires, mask, value, count, numbers, derivatives)
