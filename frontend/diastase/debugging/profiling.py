"""`profile`: where the time of calls goes: Python around them, compiled code, callbacks.

In: a block of the user's. Out: a `Profile`, which prints a table of the programs that ran in it, in
whatever thread. Programs are told apart by the names of their functions.

The trap: calls nest. A callback may call a compiled function; its time is the callback's, and the
inner function's own besides. So shares are measured in frames, one for each call that a thread is
in, and only ever added to the innermost one; the sum over functions may exceed the whole.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from diastase.capture.context import is_tracing
from diastase.jit.options.errors import NestedProfileError
from diastase.jit.qjit import QJIT
from diastase_runtime import Executable, observe


@dataclass
class ProgramProfile:
    """Calls of one function, and the seconds spent in them.

    Example:
        >>> import diastase
        >>> with diastase.profile() as measured:
        ...     _ = diastase.qjit(lambda x: x + 1)(1)
        >>> (program,) = measured.programs.values()
        >>> program.calls, program.total > 0, program.python >= 0
        (1, True, True)

    """

    calls: int = 0
    total: float = 0.0
    compiling: float = 0.0
    """Calls that had to make a program: all of their time outside of compiled code."""
    compiled: float = 0.0
    """In compiled code, the engine and libraries."""
    callbacks: float = 0.0
    """In Python functions that compiled code called."""
    gates: int = 0
    """That the state-vector engine was asked for."""
    operations: int = 0
    """What was left of them after fusion."""
    stages: int = 0
    """Walks over the amplitudes."""

    @property
    def python(self) -> float:
        """Seconds in Python around compiled code: arguments, results, finding the program."""
        return self.total - self.compiling - self.compiled - self.callbacks


@dataclass
class _Frame:
    """One call that a thread is in."""

    compiled: float = 0.0
    callbacks: float = 0.0
    made_a_program: bool = False
    gates: int = 0
    operations: int = 0
    stages: int = 0


class _Frames(threading.local):
    """The calls that this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[_Frame | None] = []
        """None stands for a callback."""

    @property
    def innermost(self) -> _Frame | None:
        """The call that time belongs to now."""
        return self.stack[-1] if self.stack else None


@dataclass
class Profile:
    """What was measured; complete when the block of `profile` has ended.

    Example:
        >>> import diastase
        >>> with diastase.profile() as measured:
        ...     _ = diastase.qjit(lambda x: x + 1)(1)
        >>> list(measured.programs), measured.seconds > 0
        (['<lambda>'], True)

    """

    programs: dict[str, ProgramProfile] = field(default_factory=dict[str, ProgramProfile])
    """By name of the function, in the order of first calls."""
    seconds: float = 0.0
    """How long the block took."""
    _frames: _Frames = field(default_factory=_Frames, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    # --- what is measured ------------------------------------------------------------------------

    def call(self, function: QJIT, run: Callable[[], Any]) -> Any:
        """Make one call of a compiled function; within a trace it is none."""
        if is_tracing():
            return run()
        return self._measured(getattr(function, "__name__", "(no name)"), run)

    def entry(self, program: Executable, native: Callable[..., None]) -> Callable[..., None]:
        """Return the entry of a program, with its time measured."""

        def run(pointers: Any) -> None:
            frame = self._frames.innermost
            if frame is None:  # a `Compiled` is called, with no `QJIT` around
                self._measured(program.artifact.name, lambda: run(pointers))
                return
            before, start = frame.callbacks, time.perf_counter()
            native(pointers)
            within = frame.callbacks - before
            frame.compiled += time.perf_counter() - start - within
            work = program.work_at(pointers)
            frame.gates += work.gates
            frame.operations += work.operations
            frame.stages += work.stages

        return run

    def callback(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback, with its time measured."""

        def run(*arguments: Any) -> Any:
            frame, start = self._frames.innermost, time.perf_counter()
            self._frames.stack.append(None)  # what is called within is no part of this call
            try:
                return function(*arguments)
            finally:
                self._frames.stack.pop()
                if frame is not None:
                    frame.callbacks += time.perf_counter() - start

        return run

    def loaded(self) -> None:
        """Note that the call that this thread is in has made a program."""
        frame = self._frames.innermost
        if frame is not None:
            frame.made_a_program = True

    def _measured(self, name: str, run: Callable[[], Any]) -> Any:
        frame, start = _Frame(), time.perf_counter()
        self._frames.stack.append(frame)
        try:
            return run()
        finally:
            self._frames.stack.pop()
            self._add(name, frame, time.perf_counter() - start)

    def _add(self, name: str, frame: _Frame, total: float) -> None:
        with self._lock:
            program = self.programs.setdefault(name, ProgramProfile())
            program.calls += 1
            program.total += total
            if frame.made_a_program:
                program.compiling += total - frame.compiled - frame.callbacks
            program.compiled += frame.compiled
            program.callbacks += frame.callbacks
            program.gates += frame.gates
            program.operations += frame.operations
            program.stages += frame.stages

    # --- how it is shown -------------------------------------------------------------------------

    def __str__(self) -> str:
        if not self.programs:
            return f"no compiled function was called in {_duration(self.seconds)}"
        by_time = sorted(self.programs.items(), key=lambda item: -item[1].total)
        rows = [_HEADER, *(_row(name, program) for name, program in by_time)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{row[0]:{widths[0]}}  "
            + "  ".join(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        return "\n".join([*lines, f"the whole block took {_duration(self.seconds)}"])


_HEADER = (
    "function",
    "calls",
    "total",
    "each",
    "Python",
    "compiled",
    "callbacks",
    "compiling",
    "gates -> operations -> walks",
)


def _row(name: str, program: ProgramProfile) -> tuple[str, ...]:
    shares = (program.python, program.compiled, program.callbacks, program.compiling)
    work = f"{program.gates} -> {program.operations} -> {program.stages}" if program.gates else ""
    return (
        name,
        str(program.calls),
        _duration(program.total),
        _duration(program.total / program.calls),
        *(f"{100 * share / program.total:.0f} %" for share in shares),
        work,
    )


def _duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


_ACTIVE = threading.Lock()
"""Held while something is profiled: there is one profile at a time in a process."""


_CALL = QJIT.__call__


def _call_through(around: Callable[[QJIT, Callable[..., Any]], Any] | None) -> None:
    """Have every call of every `QJIT` made by `around`, or, with None, directly again.

    The method itself is replaced, so that calls cost nothing more while nobody asks.
    """
    if around is None:
        QJIT.__call__ = _CALL
        return

    def call(self: QJIT, /, *args: Any, **kwargs: Any) -> Any:
        return around(self, lambda: _CALL(self, *args, **kwargs))

    QJIT.__call__ = call


@contextmanager
def profile() -> Generator[Profile]:
    """Measure where the time of calls goes that are made in a `with` block, in any thread.

    Calls cost nothing more outside of the block.

    Yields:
        A `Profile`. It prints as a table, which has, for each compiled function, its calls, their
        time, and the shares of Python around compiled code, of compiled code, of Python functions
        that it called, and of compilation; of circuits, the gates, what was left of them after
        fusion, and walks over the state.

    Raises:
        NestedProfileError: a `RuntimeError`, while another one, or `debug.instrumentation`,
            measures.

    Example:
        >>> import diastase
        >>> square = diastase.qjit(lambda x: x * x)
        >>> with diastase.profile() as measured:
        ...     for x in range(100):
        ...         _ = square(x)
        >>> measured.programs["<lambda>"].calls
        100
        >>> print(measured)
        function  calls ...
        <lambda>    100 ...
        the whole block took ...

    """
    with alone():
        measured, start = Profile(), time.perf_counter()
        try:
            observe(measured)
            _call_through(measured.call)
            yield measured
        finally:
            _call_through(None)
            observe(None)
            measured.seconds = time.perf_counter() - start


@contextmanager
def alone() -> Generator[None]:
    """Be the one that measures this process, for as long as the block lasts."""
    if not _ACTIVE.acquire(blocking=False):
        raise NestedProfileError()
    try:
        yield
    finally:
        _ACTIVE.release()
