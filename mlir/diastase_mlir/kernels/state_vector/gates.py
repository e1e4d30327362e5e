"""Named gates with any number of controls, as operations on the queue.

In: codes of `gate_table`, wires and parameters. Every gate becomes operations with one target bit
(see `records.Operation`), exactly:

* `PARITY`: with b the second wire, CNOT(a, b) turns b into the parity; the two matrices act on a,
  selected by b; the same CNOT turns b back. Controls are needed in the middle only;
* SWAP renames wires where it has no controls; with controls it is a PARITY gate;
* DoubleExcitation: CNOTs from the first wire make |0011> and |1100> differ in that wire alone;
* DoubleExcitationPlus and Minus: that phase on everything, and its inverse on the two.
"""

from math import pi

from diastase_mlir.kernels.gate_table import GATES
from diastase_mlir.kernels.language import f64, i1, i64, kernel, ptr, stack_array
from diastase_mlir.kernels.state_vector.failures import SIZE_MISMATCH, cannot_run, fail
from diastase_mlir.kernels.state_vector.matrices import (
    IDENTITY,
    PARITY,
    PAULI_X,
    SELECTED_THEN_FLIP,
    SELECTED_THEN_SWAP,
    base_of_controlled,
    pair_matrices,
    rotation_y,
    rotation_z,
    scalar,
    single_matrix,
    write,
)
from diastase_mlir.kernels.state_vector.queue import push_selected, push_single
from diastase_mlir.kernels.state_vector.records import CallContext, State
from diastase_mlir.kernels.state_vector.wires import add_to_mask, control_value, mask_of

MULTI_RZ = GATES["MultiRZ"].code
DOUBLE_EXCITATION = GATES["DoubleExcitation"].code
DOUBLE_EXCITATION_PLUS = GATES["DoubleExcitationPlus"].code
DOUBLE_EXCITATION_MINUS = GATES["DoubleExcitationMinus"].code
ORBITAL_ROTATION = GATES["OrbitalRotation"].code
SINGLE_EXCITATION = GATES["SingleExcitation"].code
SWAP = GATES["SWAP"].code
FERMIONIC_SWAP = GATES["FermionicSWAP"].code


@kernel
def push_flip(state: State, target: i64, controls: i64, value: i64) -> None:
    """Queue a controlled X."""
    matrix = stack_array(f64, 8)
    write(PAULI_X, matrix)
    push_single(state, target, controls, value, matrix)


@kernel
def push_parity(
    state: State, first: i64, second: i64, controls: i64, value: i64,
    even: ptr[f64], odd: ptr[f64],
) -> None:
    """Queue a PARITY gate on two bits."""
    push_flip(state, second, 1 << first, 1 << first)
    push_selected(state, first, second, controls, value, even, odd)
    push_flip(state, second, 1 << first, 1 << first)


@kernel
def push_swap(state: State, first: i64, second: i64, controls: i64, value: i64) -> None:
    """Exchange two bits: by name where there are no controls."""
    if controls == 0:
        exchange_names(state, first, second)
        return
    even, odd = stack_array(f64, 8), stack_array(f64, 8)
    write(IDENTITY, even)
    write(PAULI_X, odd)
    push_parity(state, first, second, controls, value, even, odd)


@kernel
def exchange_names(state: State, first: i64, second: i64) -> None:
    """Let the wires of two bits change places."""
    for wire in range(state.qubits):
        bit = state.bit_of_wire[wire]
        if bit == first:
            state.bit_of_wire[wire] = second
        elif bit == second:
            state.bit_of_wire[wire] = first


@kernel
def push_pair(
    state: State, code: i64, first: i64, second: i64, controls: i64, value: i64, parameter: f64
) -> i1:
    """Queue a gate on two bits that is no controlled gate; false where `code` is none."""
    if code == SWAP:
        push_swap(state, first, second, controls, value)
        return True
    a, b = stack_array(f64, 8), stack_array(f64, 8)
    shape = pair_matrices(code, parameter, a, b)
    if shape < 0:
        return False
    if shape == PARITY:
        push_parity(state, first, second, controls, value, a, b)
        return True
    push_selected(state, second, first, controls, value, a, b)
    if shape == SELECTED_THEN_FLIP:
        push_flip(state, first, controls, value)
    if shape == SELECTED_THEN_SWAP:
        push_swap(state, first, second, controls, value)
    return True


@kernel
def apply_gate(
    context: CallContext, state: State, site: i64, code: i64, controls: i64, value: i64,
    wire0: i64, wire1: i64, p0: f64, p1: f64, p2: f64,
) -> None:
    """Queue a gate on one or two wires with (checked) controls."""
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
    context: CallContext, state: State, site: i64, code: i64, wire0: i64, wire1: i64,
    p0: f64, p1: f64, p2: f64,
) -> None:
    """A named gate on one or two wires."""
    if cannot_run(context, state):
        return
    apply_gate(context, state, site, code, 0, 0, wire0, wire1, p0, p1, p2)


@kernel
def controlled_gate(
    context: CallContext, state: State, site: i64, code: i64, n_controls: i64,
    controls: ptr[i64], control_values: ptr[i64], wire0: i64, wire1: i64,
    p0: f64, p1: f64, p2: f64,
) -> None:
    """A named gate on one or two wires with controls."""
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
    matrix = stack_array(f64, 8)
    write(scalar(-phi), matrix)
    # On bit 0, which a state without qubits has too: the lanes beyond it are zero.
    push_single(state, 0, 0, 0, matrix)


@kernel
def multi_rz(state: State, count: i64, wires: ptr[i64], controls: i64, value: i64, theta: f64
             ) -> None:
    """exp(-i theta/2 Z...Z): the parity is gathered on the last wire and put back."""
    last = state.bit_of_wire[wires[count - 1]]
    for k in range(count - 1):
        bit = state.bit_of_wire[wires[k]]
        push_flip(state, last, 1 << bit, 1 << bit)
    matrix = stack_array(f64, 8)
    write(rotation_z(theta), matrix)
    push_single(state, last, controls, value, matrix)
    for k in range(count - 1):
        bit = state.bit_of_wire[wires[k]]
        push_flip(state, last, 1 << bit, 1 << bit)


@kernel
def double_excitation(
    state: State, wires: ptr[i64], controls: i64, value: i64, phi: f64, others: f64
) -> None:
    """A rotation of |0011>, |1100>; everything else gets the phase exp(i others)."""
    target = state.bit_of_wire[wires[0]]
    mask: i64 = controls
    rest_value: i64 = value
    for k in range(1, 4):
        bit = state.bit_of_wire[wires[k]]
        push_flip(state, bit, 1 << target, 1 << target)
        mask |= 1 << bit
        if k > 1:
            rest_value |= 1 << bit
    matrix = stack_array(f64, 8)
    if others != 0.0:
        write(scalar(-others), matrix)
        push_single(state, target, mask, rest_value, matrix)
        write(scalar(others), matrix)
        push_single(state, target, controls, value, matrix)
    write(rotation_y(phi), matrix)
    push_single(state, target, mask, rest_value, matrix)
    for k in range(1, 4):
        push_flip(state, state.bit_of_wire[wires[k]], 1 << target, 1 << target)


@kernel
def orbital_rotation(
    context: CallContext, state: State, site: i64, wires: ptr[i64], controls: i64, value: i64,
    phi: f64,
) -> None:
    """PennyLane's decomposition; only the excitations need the controls."""
    apply_gate(
        context, state, site, FERMIONIC_SWAP, 0, 0, wires[1], wires[2], pi, 0.0, 0.0
    )
    for k in range(0, 4, 2):
        apply_gate(
            context, state, site, SINGLE_EXCITATION, controls, value,
            wires[k], wires[k + 1], phi, 0.0, 0.0,
        )
    apply_gate(
        context, state, site, FERMIONIC_SWAP, 0, 0, wires[1], wires[2], pi, 0.0, 0.0
    )


@kernel
def apply_on_wires(
    context: CallContext, state: State, site: i64, code: i64, n_wires: i64, wires: ptr[i64],
    controls: i64, value: i64, parameter: f64,
) -> None:
    """Queue a gate on an array of wires, with (checked) controls."""
    if mask_of(context, state, site, n_wires, wires, controls) < 0:
        return
    if n_wires < 1:
        fail(context, SIZE_MISMATCH, site, n_wires, 1)
        return
    if code == MULTI_RZ:
        multi_rz(state, n_wires, wires, controls, value, parameter)
        return
    if n_wires != 4:
        fail(context, SIZE_MISMATCH, site, n_wires, 4)
        return
    if code == DOUBLE_EXCITATION:
        double_excitation(state, wires, controls, value, parameter, 0.0)
    elif code == DOUBLE_EXCITATION_PLUS:
        double_excitation(state, wires, controls, value, parameter, 0.5 * parameter)
    elif code == DOUBLE_EXCITATION_MINUS:
        double_excitation(state, wires, controls, value, parameter, -0.5 * parameter)
    elif code == ORBITAL_ROTATION:
        orbital_rotation(context, state, site, wires, controls, value, parameter)
    else:
        fail(context, SIZE_MISMATCH, site, code, len(GATES))


@kernel
def gate_on_wires(
    context: CallContext, state: State, site: i64, code: i64, n_wires: i64, wires: ptr[i64],
    n_parameters: i64, parameters: ptr[f64],
) -> None:
    """A named gate on an array of wires; all of them have one parameter."""
    if cannot_run(context, state):
        return
    if n_parameters != 1:
        fail(context, SIZE_MISMATCH, site, n_parameters, 1)
        return
    apply_on_wires(context, state, site, code, n_wires, wires, 0, 0, parameters[0])


@kernel
def controlled_gate_on_wires(
    context: CallContext, state: State, site: i64, code: i64, n_controls: i64,
    controls: ptr[i64], control_values: ptr[i64], n_wires: i64, wires: ptr[i64],
    n_parameters: i64, parameters: ptr[f64],
) -> None:
    """A named gate on an array of wires, with controls."""
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
