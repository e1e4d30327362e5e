"""Python as compiled code calls it: callbacks, and handlers of signals (Ctrl-C and every other).

A callback is a Python function of one number, the address of its descriptors' addresses. Whatever
it raises is kept in the context of the call, also what is raised before its first line: there
handlers of signals run, and `RecursionError` is raised. (What ctypes makes of a Python function
prints such an exception and forgets it.)

Python notes a signal and calls its handler in the main thread, between two instructions of Python's
own: not before compiled code has returned. So long-running code *polls*: about ten times a second
it lets Python call its handlers, if it is in the main thread. What a handler raises is kept here,
and `INTERRUPTED` is recorded, by which the call ends early as for any other error. Elements of a
batch on other threads end with the call that they are a part of.

Polls stand in loops. Most of them only count down (`CallContext.polls`); one in `POLLS` reads the
clock. What takes long between two polls reads the clock every time (`poll_now`).
"""

from typing import Annotated

from diastase_engine.call_context import CALLBACK_RAISED, INTERRUPTED, CallContext, fail
from diastase_engine.language import *
from diastase_runtime.abi import POLLS

_ENSURE = signature([], i32)
_RELEASE = signature([i32])
_FETCH = signature([ptr[i64], ptr[i64], ptr[i64]])
_INTEGER = signature([ptr[f64]], ptr[f64])
_CALL = signature([ptr[f64], ptr[f64]], ptr[f64])
_DECREF = signature([ptr[f64]])


class Python(Record):
    """Functions of Python's C interface, in the order in which `use_python` takes them."""

    main: i64
    """The main thread, in which signals are handled."""
    ensure: code
    release: code
    check_signals: code
    fetch: code
    integer: code
    call: code
    decref: code


PYTHON = shared(Python)


@kernel
def use_python(
    main: i64,
    ensure: code,
    release: code,
    check_signals: code,
    fetch: code,
    integer: code,
    call: code,
    decref: code,
) -> None:
    """Say how Python is called; again in a forked process, which has another main thread."""
    python = PYTHON
    python.main = main
    python.ensure = ensure
    python.release = release
    python.check_signals = check_signals
    python.fetch = fetch
    python.integer = integer
    python.call = call
    python.decref = decref


@kernel
def acquire_gil() -> i32:
    """Acquire the GIL; `release_gil` takes what is returned."""
    return call_through(PYTHON.ensure, _ENSURE)


@kernel
def release_gil(state: i32) -> None:
    """Release it."""
    call_through(PYTHON.release, _RELEASE, state)


@kernel
def fetch(raised: ptr[i64]) -> None:
    """Take what was raised: type, value and traceback, as `PyErr_Restore` takes them."""
    call_through(PYTHON.fetch, _FETCH, raised, raised + 1, raised + 2)


@kernel
def call_back(context: CallContext, site: i64, function: ptr[f64], descriptors: ptr[f64]) -> None:
    """Call a Python function; once an error is recorded nothing happens."""
    if context.code != 0:
        return
    python = PYTHON
    state = acquire_gil()
    result = null(ptr[f64])
    address = call_through(python.integer, _INTEGER, descriptors)
    if not is_null(address):
        result = call_through(python.call, _CALL, function, address)
        call_through(python.decref, _DECREF, address)
    if is_null(result):
        fail(context, CALLBACK_RAISED, site, 0, 0)
        fetch(context.detail)
    else:
        call_through(python.decref, _DECREF, result)
    release_gil(state)


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
