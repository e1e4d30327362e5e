"""Load a compiled program and call it: ctypes and numpy only.

`load` opens the library, fills its import table and returns an `Executable`. A call packs the
call context and all argument descriptors into one buffer of 64-bit words, calls the entry with
the GIL released, and makes arrays of the result descriptors in the same buffer. Buffers are kept
for reuse in a list, whose `pop` and `append` are atomic, so calls may come from many threads and
may nest (a host callback that calls the program again).
"""

import ctypes
import struct
import weakref
from _ctypes import dlclose  # pyright: ignore[reportPrivateUsage]
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from diastase_runtime.abi import ENTRY_SYMBOL, IMPORT_TABLE, Artifact, CallContext
from diastase_runtime.callbacks import CallbackErrors, callback_thunk
from diastase_runtime.errors import ArgumentTypeError
from diastase_runtime.failures import exception_of
from diastase_runtime.libraries import open_library, symbol_address
from diastase_runtime.memref import (
    ResultReader,
    descriptor_words,
    free,
    numpy_dtype,
    sizes_and_strides,
)

HostFunction = Callable[..., Sequence[np.ndarray]]

_CONTEXT_WORDS = ctypes.sizeof(CallContext) // 8


class _Frame(NamedTuple):
    """Memory of one call: context, argument descriptors and result descriptors, in this order."""

    memory: ctypes.Array[ctypes.c_int64]
    context: CallContext
    pointers: tuple[ctypes.c_void_p, ...]
    """What the entry is called with."""


class Executable:
    """A loaded program. Calling it runs native code; it is unloaded when nothing needs it."""

    def __init__(self, artifact: Artifact, callbacks: Sequence[HostFunction]):
        self.artifact = artifact
        library = open_library(artifact.library, unique=bool(artifact.callbacks))
        self._errors: CallbackErrors = {}
        self._thunks = _fill_import_table(library, artifact, callbacks, self._errors)
        self._entry: Any = library[ENTRY_SYMBOL]
        self._entry.restype = None
        # Not at exit: other objects may still be called then, and the process unloads anyway.
        weakref.finalize(self, dlclose, library._handle).atexit = False
        self._argument_types = [(numpy_dtype(kind.dtype), kind.rank) for kind in artifact.arguments]
        words = [descriptor_words(kind.rank) for kind in artifact.arguments]
        self._pack_into = struct.Struct(f"={_CONTEXT_WORDS + sum(words)}q").pack_into
        self._argument_words = words
        words = [descriptor_words(kind.rank) for kind in artifact.results]
        self._result_words = words
        self._unpack_from = struct.Struct(f"={sum(words)}q").unpack_from
        self._result_offset = 8 * (_CONTEXT_WORDS + sum(self._argument_words))
        self._readers = [
            ResultReader(kind, sum(words[:number])) for number, kind in enumerate(artifact.results)
        ]
        self._frames: list[_Frame] = []

    def __call__(self, arguments: Sequence[np.ndarray], *, seed: int = 0) -> list[np.ndarray]:
        """Run the program on numpy arrays of exactly the compiled dtypes and ranks."""
        if len(arguments) != len(self._argument_types):
            raise self._wrong_arguments(arguments)
        arrays: list[np.ndarray] = []
        for array, (dtype, rank) in zip(arguments, self._argument_types, strict=True):
            if array.dtype != dtype or array.ndim != rank:
                raise self._wrong_arguments(arguments)
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned):
                array = np.require(array, requirements="CA")
            arrays.append(array)
        return self.call_pointers(
            [array.__array_interface__["data"][0] for array in arrays],
            [array.shape for array in arrays],
            seed,
        )

    def call_pointers(
        self, pointers: Sequence[int], shapes: Sequence[tuple[int, ...]], seed: int = 0
    ) -> list[np.ndarray]:
        """Run the program on C-contiguous arrays at these addresses; nothing is checked."""
        words = [0, 0, 0, 0, 0, 0, seed, 0]
        for pointer, shape in zip(pointers, shapes, strict=True):
            words += (pointer, pointer, 0, *sizes_and_strides(shape))
        frames = self._frames
        frame = frames.pop() if frames else self._new_frame()
        self._pack_into(frame.memory, 0, *words)
        self._entry(*frame.pointers)
        results = self._unpack_from(frame.memory, self._result_offset)
        if frame.context.code:
            raise self._failed(frame, results)
        frames.append(frame)
        readers = self._readers
        if len(readers) == 1:
            return [readers[0].take(results, True)]
        return self._take_all(results)

    def _take_all(self, results: tuple[int, ...]) -> list[np.ndarray]:
        """Make the arrays of several results, of which some may be the same memory."""
        owner = {reader.pointer(results): number for number, reader in enumerate(self._readers)}
        # The last result at a pointer owns (or frees) it: those before it have copied by then.
        return [
            reader.take(results, owner[reader.pointer(results)] == number)
            for number, reader in enumerate(self._readers)
        ]

    def _failed(self, frame: _Frame, results: tuple[int, ...]) -> BaseException:
        """Free what the failed call left, and make the exception to raise."""
        for pointer in {reader.pointer(results) for reader in self._readers}:
            free(pointer)
        error = exception_of(
            frame.context, self.artifact.sites, self._errors, ctypes.addressof(frame.memory)
        )
        self._frames.append(frame)
        return error

    def _new_frame(self) -> _Frame:
        """Allocate the memory of one call and note the addresses the entry wants."""
        total = _CONTEXT_WORDS + sum(self._argument_words) + sum(self._result_words)
        memory = (ctypes.c_int64 * total)()
        base = ctypes.addressof(memory)
        addresses = [base + self._result_offset] if self._readers else []
        addresses.append(base)
        offset = base + 8 * _CONTEXT_WORDS
        for words in self._argument_words:
            addresses.append(offset)
            offset += 8 * words
        pointers = tuple(ctypes.c_void_p(address) for address in addresses)
        return _Frame(memory, CallContext.from_buffer(memory), pointers)

    def _wrong_arguments(self, arguments: Sequence[np.ndarray]) -> ArgumentTypeError:
        wanted = ", ".join(f"{dtype}[rank {rank}]" for dtype, rank in self._argument_types)
        given = ", ".join(f"{array.dtype}[rank {array.ndim}]" for array in arguments)
        return ArgumentTypeError(program=self.artifact.name, wanted=wanted, given=given)


def load(artifact: Artifact, callbacks: Sequence[HostFunction] = ()) -> Executable:
    """Load a compiled program; `callbacks` are the functions behind `artifact.callbacks`."""
    return Executable(artifact, callbacks)


def _fill_import_table(
    library: ctypes.CDLL,
    artifact: Artifact,
    callbacks: Sequence[HostFunction],
    errors: CallbackErrors,
) -> list[Any]:
    """Write the addresses of all imports; the thunks returned must live as long as the library."""
    thunks: list[Any] = []
    if not artifact.imports:
        return thunks
    table = (ctypes.c_void_p * len(artifact.imports)).in_dll(library, IMPORT_TABLE)
    for entry, imported in enumerate(artifact.imports):
        if imported.library == "callback":
            number = int(imported.name)
            kind = artifact.callbacks[number]
            thunks.append(callback_thunk(number, kind, callbacks[number], errors))
            table[entry] = ctypes.cast(thunks[-1], ctypes.c_void_p).value
        else:
            table[entry] = symbol_address(imported, artifact)
    return thunks
