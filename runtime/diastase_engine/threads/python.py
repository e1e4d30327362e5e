"""Python as compiled code calls it: functions of its C interface, and callbacks.

A callback is a Python function of one number, the address of its descriptors' addresses. Whatever
it raises is kept in the context of the call, also what is raised before its first line: there
handlers of signals run, and `RecursionError` is raised. (What ctypes makes of a Python function
prints such an exception and forgets it.)
"""

from diastase_engine.call_context import CALLBACK_RAISED, CallContext, fail
from diastase_engine.language import (
    Record,
    call_through,
    code,
    f64,
    i32,
    i64,
    is_null,
    kernel,
    null,
    ptr,
    shared,
    signature,
)

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
