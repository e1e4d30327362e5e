"""The one thread-local state of tracing: which trace of ours, if any, this thread is inside.

Every hook in JAX asks `current_context()` first and does what JAX does where it is None; so plain
JAX is undisturbed outside of our tracing, and in other threads during it.
"""

import itertools
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import jax

from diastase.tracing.dimensions import DimensionTable
from diastase_mlir.jax_internals import answering, inline_jits, source_of_its_own


@dataclass(frozen=True)
class TracingContext:
    """What belongs to one trace."""

    dimensions: DimensionTable = field(default_factory=DimensionTable)


class _Current(threading.local):
    context: TracingContext | None = None


_current = _Current()
_numbers = itertools.count(1)

# Part of the key of all of JAX's tracing caches: what JAX caches during a trace of ours (jaxprs
# with our symbols in them) is found by no other trace, and nothing from outside is found in it.
_trace_number = jax.make_user_context(None)


@contextmanager
def new_caches() -> Generator[None]:
    """What JAX caches inside is not found outside: for a part of a trace that may be given up.

    Type rules make assumptions; one that JAX's caches answer makes none.
    """
    with _trace_number(next(_numbers)):
        yield


def current_context() -> TracingContext | None:
    """The trace that this thread is inside, None outside of our tracing."""
    return _current.context


@contextmanager
def new_context(answers: Mapping[str, bool] | None = None) -> Generator[TracingContext]:
    """Start a trace of ours in this thread; `answers` to questions about sizes (`Assumptions`)."""
    context = TracingContext(DimensionTable(answers))
    outer, _current.context = _current.context, context
    try:
        with (
            _trace_number(next(_numbers)),
            source_of_its_own(),
            inline_jits(),
            answering(context.dimensions.assumptions),
        ):
            yield _current.context
    finally:
        _current.context = outer
