"""Gates on several bits as operations with one target bit, exactly.

In: bits, or wires already checked; `controls` and `value` restrict every gate. The identities:

* `PARITY`: an operation of its own (`parity_operations`). With controls, or where tiles
are small:
  with b the second bit, CNOT(a, b) turns b into the parity; the two matrices act on a, selected
  by b; the same CNOT turns b back. Controls are needed in the middle only;
* SWAP renames wires where it has no controls; with controls it is a PARITY gate;
* MultiRZ: CNOTs gather the parity on the last bit, and put it back;
* DoubleExcitation: CNOTs from the first bit make |0011> and |1100> differ in that bit alone.
  Plus and Minus have a phase on everything and its inverse on those two.
"""

from math import pi

from diastase_engine.language import *
from diastase_engine.state_vector.gates.matrices import (
    IDENTITY,
    PARITY,
    PAULI_X,
    SELECTED_THEN_FLIP,
    SELECTED_THEN_SWAP,
    pair_matrices,
    rotation_y,
    rotation_z,
    scalar,
    write,
)
from diastase_engine.state_vector.queue.queue import push_even_odd, push_selected, push_single
from diastase_engine.state_vector.state.checks import bits_of
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.tiles.plan_records import SLOTS
from diastase_runtime.gate_table import GATES

SWAP = GATES["SWAP"].code
SINGLE_EXCITATION = GATES["SingleExcitation"].code
FERMIONIC_SWAP = GATES["FermionicSWAP"].code


@kernel
def push_flip(state: State, target: i64, controls: i64, value: i64) -> None:
    """Queue a controlled X."""
    matrix = stack_array(f64, 8)
    write(PAULI_X, matrix)
    push_single(state, target, controls, value, matrix)


@kernel
def push_parity(
    state: State,
    first: i64,
    second: i64,
    controls: i64,
    value: i64,
    even: ptr[f64],
    odd: ptr[f64],
) -> None:
    """Queue a PARITY gate on two bits: one operation where a tile has room for both."""
    if controls == 0 and SLOTS > 1 and is_null(state.capture):
        push_even_odd(state, first, second, even, odd)
        return
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
def exchange_bits(state: State, first: i64, second: i64) -> None:
    """Exchange two bits in memory and by name: no wire notices."""
    push_flip(state, second, 1 << first, 1 << first)
    push_flip(state, first, 1 << second, 1 << second)
    push_flip(state, second, 1 << first, 1 << first)
    exchange_names(state, first, second)


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
def multi_rz(
    state: State, count: i64, wires: ptr[i64], controls: i64, value: i64, theta: f64
) -> None:
    """exp(-i theta/2 Z...Z): the parity is gathered on the last wire and put back."""
    last = state.bit_of_wire[wires[count - 1]]
    for k in range(count - 1):
        bit = state.bit_of_wire[wires[k]]
        push_flip(state, last, 1 << bit, 1 << bit)
    matrix = stack_array(f64, 8)
    write(rotation_z(theta), matrix)
    push_single(state, last, controls, value, matrix)
    for k in range(count - 1):  # backwards, so that the last CNOTs become one with the rotation
        bit = state.bit_of_wire[wires[count - 2 - k]]
        push_flip(state, last, 1 << bit, 1 << bit)


@kernel
def double_excitation(
    state: State, wires: ptr[i64], controls: i64, value: i64, phi: f64, others: f64
) -> None:
    """Queue a rotation of |0011>, |1100>; everything else gets the phase exp(i others)."""
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
    if others != 0.0 or not is_null(state.capture):
        # What is captured must not depend on parameters.
        write(scalar(-others), matrix)
        push_single(state, target, mask, rest_value, matrix)
        write(scalar(others), matrix)
        push_single(state, target, controls, value, matrix)
    write(rotation_y(phi), matrix)
    push_single(state, target, mask, rest_value, matrix)
    for k in range(1, 4):
        push_flip(state, state.bit_of_wire[wires[k]], 1 << target, 1 << target)


@kernel
def orbital_rotation(state: State, wires: ptr[i64], controls: i64, value: i64, phi: f64) -> None:
    """Queue PennyLane's decomposition; only the excitations need the controls."""
    bits = stack_array(i64, 4)
    bits_of(state, 4, wires, bits)
    push_pair(state, FERMIONIC_SWAP, bits[1], bits[2], 0, 0, pi)
    push_pair(state, SINGLE_EXCITATION, bits[0], bits[1], controls, value, phi)
    push_pair(state, SINGLE_EXCITATION, bits[2], bits[3], controls, value, phi)
    push_pair(state, FERMIONIC_SWAP, bits[1], bits[2], 0, 0, pi)
