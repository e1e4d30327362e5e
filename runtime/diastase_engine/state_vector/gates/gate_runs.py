"""Many gates by one call: a table of gates on known wires, applied in order.

Each gate is a row of numbers (`gate_table.run_row`): its code and how many targets, controls and
parameters it has, as one number; its site; the targets, the controls, the control values; and a
reference for each parameter: `k` for the k-th constant, `-1 - k` for the k-th parameter found at
run time. A gate that fails records its own site, and nothing after it is applied.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.language import f64, i64, kernel, ptr, stack_array
from diastase_engine.state_vector.gates.gates import apply_gate, apply_on_wires
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.state.wires import control_value, mask_of
from diastase_runtime.gate_table import FIELD_BITS, GATES

HEAD = 2
"""Numbers of a row before its wires."""
MASK = (1 << FIELD_BITS) - 1
FIRST_ON_WIRES = min(gate.code for gate in GATES.values() if gate.entry == "array")
"""From this code on, gates take an array of wires (a test checks that they come last)."""
MOST_PARAMETERS = 3


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
