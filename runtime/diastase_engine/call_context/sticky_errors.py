"""Sticky errors: the first failure of a call is kept in its context, later ones are ignored.

After a failure nothing happens any more: exported functions ask for one first, and give zero.
"""

from diastase_engine.call_context.records import CallContext
from diastase_engine.language import i64, kernel
from diastase_runtime.abi import ErrorCode

WIRE_OUT_OF_RANGE = int(ErrorCode.WIRE_OUT_OF_RANGE)
OVERLAPPING_WIRES = int(ErrorCode.OVERLAPPING_WIRES)
OUT_OF_MEMORY = int(ErrorCode.OUT_OF_MEMORY)
IMPOSSIBLE_POSTSELECTION = int(ErrorCode.IMPOSSIBLE_POSTSELECTION)
NEGATIVE_QUBITS = int(ErrorCode.NEGATIVE_QUBITS)
TOO_MANY_QUBITS = int(ErrorCode.TOO_MANY_QUBITS)
SIZE_MISMATCH = int(ErrorCode.SIZE_MISMATCH)
INVALID_SHOTS = int(ErrorCode.INVALID_SHOTS)
NOT_A_NUMBER = int(ErrorCode.NOT_A_NUMBER)
INTERRUPTED = int(ErrorCode.INTERRUPTED)
CALLBACK_RAISED = int(ErrorCode.CALLBACK_RAISED)


@kernel
def fail(context: CallContext, code: i64, site: i64, first: i64, second: i64) -> None:
    """Record an error, unless there is one."""
    if context.code == 0:
        context.code = code
        context.site = site
        context.detail[0] = first
        context.detail[1] = second
