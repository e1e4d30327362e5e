"""Rows of the tape that only density matrices have; see `state_vector.queue.tape`."""

from diastase_engine.call_context import CallContext
from diastase_engine.language import *
from diastase_engine.state_vector.queue.tape import PREPARE, Tape, keep
from diastase_engine.state_vector.state.records import State

SUPEROPERATOR, REPLACE = PREPARE + 1, PREPARE + 2


@kernel
def keep_real(
    context: CallContext,
    state: State,
    site: i64,
    kind: i64,
    n_wires: i64,
    wires: ptr[i64],
    count: i64,
    numbers: ptr[f64],
) -> None:
    """Keep an operation that is given by so many numbers."""
    tape = cast(state.tape, Tape)
    derivatives: i64 = count if tape.differentiated != 0 else 0
    tape.differentiated = 0
    keep(context, state, site, kind, n_wires, wires, 0, 0, count, numbers, derivatives)
