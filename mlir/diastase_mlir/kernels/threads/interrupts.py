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

from diastase_mlir.kernels.language import (
    Record,
    call_through,
    cast,
    code,
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
from diastase_mlir.kernels.state_vector.failures import IN_CALLBACK, INTERRUPTED, fail
from diastase_mlir.kernels.state_vector.records import CallContext
from diastase_runtime.abi import POLLS

PERIOD = 1 << 28
"""Ticks between two looks at signals: a tenth of a second or less."""
_ENSURE = signature([], i32)
_RELEASE = signature([i32])
_CHECK = signature([], i32)
_FETCH = signature([ptr[i64], ptr[i64], ptr[i64]])

this_thread = external("pthread_self", [], i64)


class Interrupts(Record):
    """Functions of Python's C interface, and what a handler has raised."""

    main: i64
    """The main thread."""
    checked: i64
    """When signals were looked for the last time."""
    ensure: code
    release: code
    check: code
    fetch: code
    raised: Annotated[ptr[i64], 3]
    """Type, value and traceback, as `PyErr_Restore` takes them."""


_INTERRUPTS = shared(Interrupts)


@kernel
def use_python(main: i64, ensure: code, release: code, check: code, fetch: code) -> None:
    """Say which thread handles signals, and how; again in a forked process."""
    interrupts = _INTERRUPTS
    interrupts.main = main
    interrupts.ensure = ensure
    interrupts.release = release
    interrupts.check = check
    interrupts.fetch = fetch


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
        if this_thread() == interrupts.main:
            interrupts.checked = ticks()
            handle_signals(context)
    if not is_null(context.outer) and cast(context.outer, CallContext).code == INTERRUPTED:
        fail(context, INTERRUPTED, -1, 0, 0)


@kernel
def handle_signals(context: CallContext) -> None:
    """Let Python call its handlers, in the main thread; record an error if one has raised."""
    interrupts = _INTERRUPTS
    if context.code != 0 or is_null(interrupts.check):
        return
    state = call_through(interrupts.ensure, _ENSURE)
    if call_through(interrupts.check, _CHECK) != 0:
        raised = interrupts.raised
        call_through(interrupts.fetch, _FETCH, raised, raised + 1, raised + 2)
        fail(context, INTERRUPTED, -1, 0, 0)
    call_through(interrupts.release, _RELEASE, state)


@kernel
def before_callback(context: CallContext, site: i64) -> None:
    """Record that Python is being called, which the function takes back when it is over.

    Signals that came while no Python ran are handled before, or the function would be left where it
    begins, and nobody would know: what ctypes calls has nobody to raise its exceptions to.
    """
    if this_thread() == _INTERRUPTS.main:
        handle_signals(context)
    fail(context, IN_CALLBACK, site, 0, 0)


@kernel
def take_raised(raised: ptr[i64]) -> None:
    """Hand over what a handler has raised."""
    for number in range(3):
        raised[number] = _INTERRUPTS.raised[number]
        _INTERRUPTS.raised[number] = 0
