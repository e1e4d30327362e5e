"""Python functions called from compiled code.

Compiled code calls `void (CallContext*, i64 site, argument descriptor*…, result descriptor*…)`
and has allocated the results. The function gets copies of the arguments, because it may keep
them. An exception cannot cross native code: it is kept under the address of its call's context,
the error is recorded there, and the loader raises it after the call. Once an error is recorded no
further callback of that call runs.

The trap: a signal's handler may raise before the function's first line and after its last one,
where nothing can catch it and ctypes drops it. So compiled code records `IN_CALLBACK` before it
calls, and the function takes that back: where it could not, the call has been interrupted.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_runtime.abi import ArrayType, CallbackType, CallContext, ErrorCode
from diastase_runtime.memref import array_at, numpy_dtype
from diastase_runtime.observation import called_back

_MAY_RUN = (ErrorCode.IN_CALLBACK, ErrorCode.NONE)
CallbackErrors = dict[int, BaseException]
"""Exceptions raised inside calls that have not returned yet, by the address of their context."""


def callback_thunk(
    number: int,
    kind: CallbackType,
    function: Callable[..., Sequence[np.ndarray]],
    errors: CallbackErrors,
) -> Any:
    """Make a C function that calls a Python function on numpy arrays; keep it alive."""
    arrays = (*kind.arguments, *kind.results)
    split = len(kind.arguments)

    def call(context_address: int, site: int, *descriptors: int) -> None:
        try:  # around all of it, as a handler of signals may raise at any line
            context = CallContext.from_address(context_address)
            if context.code not in _MAY_RUN:
                return
            views = [_view(at, array) for at, array in zip(descriptors, arrays, strict=True)]
            results = called_back(function)(*(view.copy() for view in views[:split]))
            for view, result in zip(views[split:], results, strict=True):
                _store(view, result)
            context.code = ErrorCode.NONE
        except BaseException as error:
            context = CallContext.from_address(context_address)
            errors[context_address] = error
            context.code, context.site = ErrorCode.CALLBACK_RAISED, site
            context.detail[0] = number

    pointers = [ctypes.c_void_p] * len(arrays)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, *pointers)(call)


def _view(descriptor: int, kind: ArrayType) -> np.ndarray:
    """View the array of a descriptor."""
    words = (ctypes.c_int64 * (3 + kind.rank)).from_address(descriptor)
    return array_at(words[1], tuple(words[3:]), numpy_dtype(kind.dtype))


def _store(view: np.ndarray, result: Any) -> None:
    """Write a result where the program wants it; its type was promised at tracing."""
    array = np.asarray(result)
    if array.shape != view.shape or array.dtype != view.dtype:
        raise TypeError(
            f"a host callback returned {array.dtype}{list(array.shape)} "
            f"where {view.dtype}{list(view.shape)} was promised"
        )
    view[...] = array
