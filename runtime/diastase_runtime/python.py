"""Python as compiled code calls it: callbacks, and handlers of signals; what these raise.

Python handles signals in its main thread, between two instructions. Compiled code polls for them
(`threads.python` of the engine), so that a handler is called within a tenth of a second; what it
raises is kept by the library of the thread pool, and is raised after the call.

For a callback, compiled code calls `call_back(CallContext*, i64 site, function, descriptors)` of
the thread pool's library: the last is the address of an array of addresses, of one descriptor for
each argument, then of one for each result, which the program has allocated. The function gets
copies of the arguments, because it may keep them. An exception cannot cross native code:
`call_back` keeps it in the context of the call, and the loader raises it after the call. Once an
error is recorded no further callback of that call runs.
"""

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_runtime.abi import ArrayType, CallbackType, library_symbol
from diastase_runtime.arrays.memref import array_at, numpy_dtype
from diastase_runtime.call_observer import called_back
from diastase_runtime.errors import CallbackResultError

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


def called_by_programs(
    kind: CallbackType, function: Callable[..., Sequence[np.ndarray]]
) -> Callable[[int], None]:
    """Wrap a function of NumPy arrays as one of the address that `call_back` hands over.

    The caller keeps it alive for as long as programs may call it.
    """
    arrays = (*kind.arguments, *kind.results)
    split = len(kind.arguments)
    addresses_at = (ctypes.c_int64 * len(arrays)).from_address

    def call(descriptors: int) -> None:
        addresses = addresses_at(descriptors)
        views = [_view(at, array) for at, array in zip(addresses, arrays, strict=True)]
        try:
            results = called_back(function)(*(view.copy() for view in views[:split]))
            for place, result in zip(range(split, len(views)), results, strict=True):
                _store(views[place], result)
        finally:
            views.clear()  # which an error's traceback would show after the memory is freed

    return call


def _view(descriptor: int, kind: ArrayType) -> np.ndarray:
    """View the array of a descriptor."""
    words = (ctypes.c_int64 * (3 + kind.rank)).from_address(descriptor)
    return array_at(words[1], tuple(words[3:]), numpy_dtype(kind.dtype))


def _store(view: np.ndarray, result: Any) -> None:
    """Write a result where the program wants it; all but its sizes were checked before."""
    array = np.asarray(result)
    if array.shape != view.shape or array.dtype != view.dtype:
        found, expected = (f"{one.dtype}{list(one.shape)}" for one in (array, view))
        del view
        raise CallbackResultError(found=found, expected=expected)
    view[...] = array
