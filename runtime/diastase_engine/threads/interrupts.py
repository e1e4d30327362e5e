"""Ctrl-C, and every other signal that Python handles, while compiled code runs.

Python notes a signal and calls its handler in the main thread, between two instructions of Python's
own: not before compiled code has returned. So long-running code *polls*: about ten times a second
it lets Python call its handlers, if it is in the main thread. What a handler raises is kept here,
and `INTERRUPTED` is recorded, by which the call ends early as for any other error.

Elements of a batch on other threads end with the call that they are a part of.

Polls stand in loops. Most of them only count down (`CallContext.polls`); one in `POLLS` reads the
clock. What takes long between two polls reads the clock every time (`poll_now`).
"""

from typing import Annotated

from diastase_engine.call_context import INTERRUPTED, CallContext, fail
from diastase_engine.language import (
    Record,
    call_through,
    cast,
    external,
    i32,
    i64,
    is_null,
    kernel,
    ptr,
    shared,
    signature,
    ticks,
)
from diastase_engine.threads.python import PYTHON, acquire_gil, fetch, release_gil
from diastase_runtime.abi import POLLS

PERIOD = 1 << 28
"""Ticks between two looks at signals: a tenth of a second or less."""
_CHECK = signature([], i32)

this_thread = external("pthread_self", [], i64)


class Interrupts(Record):
    """When there were signals, and what came of them."""

    checked: i64
    """When they were looked for the last time."""
    raised: Annotated[ptr[i64], 3]
    """What a handler has raised."""


_INTERRUPTS = shared(Interrupts)


@kernel
def poll(context: CallContext) -> None:
    """Let Python handle signals if it is time; called often."""
    context.polls -= 1
    if context.polls < 0:
        context.polls = POLLS
        poll_now(context)


@kernel
def poll_now(context: CallContext) -> None:
    """The same where much time may have passed since the last poll."""
    interrupts = _INTERRUPTS
    elapsed = ticks() - interrupts.checked
    if elapsed < 0 or elapsed >= PERIOD:
        if this_thread() == PYTHON.main:
            interrupts.checked = ticks()
            handle_signals(context)
    if not is_null(context.outer) and cast(context.outer, CallContext).code == INTERRUPTED:
        fail(context, INTERRUPTED, -1, 0, 0)


@kernel
def handle_signals(context: CallContext) -> None:
    """Let Python call its handlers, in the main thread; record an error if one has raised.

    Also where another error is recorded: the call may be waiting for elements on other threads,
    which end for an interrupt only.
    """
    if context.code == INTERRUPTED or is_null(PYTHON.check_signals):
        return
    state = acquire_gil()
    if call_through(PYTHON.check_signals, _CHECK) != 0:
        fetch(_INTERRUPTS.raised)
        context.code = INTERRUPTED
    release_gil(state)


@kernel
def take_raised(raised: ptr[i64]) -> None:
    """Hand over what a handler has raised."""
    for number in range(3):
        raised[number] = _INTERRUPTS.raised[number]
        _INTERRUPTS.raised[number] = 0
