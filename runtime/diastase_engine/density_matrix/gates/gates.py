"""The exported gate functions, of the same types as `state_vector.gates.gates` has."""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.density_matrix.gates.factors import push_factor
from diastase_engine.density_matrix.gates.gate_factors import MOST_NUMBERS, write_gate
from diastase_engine.density_matrix.operations.conjugation import Factor
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import (
    FIRST_ON_WIRES,
    HEAD,
    MASK,
    MOST_PARAMETERS,
    copy_parameters,
)
from diastase_engine.state_vector.gates.pauli_rotations import MULTI_RZ
from diastase_engine.state_vector.queue.tape import keep_gate, keep_gate_on_wires, keep_phase
from diastase_engine.state_vector.state.checks import (
    add_to_mask,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import State
from diastase_runtime.gate_table import FIELD_BITS, GATES, PAULI_ROTATION

_OF_ONE_WIRE = [row.code for row in GATES.values() if row.wires == 1]


@kernel
def is_on_one_wire(code: i64) -> i1:
    """Whether a gate has one wire."""
    for each in static(_OF_ONE_WIRE):
        if code == each:
            return True
    return False


@kernel
def push_gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_wires: i64,
    wires: ptr[i64],
    controls: i64,
    value: i64,
    p: ptr[f64],
) -> None:
    """Apply a gate on checked wires, with (checked) controls."""
    factor = stack_record(Factor)
    factor.numbers = stack_array(f64, MOST_NUMBERS)
    own = write_gate(code, n_wires, p, factor)
    if own < 0:
        # No wording of its own: lowering takes codes from the table, so this is a mistake of ours.
        fail(context, SIZE_MISMATCH, site, code, len(GATES))
        return
    mask: i64 = controls
    matching: i64 = value
    if own == 1:
        mask |= 1 << state.bit_of_wire[wires[0]]
        matching |= 1 << state.bit_of_wire[wires[0]]
    push_factor(context, state, site, n_wires - own, wires + own, mask, matching, factor)


@kernel
def apply_gate(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    controls: i64,
    value: i64,
    wire0: i64,
    wire1: i64,
    p0: f64,
    p1: f64,
    p2: f64,
) -> None:
    """Apply a gate on one or two wires with (checked) controls."""
    if not is_null(state.tape):
        keep_gate(context, state, site, code, controls, value, wire0, wire1, p0, p1, p2)
    mask = add_to_mask(context, state, site, wire0, controls)
    n_wires: i64 = 1 if is_on_one_wire(code) else 2
    if n_wires == 2:
        mask = add_to_mask(context, state, site, wire1, mask) if mask >= 0 else mask
    if mask < 0:
        return
    wires, p = stack_array(i64, 2), stack_array(f64, MOST_PARAMETERS)
    wires[0], wires[1] = wire0, wire1
    p[0], p[1], p[2] = p0, p1, p2
    push_gate(context, state, site, code, n_wires, wires, controls, value, p)


@kernel
def apply_on_wires(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    n_wires: i64,
    wires: ptr[i64],
    controls: i64,
    value: i64,
    parameter: f64,
) -> None:
    """Apply a gate on an array of wires, with (checked) controls."""
    if not is_null(state.tape):
        keep_gate_on_wires(context, state, site, code, n_wires, wires, controls, value, parameter)
    if mask_of(context, state, site, n_wires, wires, controls) < 0:
        return
    if n_wires < 1:
        fail(context, SIZE_MISMATCH, site, n_wires, 1)
        return
    if n_wires != 4 and not (code == MULTI_RZ or code >= PAULI_ROTATION):
        fail(context, SIZE_MISMATCH, site, n_wires, 4)
        return
    p = stack_array(f64, MOST_PARAMETERS)
    p[0], p[1], p[2] = parameter, 0.0, 0.0
    push_gate(context, state, site, code, n_wires, wires, controls, value, p)


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
    if cannot_run(context, state):
        return
    apply_gate(context, state, site, code, 0, 0, wire0, wire1, p0, p1, p2)


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
    mask = mask_of(context, state, site, n_controls, controls, 0)
    if mask < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    apply_gate(context, state, site, code, mask, value, wire0, wire1, p0, p1, p2)


@kernel
def global_phase(context: CallContext, state: State, site: i64, phi: f64) -> None:
    """A phase changes no density matrix, but one that is no number spoils it."""
    if cannot_run(context, state):
        return
    if not is_null(state.tape):
        keep_phase(context, state, site, phi)
    if not phi * 0.0 == 0.0:
        spoil(state)


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
    if n_parameters != 1:
        fail(context, SIZE_MISMATCH, site, n_parameters, 1)
        return
    mask = mask_of(context, state, site, n_controls, controls, 0)
    if mask < 0:
        return
    value = control_value(state, n_controls, controls, control_values)
    apply_on_wires(context, state, site, code, n_wires, wires, mask, value, parameters[0])


@kernel
def gate_run(
    context: CallContext,
    state: State,
    count: i64,
    table: ptr[i64],
    constants: ptr[f64],
    parameters: ptr[f64],
) -> None:
    """Apply `count` gates of a table."""
    numbers = stack_array(f64, MOST_PARAMETERS)
    position: i64 = 0
    for _ in range(count):
        if cannot_run(context, state):
            return
        row = table + position
        code, site = row[0] & MASK, row[1]
        n_wires = (row[0] >> FIELD_BITS) & MASK
        n_controls = (row[0] >> (2 * FIELD_BITS)) & MASK
        n_parameters = (row[0] >> (3 * FIELD_BITS)) & MASK
        wires = row + HEAD
        controls = wires + n_wires
        values = controls + n_controls
        copy_parameters(n_parameters, values + n_controls, constants, parameters, numbers)
        mask = mask_of(context, state, site, n_controls, controls, 0)
        if mask < 0:
            return
        value = control_value(state, n_controls, controls, values)
        if code >= FIRST_ON_WIRES:
            apply_on_wires(context, state, site, code, n_wires, wires, mask, value, numbers[0])
        else:
            apply_gate(
                context, state, site, code, mask, value,
                wires[0], wires[n_wires - 1], numbers[0], numbers[1], numbers[2],
            )  # fmt: skip
        position += HEAD + n_wires + 2 * n_controls + n_parameters
