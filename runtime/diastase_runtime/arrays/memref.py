"""Arrays across the border: numpy arrays as memref descriptors, and memory of compiled code back.

A memref descriptor of rank r is `3 + 2r` 64-bit words: allocated pointer, aligned pointer,
offset, r sizes, r strides (in elements). Arguments are C-contiguous, results too, with offset 0.
Results are malloc'ed by compiled code and belong to the caller: small ones are copied and freed
at once, which is faster than keeping track of them; of large ones the numpy array owns the
memory, and frees it when it and all its views are gone.

glibc gives large blocks back to the system when they are freed, and each page that a new one is
given costs more than to compute it. What is large it learns from the blocks that are freed, up to
32 MiB; it is shown such a block on import (`_keep_freed_memory`). So results of up to 32 MiB come
from memory that stays, of which a process keeps 64 MiB at most that are free at the end of its
heap; blocks above 32 MiB are returned as before. A process that has once freed a block of 32 MiB
is in that state anyway, and `MALLOC_TRIM_THRESHOLD_` or `MALLOC_MMAP_THRESHOLD_` overrule it, but
not in workers of Dask's (`keep_freed_memory_always`), who have not set them themselves.
"""

import ctypes
import importlib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np

from diastase_runtime.abi import ArrayType
from diastase_runtime.errors import OutOfMemoryError

ALIGNMENT = 64
"""Bytes. JAX copies arrays that begin elsewhere, on threads of its own, which a forked child lacks:
it would wait for ever."""

LARGEST_COPIED_RESULT = 4096
"""Bytes; below, copying takes less time than one more object to own the memory."""

# PyDLL keeps the GIL: free is over before another thread could have taken it.
free: Callable[[int], None] = ctypes.PyDLL(None).free
free.argtypes = (ctypes.c_void_p,)  # pyright: ignore[reportFunctionMemberAccess]
free.restype = None  # pyright: ignore[reportFunctionMemberAccess]

_LARGEST_FROM_HEAP = 32 * 2**20
"""Bytes: glibc's `DEFAULT_MMAP_THRESHOLD_MAX`."""


def _keep_freed_memory() -> None:
    """Let glibc see that blocks just below its limit are freed; no page of this one is touched."""
    malloc: Any = ctypes.PyDLL(None).malloc
    malloc.argtypes, malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p
    free(malloc(_LARGEST_FROM_HEAP - 8192))


_keep_freed_memory()

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`."""


def keep_freed_memory_always() -> None:
    """Tell glibc the same in so many words, for processes whose environment has forbidden it.

    Dask sets `MALLOC_TRIM_THRESHOLD_` for its workers, by which glibc learns nothing more: each
    call was given new pages, which took a third of the time of small circuits. Where there is no
    glibc nothing happens.
    """
    try:
        mallopt: Any = ctypes.PyDLL(None).mallopt
    except AttributeError:
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_FROM_HEAP)
    mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_FROM_HEAP)


_bytes_at: Callable[[int, int], bytearray] = ctypes.PyDLL(None).PyByteArray_FromStringAndSize
_bytes_at.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t)  # pyright: ignore[reportFunctionMemberAccess]
_bytes_at.restype = ctypes.py_object  # pyright: ignore[reportFunctionMemberAccess]

_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    **{
        f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}

_capsule_pointer: Callable[[Any, None], int] = ctypes.PyDLL(None).PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_ssize_t  # pyright: ignore[reportFunctionMemberAccess]
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_void_p)  # pyright: ignore[reportFunctionMemberAccess]
_DATA_IN_ARRAY_INTERFACE = 40
_word_at = ctypes.c_ssize_t.from_address


def _pointer_in_structure(array: np.ndarray) -> int:
    """Read the documented C structure behind `__array_struct__`.

    Five ints (with padding 24 bytes), then the pointers to shape, strides and data.
    """
    return _word_at(_capsule_pointer(array.__array_struct__, None) + _DATA_IN_ARRAY_INTERFACE).value


def _pointer_in_object(array: np.ndarray) -> int:
    """Read it where numpy keeps it: right after what every Python object begins with."""
    return _word_at(id(array) + object.__basicsize__).value


def _pointer_reader() -> Callable[[np.ndarray], int]:
    """The quickest way that is right here: the layout of an array object is numpy's own affair."""
    samples = [np.zeros(3), np.zeros((2, 5), np.int8)[:, 2:], np.zeros(()), np.zeros(0)]
    right = all(_pointer_in_object(sample) == sample.ctypes.data for sample in samples)
    return _pointer_in_object if right else _pointer_in_structure


data_pointer = _pointer_reader()
"""The address of an array's data: `array.ctypes.data` in a fifth of its time."""


_BYTE = np.dtype(np.uint8)


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Look up an element type; `bfloat16` is not numpy's own but registered by `ml_dtypes`."""
    try:
        return np.dtype(name)
    except TypeError:
        # Imported here because few programs need it and a loaded artifact should need numpy alone.
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))


def descriptor_words(rank: int) -> int:
    """How many 64-bit words a descriptor takes."""
    return 3 + 2 * rank


@lru_cache(maxsize=4096)
def sizes_and_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Give the last words of the descriptor of a C-contiguous array."""
    return (*shape, *tuple(accumulate((1, *shape[:0:-1]), mul))[::-1][: len(shape)])


def array_at(pointer: int, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """View memory that stays somebody else's, for as long as they keep it."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory: Any = (ctypes.c_char * count).from_address(pointer) if count else bytearray()
    return _array_of(shape, dtype, memory)


def _array_of(shape: Sequence[int], dtype: np.dtype[Any], memory: Any) -> np.ndarray:
    """An array in this memory; NumPy counts bytes as if none of the axes were empty."""
    try:
        return np.ndarray(shape, dtype, memory)
    except ValueError:
        size = prod(filter(None, shape)) * dtype.itemsize
        construct = f"an array of shape {tuple(shape)}"
        raise OutOfMemoryError(construct=construct, size=size) from None


def memory_of(size: int) -> Callable[[int], Any]:
    """Make the function from an address to this many bytes there, of which NumPy makes a view."""
    return (ctypes.c_char * size).from_address


def give_back(words: list[int], first: int, own: bool) -> None:
    """Free a result that was copied, if nothing else is the same memory; nobody frees it again.

    Python handles signals after calls and where functions and iterations begin: not before `free`.
    """
    pointer, words[first] = words[first], 0
    if own:
        free(pointer)


class OwnedMemory:
    """Memory of compiled code that lives as long as this object: numpy keeps it as a base.

    No Python runs where it is freed: Python drops what handlers of signals raise in there, and
    freeing takes long enough for one to come.
    """

    __slots__ = ("__array_interface__", "__del__")

    def __init__(self, words: list[int], first: int, aligned: int, size: int):
        release = partial(free, words[first])
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (aligned, False),
        }
        # One statement, in which no handler of signals runs: it is owned once, at any time.
        self.__del__, words[first] = release, 0


class ResultReader:
    """Turns one result descriptor into a numpy array that owns its memory."""

    __slots__ = ("_dtype", "_last", "first")

    def __init__(self, kind: ArrayType, first_word: int):
        self._dtype = numpy_dtype(kind.dtype)
        self.first = first_word
        self._last = first_word + 3 + kind.rank

    def take(self, words: list[int], own: bool) -> np.ndarray:
        """Make the array; unless it is to own its memory, copy it and free nothing.

        The result counts as taken from then on, with 0 for its address.
        """
        first = self.first
        shape = words[first + 3 : self._last]
        size = prod(shape) * self._dtype.itemsize
        if size > LARGEST_COPIED_RESULT:
            return np.ndarray(shape, self._dtype, self._large(words, size, own))
        copy = _bytes_at(words[first + 1], size)
        give_back(words, first, own)
        return _array_of(shape, self._dtype, copy)

    def _large(self, words: list[int], size: int, own: bool) -> Any:
        """The memory itself, if it is ours and well aligned; else a copy."""
        aligned = words[self.first + 1]
        if own:
            memory = np.asarray(OwnedMemory(words, self.first, aligned, size))
            return memory if aligned % ALIGNMENT == 0 else _aligned_copy(memory)
        copy = _aligned_copy(array_at(aligned, (size,), _BYTE))
        give_back(words, self.first, own)
        return copy


def _aligned_copy(memory: np.ndarray) -> np.ndarray:
    space = np.empty(memory.size + ALIGNMENT, _BYTE)
    start = -data_pointer(space) % ALIGNMENT
    copy = space[start : start + memory.size]
    copy[:] = memory
    return copy


class ScalarReader:
    """The same for rank 0 and an element type that ctypes knows: no copy of bytes."""

    __slots__ = ("_at", "_dtype", "first")

    def __init__(self, kind: ArrayType, first_word: int):
        self._dtype = numpy_dtype(kind.dtype)
        self._at = _C_TYPES[kind.dtype].from_address
        self.first = first_word

    def take(self, words: list[int], own: bool) -> np.ndarray:
        """Make the array, with a copy of the scalar."""
        first = self.first
        array = np.array(self._at(words[first + 1]).value, self._dtype)
        give_back(words, first, own)
        return array


def result_reader(kind: ArrayType, first_word: int) -> ResultReader | ScalarReader:
    """Choose the reader of a result whose descriptor begins at this word."""
    scalar = kind.rank == 0 and kind.dtype in _C_TYPES
    return (ScalarReader if scalar else ResultReader)(kind, first_word)
