"""The exported gate functions: those of `state_vector.gates.gates`, of what density matrices do."""

from diastase_engine.call_context import SIZE_MISMATCH, CallContext, fail
from diastase_engine.density_matrix.gates.factors import push_factor
from diastase_engine.density_matrix.gates.gate_factors import MOST_NUMBERS, write_gate
from diastase_engine.density_matrix.operations.conjugation import Factor
from diastase_engine.density_matrix.state.memory import spoil
from diastase_engine.language import *
from diastase_engine.state_vector.gates import gates as pure
from diastase_engine.state_vector.gates.gates import MOST_PARAMETERS
from diastase_engine.state_vector.gates.matrices import is_on_one_wire
from diastase_engine.state_vector.queue.tape import keep_gate
from diastase_engine.state_vector.state.checks import add_to_mask
from diastase_engine.state_vector.state.records import State
from diastase_runtime.gate_table import GATES


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
    """Apply a gate on an array of checked wires, with (checked) controls."""
    p = stack_array(f64, MOST_PARAMETERS)
    p[0], p[1], p[2] = parameter, 0.0, 0.0
    push_gate(context, state, site, code, n_wires, wires, controls, value, p)


@kernel
def push_phase(state: State, phi: f64) -> None:
    """A phase changes no density matrix, but one that is no number spoils it."""
    if not phi * 0.0 == 0.0:
        spoil(state)


apply_on_wires = kernel_like(pure.apply_on_wires, push_on_wires=push_on_wires)
gate = kernel_like(pure.gate, apply_gate=apply_gate)
controlled_gate = kernel_like(pure.controlled_gate, apply_gate=apply_gate)
global_phase = kernel_like(pure.global_phase, push_phase=push_phase)
controlled_gate_on_wires = kernel_like(pure.controlled_gate_on_wires, apply_on_wires=apply_on_wires)
gate_on_wires = kernel_like(pure.gate_on_wires, controlled_gate_on_wires=controlled_gate_on_wires)
gate_run = kernel_like(pure.gate_run, apply_gate=apply_gate, apply_on_wires=apply_on_wires)
