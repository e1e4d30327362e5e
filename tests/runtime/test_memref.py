"""Results begin where JAX wants large arrays to begin, wherever compiled code left them."""

import ctypes
import sys

import numpy as np
import pytest

from diastase_runtime.abi import ArrayType
from diastase_runtime.memref import ALIGNMENT, LARGEST_COPIED_RESULT, data_pointer, result_reader

malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)


@pytest.mark.parametrize("own", [True, False], ids=["own", "of another"])
@pytest.mark.parametrize("offset", [0, 8, 56])
def test_large_results_are_aligned(offset, own):
    count = LARGEST_COPIED_RESULT
    pointer = malloc(8 * count + 2 * ALIGNMENT)
    begin = pointer + -pointer % ALIGNMENT + offset
    numbers = np.arange(float(count))
    ctypes.memmove(begin, numbers.ctypes.data, numbers.nbytes)
    reader = result_reader(ArrayType("float64", 1), 0)
    result = reader.take([pointer, begin, 0, count, 1], own)
    assert data_pointer(result) % ALIGNMENT == 0
    assert (data_pointer(result) == begin) == (own and offset == 0)
    np.testing.assert_array_equal(result, numbers)
    if not own:
        ctypes.CDLL(None).free(ctypes.c_void_p(pointer))


def test_no_python_runs_where_a_large_result_is_freed():
    """A handler of signals would run in there, and Python drops what it raises in a `__del__`."""
    pointer = malloc(8 * 10_000 + ALIGNMENT)
    begin = pointer + -pointer % ALIGNMENT
    array = result_reader(ArrayType("float64", 1), 0).take([pointer, begin, 0, 10_000, 1], True)
    events = []
    sys.setprofile(lambda frame, event, argument: events.append((event, argument)))
    del array
    sys.setprofile(None)
    assert events == [("c_call", sys.setprofile)]
