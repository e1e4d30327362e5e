"""Loops and branches of ours while PennyLane records a tape.

A tape has no place for them. One that applies no operator is traced as ever; one that does is done
in Python, if what it depends on is known, and refused if it is traced. Whether it applies any is
seen by tracing it: the operators that this leaves in the tape are taken out again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jax.core import Tracer

from diastase.capture.device_errors import TapeRecordingError
from diastase.capture.pennylane_compat import is_recording, withdraw_since
from diastase.capture.regions import current_scope
from diastase_mlir.diagnostics import user_span


def records_a_tape() -> bool:
    """Whether operators go into a tape of PennyLane's, and not into a circuit of ours."""
    return current_scope() is None and is_recording()


def traced_or_unrolled(
    construct: str,
    decides: Sequence[Any],
    trace: Callable[[], Any],
    unroll: Callable[[], Any],
) -> Any:
    """Trace a loop or branch that applies no operator; do one that does in Python.

    `decides`: the values that say what is done.
    """
    with withdraw_since() as applied:
        results = trace()
    if not applied:
        return results
    if any(isinstance(value, Tracer) for value in decides):
        refuse_traced(construct)
    return unroll()


def known(value: Any, construct: str) -> Any:
    """A value that Python decides by."""
    if isinstance(value, Tracer):
        refuse_traced(construct)
    return value


def refuse_traced(construct: str) -> None:
    """Refuse what a tape cannot hold."""
    what = f"a {construct} around operators that depends on traced values"
    raise TapeRecordingError(what=what, span=user_span())
