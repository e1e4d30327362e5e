"""Transfer matrices applied to states."""

from diastase_engine.call_context import CallContext
from diastase_engine.density_matrix.operations.groups import apply_to_groups
from diastase_engine.density_matrix.state.digits import MAX_WIRES, digits_of
from diastase_engine.language import *
from diastase_engine.state_vector.state.records import State


@kernel
def apply_transfer(
    context: CallContext, state: State, site: i64, count: i64, wires: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a transfer matrix on checked wires."""
    bits = stack_array(i64, 2 * MAX_WIRES)
    digits_of(state, count, wires, bits)
    apply_bits(context, state, site, 2 * count, bits, matrix)


@kernel
def apply_bits(
    context: CallContext, state: State, site: i64, count: i64, bits: ptr[i64], matrix: ptr[f64]
) -> None:
    """Apply a real matrix on index bits, the first one most significant."""
    if state.spoilt != 0:
        return
    state.gates += 1
    apply_to_groups(context, state, site, count, bits, matrix)


@inline
def flush(state: State) -> None:
    """Apply what waits: nothing yet."""
