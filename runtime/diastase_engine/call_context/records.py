"""Memory layout of the call context: all that the libraries know of the call that they serve.

The trap: it must match `diastase_runtime.abi.CallContext`; a test compares them.
"""

from typing import Annotated

from diastase_engine.language import Record, f64, i64, ptr


class CallContext(Record):
    """State of one call of a compiled program: errors, random numbers, quantum states."""

    code: i64
    site: i64
    detail: Annotated[ptr[i64], 4]
    seed: i64
    counter: i64
    states: ptr[f64]
    """The first of the `State`s that are alive, or null."""
    scripts: ptr[f64]
    """The first of the `OutcomeScript`s that are alive, or null."""
    gates: i64
    operations: i64
    stages: i64
    """The sums of what the states that were released have counted."""
    memory: i64
    """Bytes that the process can have, 0 where that is not known."""
    polls: i64
    """How often the call polls for signals until it reads the clock; see `threads.interrupts`."""
    outer: ptr[f64]
    """The context of the call that this is a part of, an element of a batch; or null."""
