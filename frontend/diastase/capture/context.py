"""The thread-local state of tracing: the trace that this thread is inside, and its settings.

Every patch in JAX asks `current_context()` first and does what JAX does where it is None; so plain
JAX is undisturbed outside of our tracing, and in other threads during it.

The trap: JAX traces a function once, the body of a loop say, where its caches' keys are equal. So
whatever changes what a function records is one of the `Settings`, which are part of these keys.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Generator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import jax

from diastase.dynamic_shapes.dimensions import DimensionTable
from diastase_mlir.jax_compat import answering, inline_jits, source_of_its_own

if TYPE_CHECKING:
    from diastase_mlir import CompileOptions, PassCall


FoldingMethod = Literal["global", "local-all", "local-random"]
SimulationMethod = Literal["automatic", "statevector", "density", "trajectories", "clifford"]
METHODS: tuple[SimulationMethod, ...] = get_args(SimulationMethod)
"""By which QNodes are simulated, as users name them (`quantum.settings.methods`)."""


@dataclass(frozen=True)
class Folding:
    """How circuits are folded (`mitigate_with_zne`): by which method, and how much they grow."""

    method: FoldingMethod
    scale: float

    @property
    def times(self) -> int:
        """How often the circuit, or each operation, is undone and done again."""
        return int((self.scale - 1) // 2)

    def once_more(self, count: int) -> Set[int]:
        """Which of so many operations are folded once more: a random choice, always the same."""
        number = round((self.scale - 1) / 2 % 1 * count)
        chosen = random.Random(number)  # noqa: S311 - is no secret
        return frozenset(chosen.sample(range(count), number))


@dataclass(frozen=True)
class TracingContext:
    """What belongs to one trace."""

    dimensions: DimensionTable = field(default_factory=DimensionTable)


class Settings(NamedTuple):
    """How functions are traced that are called now: a tuple, since it is often hashed."""

    trace_number: int = 0
    """What JAX caches during a trace of ours (jaxprs with our symbols in them) is found by no other
    trace, and nothing from outside is found in it."""
    passes: tuple[PassCall, ...] = ()
    """Passes of the compiler for QNodes without their own."""
    level: int | None = None
    """How many transforms and passes of a QNode are applied; None for all."""
    single: bool = False
    """Whether all QNodes have amplitudes in single precision."""
    without_assertions: bool = False
    """Whether assertions of the user's are left out."""
    without_autograph: bool = False
    """Whether converted functions leave control flow to Python, and call others as they are."""
    autograph_include: tuple[str, ...] = ()
    """Modules whose functions are converted though they belong to a library."""
    compiler: CompileOptions | None = None
    """Where intermediate IR goes, and whether state vectors are on a GPU; None: no matter."""
    folding: Folding | None = None
    """How QNodes are folded; None for not at all."""
    method: SimulationMethod | None = None
    """By which method QNodes without their own are simulated; None: what their devices say."""
    trajectories: int | None = None
    """How many trajectories they average; None: as many as is usual."""


class _Current(threading.local):
    context: TracingContext | None = None


_current = _Current()
_numbers = itertools.count(1)

_OUTSIDE = Settings()
_settings = jax.make_user_context(None)  # part of the key of all of JAX's tracing caches


def current_settings() -> Settings:
    """How this thread is to trace what is called now."""
    return _settings.value or _OUTSIDE


@contextmanager
def changed_settings(**changes: Any) -> Generator[None]:
    """Functions that are called inside are traced with these `Settings`; others stay."""
    with _settings(current_settings()._replace(**changes)):
        yield


@contextmanager
def new_caches() -> Generator[None]:
    """What JAX caches inside is not found outside: for a part of a trace that may be given up.

    Type rules make assumptions; one that JAX's caches answer makes none.
    """
    with changed_settings(trace_number=next(_numbers)):
        yield


def current_context() -> TracingContext | None:
    """The trace that this thread is inside, None outside of our tracing."""
    return _current.context


def is_tracing() -> bool:
    """Whether this thread is inside a trace: a `qjit` function called now is traced inline."""
    return _current.context is not None


@contextmanager
def new_context(answers: Mapping[str, bool] | None = None) -> Generator[TracingContext]:
    """Start a trace of ours in this thread; `answers` to questions about sizes (`Assumptions`)."""
    context = TracingContext(DimensionTable(answers))
    outer, _current.context = _current.context, context
    try:
        with (
            new_caches(),
            source_of_its_own(),
            inline_jits(),
            answering(context.dimensions.assumptions),
        ):
            yield _current.context
    finally:
        _current.context = outer
