"""What a region of a circuit applies, in order, and operators that are applied nowhere."""

import dis
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pennylane as qml
from pennylane.measurements import MeasurementProcess
from pennylane.queuing import AnnotatedQueue, QueuingManager

from diastase.capture.pennylane_compat.operators import describe
from diastase.capture.pennylane_compat.private import patch_while_tracing
from diastase.capture.quantum_errors import OutsideQNodeError
from diastase.capture.regions import current_scope
from diastase_mlir.diagnostics import is_user_file, user_span
from diastase_mlir.jax_compat import current_source_info, current_trace


@dataclass(frozen=True)
class Place:
    """Where an operator was applied."""

    source_info: Any
    trace: Any


class CircuitQueue(AnnotatedQueue):
    """What one region of a circuit has applied since the last flush."""

    def __init__(self, on_remove: Callable[[Any], None]):
        super().__init__()
        self._on_remove = on_remove
        """Called with each object that PennyLane wants out of the circuit, here or not."""

    def append(self, obj: Any, **kwargs: Any) -> None:
        """Record an object, and where."""
        super().append(obj, place=Place(current_source_info(), current_trace()), **kwargs)

    def remove(self, obj: Any) -> None:
        """Forget an object that becomes part of another."""
        self._on_remove(getattr(obj, "obj", obj))  # as queues wrap what they hold
        super().remove(obj)

    def recorded(self) -> list[tuple[Any, Place]]:
        """Everything recorded, in order."""
        return [(obj, information["place"]) for obj, information in self.items()]

    def take(self) -> Iterator[tuple[Any, Place]]:
        """Everything recorded, in order; the queue is empty afterwards."""
        recorded = self.recorded()
        self.clear()
        yield from recorded

    def put_back(self, obj: Any, place: Place) -> None:
        """Keep an object for later that was taken."""
        super().append(obj, place=place)

    @property
    def is_active(self) -> bool:
        """Whether an operator applied now would be recorded here."""
        return QueuingManager.active_context() is self

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been recorded."""
        return len(self) == 0


def is_recording() -> bool:
    """Whether PennyLane records operators now, here or in a queue of somebody else's."""
    return QueuingManager.recording()


@contextmanager
def withdraw_since() -> Generator[list[Any]]:
    """Take out again what is applied inside; afterwards the list has it."""
    queue: Any = QueuingManager.active_context()
    before = {id(obj) for obj, _ in queue.items()}
    applied: list[Any] = []
    yield applied
    applied += [obj for obj, _ in queue.items() if id(obj) not in before]
    for obj in applied:
        queue.remove(obj)


class _Making(threading.local):
    depth = 0


_making = _Making()


@contextmanager
def making_operators() -> Generator[None]:
    """PennyLane makes operators and measurements inside that nobody records, and none is missed.

    Its queue serves all threads: so no other thread records what is made here, either.
    """
    _making.depth += 1
    try:
        with AnnotatedQueue():
            yield
    finally:
        _making.depth -= 1


def _append(
    original: Callable[..., None], cls: type[QueuingManager], obj: Any, **kwargs: Any
) -> None:
    """Refuse an operator that is applied while nothing records it.

    In PennyLane such an operator leaves no trace. One that goes into a tape of PennyLane's while
    JAX traces the function that applies it would be there once, however often that runs.
    """
    original(cls, obj, **kwargs)
    scope = current_scope()
    if _making.depth:
        return
    if cls.recording():
        if scope is not None:
            scope.refuse_foreign_trace(obj)
        return
    if scope is not None:
        return
    if isinstance(obj, MeasurementProcess):
        raise OutsideQNodeError(operation=repr(obj), span=user_span())
    if isinstance(obj, qml.operation.Operator) and _is_statement(_user_frame()):
        raise OutsideQNodeError(operation=describe(obj), span=user_span())


def _user_frame() -> FrameType | None:
    """The user's innermost frame."""
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_statement(frame: FrameType | None) -> bool:
    """Whether the call under way in a frame is a statement: its value is thrown away.

    `qml.X(0)` as a statement can only be meant to be applied; as an expression (an observable,
    say) it is data, which is allowed anywhere. PennyLane cannot tell, the bytecode can.
    """
    if frame is None:
        return False
    following = (
        instruction.opname
        for instruction in dis.get_instructions(frame.f_code)
        if instruction.offset > frame.f_lasti and instruction.opname not in ("CACHE", "PRECALL")
    )
    # In 3.11 `f_lasti` may stand on the PRECALL of the call under way.
    name = next(following, "")
    return (next(following, "") if name == "CALL" else name) == "POP_TOP"


patch_while_tracing("recording", _append)
