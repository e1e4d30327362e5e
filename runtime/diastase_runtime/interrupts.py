"""Signals that arrive while compiled code runs: Ctrl-C, alarms.

Python handles signals in its main thread, between two instructions. Compiled code polls for them
(`kernels.threads.interrupts` of the compiler), so that a handler is called within a tenth of a
second; what it raises is kept by the library of the thread pool, and is raised after the call.
"""

import ctypes
import os
import threading
from typing import Any

from diastase_runtime.abi import library_symbol

_FUNCTIONS = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")
_restore: Any = ctypes.pythonapi.PyErr_Restore
_restore.restype, _restore.argtypes = None, [ctypes.c_void_p] * 3


def let_poll(pool: ctypes.CDLL) -> None:
    """Tell the thread pool how it lets Python handle signals."""
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
    if not raised[0]:
        return None
    try:
        _restore(*raised)
    except BaseException as error:
        return error
    return None


def is_main_thread() -> bool:
    """Whether signals are handled in this thread."""
    return threading.get_ident() == threading.main_thread().ident
