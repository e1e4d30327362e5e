"""Many gates on known wires by one call, in order.

The table is that of a state vector's `gate_run` (`state_vector.gates.gates`). Of the parameters
found at run time, number k is the numbers of all lanes from `k * lanes` on; constants are the same
in all lanes.
"""

from diastase_engine.call_context import CallContext
from diastase_engine.lanes.gates import gate
from diastase_engine.lanes.records import lanes_of
from diastase_engine.language import *
from diastase_engine.state_vector.gates.gates import HEAD, MASK
from diastase_engine.state_vector.state.checks import cannot_run
from diastase_engine.state_vector.state.records import State
from diastase_runtime.gate_table import FIELD_BITS


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
    position: i64 = 0
    for _ in range(count):
        if cannot_run(context, state):
            return
        row = table + position
        n_wires = (row[0] >> FIELD_BITS) & MASK
        n_controls = (row[0] >> (2 * FIELD_BITS)) & MASK
        n_parameters = (row[0] >> (3 * FIELD_BITS)) & MASK
        wires = row + HEAD
        controls = wires + n_wires
        values = controls + n_controls
        references = values + n_controls
        gate(
            context, state, row[1], row[0] & MASK, n_controls, controls, values,
            wires[0], wires[n_wires - 1],
            parameter_of(state, 0, n_parameters, references, constants, parameters),
            parameter_of(state, 1, n_parameters, references, constants, parameters),
            parameter_of(state, 2, n_parameters, references, constants, parameters),
        )  # fmt: skip
        position += HEAD + n_wires + 2 * n_controls + n_parameters


@kernel
def parameter_of(
    state: State,
    number: i64,
    count: i64,
    references: ptr[i64],
    constants: ptr[f64],
    parameters: ptr[f64],
) -> ptr[f64]:
    """Where the numbers of a gate's parameter are; null where it has fewer."""
    if number >= count:
        return null(ptr[f64])
    lanes = lanes_of(state)
    if references[number] < 0:
        return parameters + (-1 - references[number]) * lanes.lanes
    same_for_all = lanes.angles + number * lanes.lanes
    for lane in range(lanes.lanes):
        same_for_all[lane] = constants[references[number]]
    return same_for_all
