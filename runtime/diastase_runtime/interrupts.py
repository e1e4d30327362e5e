"""What Python raises while compiled code runs: in handlers of signals, in callbacks.

Python handles signals in its main thread, between two instructions. Compiled code polls for them
(`threads.python` of the engine), so that a handler is called within a tenth of a
second; what it raises is kept by the library of the thread pool, what a callback raises in the
context of its call, and is raised after the call.
"""

import ctypes
import os
import signal
import threading
from typing import Any

from diastase_runtime.abi import library_symbol

_FUNCTIONS = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_CheckSignals",
    "PyErr_Fetch",
    "PyLong_FromVoidPtr",
    "PyObject_CallOneArg",
    "Py_DecRef",
)
_restore: Any = ctypes.pythonapi.PyErr_Restore
_restore.restype = None


def tell_of_python(pool: ctypes.CDLL) -> None:
    """Tell the thread pool how it lets Python handle signals, and how it calls functions."""
    functions = [
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _FUNCTIONS
    ]
    use_python = pool[library_symbol("threads", "use_python")]

    def tell() -> None:
        use_python(ctypes.c_uint64(threading.main_thread().ident or 0), *functions)

    tell()
    os.register_at_fork(after_in_child=tell)


def raised_by_a_handler(pool: ctypes.CDLL) -> BaseException | None:
    """What a handler of signals raised in the call that has just ended; only in the main thread."""
    if not is_main_thread():
        return None
    raised = (ctypes.c_int64 * 3)()
    pool[library_symbol("threads", "take_raised")](raised)
    return raised_in(raised) if raised[0] else None


def raised_in(words: "ctypes.Array[ctypes.c_int64]") -> BaseException:
    """Make the exception of what `PyErr_Fetch` wrote; the words belong to it, so only once."""
    fetched, words[:3] = words[:3], [0, 0, 0]
    try:  # without argument types, whose conversion hides a RecursionError
        _restore(*map(ctypes.c_void_p, fetched))
    except BaseException as error:
        return error
    return SystemError("nothing was raised")


def raises_on_ctrl_c() -> bool:
    """Whether `PyErr_SetInterrupt` makes this thread raise `KeyboardInterrupt`."""
    return is_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def is_main_thread() -> bool:
    """Whether signals are handled in this thread."""
    return threading.get_ident() == threading.main_thread().ident
