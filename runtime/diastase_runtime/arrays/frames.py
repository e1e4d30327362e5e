"""The memory of one call: context, descriptors of arguments and results, scalars, pointers.

All in one buffer of 64-bit words, in this order. The pointers, to the other parts of the buffer,
are what the entry is called with. A scalar that comes as a number is copied into the buffer, where
its descriptor then points. Sizes and strides stay from call to call, and are written where they
change: most calls write two words per array.
"""

import ctypes
import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from diastase_runtime.abi import ArrayType, CallContext
from diastase_runtime.arrays.memref import (
    data_pointer,
    descriptor_words,
    numpy_dtype,
    sizes_and_strides,
)
from diastase_runtime.process_limits import available_memory

_CONTEXT_WORDS = ctypes.sizeof(CallContext) // 8
_SCALAR_WORDS = 2
"""A complex128."""


Argument = np.ndarray | complex
"""What a program is called with; numbers of Python for arrays of rank 0."""

_NUMBERS = frozenset((float, int, complex, bool))


class UnfitError(Exception):
    """An argument is not of the type that the program was compiled for."""


class FrameLayout:
    """Where everything lies, for one program; offsets in bytes."""

    def __init__(self, arguments: Sequence[ArrayType], results: Sequence[ArrayType]):
        argument_words = [descriptor_words(kind.rank) for kind in arguments]
        result_words = [descriptor_words(kind.rank) for kind in results]
        words = [_CONTEXT_WORDS, *argument_words, sum(result_words)]
        # `accumulate` gives where each part ends, which is where the next begins.
        *self.arguments, self.results, scalars = (8 * end for end in accumulate(words))
        self.argument_words = [offset // 8 for offset in self.arguments]
        self.types = [(numpy_dtype(kind.dtype), kind.rank) for kind in arguments]
        self.scalars = [
            (scalars + 8 * _SCALAR_WORDS * number, None if kind.rank else numpy_dtype(kind.dtype))
            for number, kind in enumerate(arguments)
        ]
        self.pointers = scalars + 8 * _SCALAR_WORDS * len(arguments)
        self.returns = bool(results)
        self.targets = [self.results] * self.returns + [0, *self.arguments]
        """What the pointers point to."""
        self.size = self.pointers + 8 * len(self.targets)
        self.unpack_results = struct.Struct(f"={sum(result_words)}q").unpack_from


class Frame:
    """One call's memory, ready to be used again and again, by one call at a time."""

    __slots__ = (
        "context",
        "first_words",
        "memory",
        "pointer",
        "scalars",
        "shapes",
        "types",
        "words",
    )

    def __init__(self, layout: FrameLayout):
        self.memory = (ctypes.c_char * layout.size)()
        self.words = memoryview(self.memory).cast("B").cast("q")
        self.context = CallContext.from_buffer(self.memory)
        self.context.memory = available_memory()  # no call changes it
        base = ctypes.addressof(self.memory)
        addresses = [base + offset for offset in layout.targets]
        struct.pack_into(f"={len(addresses)}q", self.memory, layout.pointers, *addresses)
        self.pointer = ctypes.c_void_p(base + layout.pointers)
        """What the entry is called with."""
        self.first_words = layout.argument_words
        """Where the descriptors of arguments begin, in words."""
        self.types = layout.types
        self.shapes: list[tuple[int, ...] | None] = [None] * len(layout.types)
        """What stands in the descriptors of arguments."""
        memory: Any = self.memory
        self.scalars = [
            (np.ndarray((), dtype, memory, offset), base + offset) if dtype is not None else None
            for offset, dtype in layout.scalars
        ]
        """Views of the scalar arguments, and where they are; None for arrays."""

    def describe(self, number: int, address: int, shape: tuple[int, ...]) -> None:
        """Write the descriptor of a C-contiguous argument."""
        first, words = self.first_words[number], self.words
        words[first] = words[first + 1] = address
        if self.shapes[number] != shape:
            self.write_shape(number, shape)

    def write_shape(self, number: int, shape: tuple[int, ...]) -> None:
        """Write all of a descriptor but the address."""
        for word, value in enumerate((0, *sizes_and_strides(shape)), self.first_words[number] + 2):
            self.words[word] = value
        self.shapes[number] = shape

    def place(self, number: int, argument: Argument) -> Any:
        """Describe an argument of NumPy's, or copy a scalar; what is returned keeps it there."""
        scalar = self.scalars[number]
        is_number = scalar is not None and type(argument) in _NUMBERS
        if not (is_number or self._fits(number, argument)):
            raise UnfitError
        if scalar is not None:
            view, address = scalar
            view[()] = argument
            self.describe(number, address, ())
            return None
        array: Any = argument
        if not (array.flags.c_contiguous and array.flags.aligned):
            array = np.require(array, requirements=["C", "A"])
        self.describe(number, data_pointer(array), array.shape)
        return array

    def _fits(self, number: int, argument: Any) -> bool:
        dtype, rank = self.types[number]
        return (
            isinstance(argument, np.ndarray) and argument.dtype == dtype and argument.ndim == rank
        )

    @property
    def address(self) -> int:
        """The address of the call context, with which it begins."""
        return ctypes.addressof(self.memory)
