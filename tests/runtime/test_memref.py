"""Results begin where JAX wants large arrays to begin, wherever compiled code left them."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from diastase_runtime.abi import ArrayType
from diastase_runtime.arrays.memref import (
    ALIGNMENT,
    LARGEST_COPIED_RESULT,
    data_pointer,
    result_reader,
)

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


MAPPED = """
import ctypes
import diastase_runtime.arrays.memref

class Information(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks rest".split()]
    _fields_ += [("others", ctypes.c_size_t * 5)]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Information
before = libc.mallinfo2().hblks
libc.malloc(ctypes.c_size_t(20 * 2**20))
print(libc.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="another allocator")
def test_large_blocks_come_from_memory_that_stays():
    run = subprocess.run([sys.executable, "-c", MAPPED], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0"]  # none that is mapped, and given back when it is freed
