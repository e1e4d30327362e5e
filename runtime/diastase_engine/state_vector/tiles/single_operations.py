"""One operation applied to all amplitudes, in one pass or two."""

from diastase_engine.language import kernel
from diastase_engine.state_vector.state.records import LANE_BITS, LANE_MASK, Operation, State
from diastase_engine.state_vector.tiles.parity_sweeps import sweep_pair
from diastase_engine.state_vector.tiles.sweeps import is_identity, sweep


@kernel
def apply_operation(state: State, operation: Operation) -> None:
    """Apply one operation to the amplitudes."""
    if operation.flips != 0:
        sweep_pair(state, operation)
        return
    mask = operation.mask >> LANE_BITS
    value = operation.value >> LANE_BITS
    lane_mask = operation.mask & LANE_MASK
    lane_value = operation.value & LANE_MASK
    if mask == 0 or not is_identity(operation.matched):
        sweep(state, operation, mask, value, lane_mask, lane_value)
    if mask != 0 and not is_identity(operation.otherwise):
        # One selector, a block bit: no lane can match, so every lane takes `otherwise`.
        sweep(state, operation, mask, value ^ mask, 0, 1)
