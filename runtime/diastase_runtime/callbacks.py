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
from diastase_runtime.errors import CallbackResultError
from diastase_runtime.memref import array_at, numpy_dtype
from diastase_runtime.observation import called_back


def called_by_programs(
    kind: CallbackType, function: Callable[..., Sequence[np.ndarray]]
) -> Callable[[int], None]:
    """Make the function that `call_back` calls of one on numpy arrays; keep it alive."""
    arrays = (*kind.arguments, *kind.results)
    split = len(kind.arguments)
    addresses_at = (ctypes.c_int64 * len(arrays)).from_address

    def call(descriptors: int) -> None:
        addresses = addresses_at(descriptors)
        views = [_view(at, array) for at, array in zip(addresses, arrays, strict=True)]
        results = called_back(function)(*(view.copy() for view in views[:split]))
        for view, result in zip(views[split:], results, strict=True):
            _store(view, result)

    return call


def _view(descriptor: int, kind: ArrayType) -> np.ndarray:
    """View the array of a descriptor."""
    words = (ctypes.c_int64 * (3 + kind.rank)).from_address(descriptor)
    return array_at(words[1], tuple(words[3:]), numpy_dtype(kind.dtype))


def _store(view: np.ndarray, result: Any) -> None:
    """Write a result where the program wants it; all but its sizes was checked before."""
    array = np.asarray(result)
    if array.shape != view.shape or array.dtype != view.dtype:
        raise CallbackResultError(
            found=f"{array.dtype}{list(array.shape)}", expected=f"{view.dtype}{list(view.shape)}"
        )
    view[...] = array
