"""Python functions called from compiled code.

Compiled code calls `call_back(CallContext*, i64 site, function, descriptors)` of the thread pool's
library: the last is the address of an array of addresses, of one descriptor for each argument, then
of one for each result, which the program has allocated. The function gets copies of the arguments,
because it may keep them. An exception cannot cross native code: `call_back` keeps it in the context
of the call, and the loader raises it after the call. Once an error is recorded no further callback
of that call runs.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diastase_runtime.abi import ArrayType, CallbackType
from diastase_runtime.call_observer import called_back
from diastase_runtime.errors import CallbackResultError
from diastase_runtime.memref import array_at, numpy_dtype


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
