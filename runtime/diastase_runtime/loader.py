"""Load a compiled program and call it: ctypes and numpy only.

An `Executable` opens the library and fills its import table. A call writes the
call context and the argument descriptors into a `Frame`, calls the entry with the GIL released,
and makes arrays of the result descriptors. Frames are kept for reuse in a list, whose `pop` and
`append` are atomic, so calls may come from many threads and may nest (a host callback that calls
the program again). The context of a program that needs no library of ours may stay as it is, all
zeros, until a call fails.
"""

import ctypes
import struct
import weakref
from _ctypes import dlclose  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from diastase_runtime.abi import (
    ENTRY_SYMBOL,
    IMPORT_TABLE,
    ON_THE_POOL,
    Artifact,
    CallContext,
    ErrorCode,
)
from diastase_runtime.arrays.frames import Argument, Frame, FrameLayout, UnfitError
from diastase_runtime.arrays.memref import (
    descriptor_words,
    free,
    result_reader,
)
from diastase_runtime.call_observer import Observer, observe_again, register, registered
from diastase_runtime.error_codes import exception_of
from diastase_runtime.errors import ArgumentTypeError, AssumptionError, LibraryLoadError
from diastase_runtime.libraries import (
    is_on_gpu,
    open_library,
    release_states,
    symbol_address,
    thread_pool,
    use_instead,
    with_better_engines,
)
from diastase_runtime.python import called_by_programs, raised_by_a_handler

HostFunction = Callable[..., Sequence[np.ndarray]]

_pack_context = struct.Struct("=6qQ9q").pack_into
"""All that a call changes: the first fields of `CallContext`."""
_SEED_MASK = 2**64 - 1
Placer = Callable[[Frame, Any], Any]
"""Describes an argument in a frame; what it returns must live as long as the call."""

Taking = Callable[[list[int], Any], Any]
"""Makes results of the words of their descriptors, and takes over their memory."""


@dataclass(frozen=True)
class EngineWork:
    """What the state-vector engine did in one call."""

    gates: int
    """That it was asked for."""
    operations: int
    """What was left of them after fusion."""
    stages: int
    """Walks over the amplitudes."""
    launches: int = 0
    to_device: int = 0
    to_host: int = 0
    """On a GPU: launches, bytes copied there and back."""


class Executable:
    """A loaded program. Calling it runs native code; it is unloaded when nothing needs it.

    `callbacks` are the functions behind `artifact.callbacks`.
    """

    def __init__(self, artifact: Artifact, callbacks: Sequence[HostFunction] = ()):
        self.artifact = artifact
        self._callbacks = list(map(called_by_programs, artifact.callbacks, callbacks))
        self._linked = with_better_engines(artifact)
        # A library that is loaded twice is one, with one table: not for the processor and a GPU.
        self._native = self._open(unique=bool(artifact.callbacks) or is_on_gpu(artifact))
        self._entry: Any = self._native
        self.layout = FrameLayout(artifact.arguments, artifact.results)
        """The memory of a call."""
        self._unpack, self._results = self.layout.unpack_results, self.layout.results
        self._placers = [partial(_place, number) for number in range(len(artifact.arguments))]
        self.uses_context = bool(artifact.callbacks) or any(
            getattr(artifact, library) is not None for library in (*ON_THE_POOL, "threads")
        )
        """Whether a call that succeeds may read or write its context."""
        words = (descriptor_words(kind.rank) for kind in artifact.results)
        *self.first_words, _ = accumulate(words, initial=0)
        """Where the descriptor of each result begins among them all."""
        self.readers = list(map(result_reader, artifact.results, self.first_words))
        self._frames: list[Frame] = []
        register(self)
        self.take_better_engines()  # there may have been one since

    def _open(self, *, unique: bool) -> Any:
        """Load the library and fill its import table; what is returned is the entry."""
        library = open_library(self.artifact.library, unique=unique)
        # Not at exit: the process unloads everything anyway.
        weakref.finalize(self, dlclose, library._handle).atexit = False
        _fill_import_table(library, self._linked, self._callbacks)
        native: Any = library[ENTRY_SYMBOL]
        native.restype = None
        return native

    def take_better_engines(self) -> None:
        """Load the program once more if there is a better engine than it has.

        A call that goes on has states of the engine that it began with, and ends with that.
        """
        linked = with_better_engines(self.artifact)
        if linked == self._linked:
            return
        before, self._linked = self._linked, linked
        try:
            native = self._open(unique=True)
        except LibraryLoadError:  # it is gone, or damaged: what there is still runs
            self._linked = before
            return
        if self._entry is self._native:
            self._entry = native
        self._native = native

    def __call__(self, arguments: Sequence[Argument], seed: int = 0) -> list[np.ndarray]:
        """Run the program on numpy arrays of exactly the compiled dtypes and ranks.

        For an array of rank 0 there may be a number of Python, which is converted to its dtype.
        """
        return self.run(arguments, seed, self._placers, self._take)

    def run(
        self,
        arguments: Sequence[Any],
        seed: int | None,
        placers: Sequence[Placer],
        take: Taking,
        how: Any = None,
    ) -> Any:
        """The same, with results as `take` makes them of their descriptors, told `how`.

        It writes 0 over the address of each result that it has taken: where it raises, or a handler
        of signals does meanwhile, the others are freed. Without a seed the context stays as it is:
        for programs that use none.
        """
        if len(arguments) != len(placers):
            raise self._wrong_arguments(arguments)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self.layout)
        memory = frame.memory
        if seed is not None:
            key = seed & _SEED_MASK
            _pack_context(memory, 0, 0, 0, 0, 0, 0, 0, key, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        kept: list[Any] = []
        try:
            for number, argument in enumerate(arguments):
                kept.append(placers[number](frame, argument))  # in less time
        except UnfitError:
            raise self._wrong_arguments(arguments) from None
        words: list[int] = []
        results = None
        try:
            self._entry(frame.pointer)
            words = [*self._unpack(memory, self._results)]
            if not frame.words[0]:
                results = take(words, how)
        except BaseException:
            self._drop(frame, words)
            raise
        del kept
        if frame.words[0]:
            raise self._failed(frame, words)
        self._frames.append(frame)
        return results

    def observed_by(self, observer: Observer | None) -> None:
        """Call compiled code through this observer, or directly."""
        self._entry = self._native if observer is None else observer.entry(self, self._native)

    @property
    def work(self) -> EngineWork | None:
        """What the engine did in a call that ended last; None before there is one.

        Read from the memory of that call, which stays as it was until the next one: counting
        costs nothing.
        """
        try:
            context = self._frames[-1].context
        except IndexError:
            return None
        return _work_of(context)

    def work_at(self, pointers: Any) -> EngineWork:
        """Tell the same of the call that the entry was called for with these pointers."""
        at = pointers.value + 8 * self.layout.returns
        return _work_of(CallContext.from_address(ctypes.c_int64.from_address(at).value))

    @property
    def entry_address(self) -> int:
        """Where the compiled code begins, for callers that are compiled, too."""
        return ctypes.cast(self._native, ctypes.c_void_p).value or 0

    def failed_at(self, address: int) -> BaseException:
        """Free what a failed call by compiled code left, and make the exception that it is."""
        memory = (ctypes.c_char * self.layout.size).from_address(address)
        words = self.layout.unpack_results(memory, self.layout.results)
        return self._failure(CallContext.from_address(address), words)

    def owners(self, words: Sequence[int]) -> Sequence[bool]:
        """For each result, whether it is the last one of its memory, which it then owns.

        Several may be the same memory: those before the last must have copied it by then.
        """
        pointers = [words[first] for first in self.first_words]
        if len(set(pointers)) == len(pointers):
            return [True] * len(pointers)
        return [pointer not in pointers[number + 1 :] for number, pointer in enumerate(pointers)]

    def _take(self, words: list[int], _how: Any) -> list[np.ndarray]:
        """Make NumPy's arrays of the results."""
        if len(self.readers) == 1:
            return [self.readers[0].take(words, True)]
        return [
            reader.take(words, own)
            for reader, own in zip(self.readers, self.owners(words), strict=True)
        ]

    def _failed(self, frame: Frame, words: Sequence[int]) -> BaseException:
        """Make the exception to raise, and keep the frame for the next call."""
        error = self._failure(frame.context, words)
        _pack_context(frame.memory, 0, *[0] * 16)
        self._frames.append(frame)
        return error

    def _drop(self, frame: Frame, words: Sequence[int]) -> None:
        """Free what a call has left after which something raised; no words: none were read yet."""
        if not words and self._entry is not self._native:  # what an observer did nobody knows
            self._error_of(frame.context)
            return
        words = words or self.layout.unpack_results(frame.memory, self.layout.results)
        if frame.context.code:
            self._failure(frame.context, words)
            return
        self._free(words)

    def _free(self, words: Sequence[int]) -> None:
        """Free the results that nobody has taken."""
        for pointer in {words[first] for first in self.first_words}:
            free(pointer)  # nothing for 0

    def _failure(self, context: CallContext, words: Sequence[int]) -> BaseException:
        """Free what the failed call left, and make its exception."""
        if not context.detail[3]:  # it was not abandoned
            self._free(words)
        if context.states or context.scripts:
            release_states(context, self.artifact)
        return self._error_of(context)

    def _error_of(self, context: CallContext) -> BaseException:
        """Make the exception of a failed call, of what is kept for it: once."""
        if context.code == ErrorCode.INTERRUPTED and self.artifact.threads is not None:
            raised = raised_by_a_handler(thread_pool(self.artifact.threads))
            return KeyboardInterrupt() if raised is None else raised
        error = exception_of(context, self.artifact.sites, self.artifact.name)
        if context.code == ErrorCode.ASSUMPTION_FAILED and isinstance(error, AssumptionError):
            error.raised_by = self
        return error

    def _wrong_arguments(self, arguments: Sequence[Argument]) -> ArgumentTypeError:
        wanted = ", ".join(f"{kind.dtype}[rank {kind.rank}]" for kind in self.artifact.arguments)
        arrays = map(np.asarray, arguments)
        given = ", ".join(f"{array.dtype}[rank {array.ndim}]" for array in arrays)
        return ArgumentTypeError(program=self.artifact.name, wanted=wanted, given=given)


def _place(number: int, frame: Frame, argument: Argument) -> Any:
    return frame.place(number, argument)


def _work_of(context: CallContext) -> EngineWork:
    return EngineWork(
        context.gates,
        context.operations,
        context.stages,
        context.launches,
        context.to_device,
        context.to_host,
    )


def exchange_engine(engine: Path, better: Path) -> None:
    """Use another engine from now on: programs that are loaded, and those that will be."""
    use_instead(engine, better)
    for program in registered():
        if isinstance(program, Executable):
            program.take_better_engines()
    observe_again()


def _fill_import_table(
    library: ctypes.CDLL, artifact: Artifact, callbacks: Sequence[object]
) -> None:
    """Write the addresses of all imports; callbacks must live as long as the library."""
    if not artifact.imports:
        return
    table = (ctypes.c_void_p * len(artifact.imports)).in_dll(library, IMPORT_TABLE)
    for entry, imported in enumerate(artifact.imports):
        if imported.library == "callback":
            table[entry] = id(callbacks[int(imported.name)])  # where the object is
        else:
            table[entry] = symbol_address(imported, artifact)
