"""The exported gate functions, of the same types as `state_vector.gates.gates` has."""

from math import pi

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.density_matrix.gates.factors import push_matrix, push_rotation
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import (
    DOUBLE_EXCITATION,
    DOUBLE_EXCITATION_MINUS,
    DOUBLE_EXCITATION_PLUS,
    FIRST_ON_WIRES,
    HEAD,
    MASK,
    MOST_PARAMETERS,
    ORBITAL_ROTATION,
    copy_parameters,
)
from diastase_engine.state_vector.gates.matrices import (
    PARITY,
    SELECTED_THEN_FLIP,
    SELECTED_THEN_SWAP,
    base_of_controlled,
    cos,
    pair_matrices,
    sin,
    single_matrix,
    write,
)
from diastase_engine.state_vector.gates.pauli_rotations import (
    MULTI_RZ,
    letters_flipping,
    letters_y,
)
from diastase_engine.state_vector.queue.tape import keep_gate, keep_gate_on_wires, keep_phase
from diastase_engine.state_vector.state.checks import (
    add_to_mask,
    cannot_run,
    control_value,
    mask_of,
)
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.small_matrices import IDENTITY
from diastase_runtime.gate_table import FIELD_BITS, GATES, PAULI_ROTATION

SWAP = GATES["SWAP"].code
FERMIONIC_SWAP = GATES["FermionicSWAP"].code
SINGLE_EXCITATION = GATES["SingleExcitation"].code


@kernel
def pair_matrix(code: i64, parameter: f64, matrix: ptr[f64]) -> i1:
    """Write the 4x4 matrix of a gate on two wires; false where `code` is no such gate."""
    first, second = stack_array(f64, 8), stack_array(f64, 8)
    shape: i64 = SELECTED_THEN_SWAP
    if code == SWAP:
        write(IDENTITY, first)
        write(IDENTITY, second)
    else:
        shape = pair_matrices(code, parameter, first, second)
    if shape < 0:
        return False
    for k in range(32):
        matrix[k] = 0.0
    for block in range(2):
        for row in range(2):
            for column in range(2):
                # By the first wire's value, or by the parity: |00>, |11> and |01>, |10>.
                r: i64 = 2 * block + row
                c: i64 = 2 * block + column
                if shape == PARITY:
                    r, c = 2 * row + (row ^ block), 2 * column + (column ^ block)
                if shape == SELECTED_THEN_FLIP:
                    r = r ^ 2
                elif shape == SELECTED_THEN_SWAP:
                    r = ((r & 1) << 1) | (r >> 1)
                for part in range(2):
                    k = 4 * row + 2 * column + part
                    matrix[2 * (4 * r + c) + part] = first[k] if block == 0 else second[k]
    return True


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
    first_mask = add_to_mask(context, state, site, wire0, controls)
    if first_mask < 0:
        return
    wires, matrix = stack_array(i64, 2), stack_array(f64, 32)
    wires[0], wires[1] = wire0, wire1
    if single_matrix(code, p0, p1, p2, matrix):
        push_matrix(context, state, site, 1, wires, controls, value, matrix)
        return
    if add_to_mask(context, state, site, wire1, first_mask) < 0:
        return
    if single_matrix(base_of_controlled(code), p0, p1, p2, matrix):
        matching = value | (1 << state.bit_of_wire[wire0])
        push_matrix(context, state, site, 1, wires + 1, first_mask, matching, matrix)
    elif pair_matrix(code, p0, matrix):
        push_matrix(context, state, site, 2, wires, controls, value, matrix)
    else:
        # No wording of its own: lowering takes codes from the table, so this is a mistake of ours.
        fail(context, SIZE_MISMATCH, site, code, len(GATES))


@kernel
def double_excitation(
    context: CallContext,
    state: State,
    site: i64,
    wires: ptr[i64],
    controls: i64,
    value: i64,
    phi: f64,
    others: f64,
) -> None:
    """Apply a rotation of |0011>, |1100>; everything else gets the phase exp(i others)."""
    matrix = stack_array(f64, 512)
    for k in range(512):
        matrix[k] = 0.0
    for row in range(16):
        matrix[34 * row], matrix[34 * row + 1] = cos(others), sin(others)
    c, s = cos(0.5 * phi), sin(0.5 * phi)
    low, high = 2 * (16 * 3 + 3), 2 * (16 * 12 + 12)
    matrix[low], matrix[low + 1], matrix[high], matrix[high + 1] = c, 0.0, c, 0.0
    matrix[low + 18], matrix[high - 18] = -s, s
    push_matrix(context, state, site, 4, wires, controls, value, matrix)


@kernel
def orbital_rotation(
    context: CallContext,
    state: State,
    site: i64,
    wires: ptr[i64],
    controls: i64,
    value: i64,
    phi: f64,
) -> None:
    """Apply PennyLane's decomposition; only the excitations need the controls."""
    matrix = stack_array(f64, 32)
    pair_matrix(FERMIONIC_SWAP, pi, matrix)
    push_matrix(context, state, site, 2, wires + 1, 0, 0, matrix)
    pair_matrix(SINGLE_EXCITATION, phi, matrix)
    push_matrix(context, state, site, 2, wires, controls, value, matrix)
    push_matrix(context, state, site, 2, wires + 2, controls, value, matrix)
    pair_matrix(FERMIONIC_SWAP, pi, matrix)
    push_matrix(context, state, site, 2, wires + 1, 0, 0, matrix)


@kernel
def word_rotation(
    context: CallContext,
    state: State,
    site: i64,
    code: i64,
    count: i64,
    wires: ptr[i64],
    controls: i64,
    value: i64,
    theta: f64,
) -> None:
    """Apply a rotation about a Pauli word: X on the first wires, then Y, then Z."""
    flipping: i64 = 0
    of_x: i64 = 0
    if code != MULTI_RZ:
        flipping = letters_flipping(code)
        of_x = flipping - letters_y(code)
    every = (1 << count) - 1
    flips = every & ~((1 << (count - flipping)) - 1)
    signs = (1 << (count - of_x)) - 1
    c, s = cos(0.5 * theta), sin(0.5 * theta)
    push_rotation(context, state, site, count, wires, controls, value, c, s, flips, signs)


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
    if code == MULTI_RZ or code >= PAULI_ROTATION:
        word_rotation(context, state, site, code, n_wires, wires, controls, value, parameter)
        return
    if n_wires != 4:
        fail(context, SIZE_MISMATCH, site, n_wires, 4)
        return
    if code == DOUBLE_EXCITATION:
        double_excitation(context, state, site, wires, controls, value, parameter, 0.0)
    elif code == DOUBLE_EXCITATION_PLUS:
        half = 0.5 * parameter
        double_excitation(context, state, site, wires, controls, value, parameter, half)
    elif code == DOUBLE_EXCITATION_MINUS:
        half = -0.5 * parameter
        double_excitation(context, state, site, wires, controls, value, parameter, half)
    elif code == ORBITAL_ROTATION:
        orbital_rotation(context, state, site, wires, controls, value, parameter)
    else:
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
