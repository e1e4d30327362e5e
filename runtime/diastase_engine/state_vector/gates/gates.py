"""The exported gate functions: named gates with any number of controls, one or many by one call.

In: codes of `gate_table`, wires and parameters as the user gave them. Wires are checked here; what
follows (`queue.queue`, `decompositions`) trusts them.

`gate_run` has a table of gates on known wires, applied in order. Each gate is a row of numbers
(`gate_table.run_row`): its code and how many targets, controls and parameters it has, as one
number; its site; the targets, the controls, the control values; and a reference for each parameter:
`k` for the k-th constant, `-1 - k` for the k-th parameter found at run time. A gate that fails
records its own site, and nothing after it is applied.
"""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.language import *
from diastase_engine.state_vector.gates.decompositions import (
    double_excitation,
    orbital_rotation,
    push_pair,
)
from diastase_engine.state_vector.gates.matrices import (
    base_of_controlled,
    scalar,
    single_matrix,
    write,
)
from diastase_engine.state_vector.gates.pauli_rotations import MULTI_RZ, pauli_rotation
from diastase_engine.state_vector.queue.queue import push_single
from diastase_engine.state_vector.queue.tape import keep_gate, keep_gate_on_wires, keep_phase
from diastase_engine.state_vector.state.checks import (
    add_to_mask,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import State
from diastase_runtime.gate_table import FIELD_BITS, GATES, PAULI_ROTATION

DOUBLE_EXCITATION = GATES["DoubleExcitation"].code
DOUBLE_EXCITATION_PLUS = GATES["DoubleExcitationPlus"].code
DOUBLE_EXCITATION_MINUS = GATES["DoubleExcitationMinus"].code
ORBITAL_ROTATION = GATES["OrbitalRotation"].code

HEAD = 2
"""Numbers of a row before its wires."""
MASK = (1 << FIELD_BITS) - 1
FIRST_ON_WIRES = min(gate.code for gate in GATES.values() if gate.entry == "array")
"""From this code on, gates take an array of wires (a test checks that they come last)."""
MOST_PARAMETERS = 3


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
    """Queue a gate on one or two wires with (checked) controls."""
    if not is_null(state.tape):
        keep_gate(context, state, site, code, controls, value, wire0, wire1, p0, p1, p2)
    first_mask = add_to_mask(context, state, site, wire0, controls)
    if first_mask < 0:
        return
    first = state.bit_of_wire[wire0]
    matrix = stack_array(f64, 8)
    if single_matrix(code, p0, p1, p2, matrix):
        push_single(state, first, controls, value, matrix)
        return
    if add_to_mask(context, state, site, wire1, first_mask) < 0:
        return
    second = state.bit_of_wire[wire1]
    if single_matrix(base_of_controlled(code), p0, p1, p2, matrix):
        push_single(state, second, first_mask, value | (1 << first), matrix)
    elif not push_pair(state, code, first, second, controls, value, p0):
        # No wording of its own: lowering takes codes from the table, so this is a mistake of ours.
        fail(context, SIZE_MISMATCH, site, code, len(GATES))


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
    """Multiply by exp(-i phi)."""
    if cannot_run(context, state):
        return
    if not is_null(state.tape):
        keep_phase(context, state, site, phi)
    push_phase(state, phi)


@kernel
def push_phase(state: State, phi: f64) -> None:
    """Queue a factor exp(-i phi)."""
    matrix = stack_array(f64, 8)
    write(scalar(-phi), matrix)
    # On bit 0, which a state without qubits has too: the lanes beyond it are zero.
    push_single(state, 0, 0, 0, matrix)


@kernel
def check_wires(context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64]) -> None:
    """Record an error where these wires do not exist or are not all different."""
    if cannot_run(context, state):
        return
    mask_of(context, state, site, count, wires, 0)


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
    """Queue a gate on an array of wires, with (checked) controls."""
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
    push_on_wires(context, state, site, code, n_wires, wires, controls, value, parameter)


@kernel
def push_on_wires(
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
    """The same on checked wires."""
    if code == MULTI_RZ or code >= PAULI_ROTATION:
        pauli_rotation(state, code, n_wires, wires, controls, value, parameter)
    elif code == DOUBLE_EXCITATION:
        double_excitation(state, wires, controls, value, parameter, 0.0)
    elif code == DOUBLE_EXCITATION_PLUS:
        double_excitation(state, wires, controls, value, parameter, 0.5 * parameter)
    elif code == DOUBLE_EXCITATION_MINUS:
        double_excitation(state, wires, controls, value, parameter, -0.5 * parameter)
    elif code == ORBITAL_ROTATION:
        orbital_rotation(state, wires, controls, value, parameter)
    else:
        fail(context, SIZE_MISMATCH, site, code, len(GATES))


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


@kernel
def copy_parameters(
    count: i64,
    references: ptr[i64],
    constants: ptr[f64],
    parameters: ptr[f64],
    numbers: ptr[f64],
) -> None:
    """Look the parameters of a gate up; those that it does not have are zero."""
    for k in range(MOST_PARAMETERS):
        numbers[k] = 0.0
    for k in range(count):
        if references[k] >= 0:
            numbers[k] = constants[references[k]]
        else:
            numbers[k] = parameters[-1 - references[k]]
