"""A quantum function recorded into PennyLane's tape, with tracers as parameters.

No scope of ours is entered: PennyLane's queue records, so all of PennyLane's functions do what they
do without a compiler. Operators that were applied inside a function that JAX or we trace would be
in the tape once, whatever that function is called for, so they are refused.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import pennylane as qml
from pennylane.measurements import MeasurementProcess
from pennylane.tape import QuantumScript

from diastase.capture.device_errors import TapeRecordingError, UnmeasuredError
from diastase.capture.jax_errors import user_line
from diastase.capture.pennylane_compat import (
    CircuitQueue,
    describe,
    is_inside_pennylane,
    is_quantum_object,
    tape_of,
)
from diastase.capture.regions import quantum_scope
from diastase.quantum.operators.decompositions import DATA_DEPENDENT
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase_mlir import at, span_of, user_span
from diastase_mlir.jax_compat import current_trace


@dataclass(frozen=True)
class Recorded:
    """A quantum function that was recorded."""

    tape: QuantumScript
    returned: Sequence[Any]
    """The leaves of what the function returned, measurement processes among them."""
    tree: Any


def record_tape(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Recorded:
    """Run the quantum function once, recorded by PennyLane."""
    queue, trace = CircuitQueue(lambda _: None), current_trace()
    with quantum_scope(None), queue, _refusing_decisions():
        returned = qnode.func(*args, **kwargs)
    for obj, place in queue.recorded():
        if place.trace is not trace:
            with at(span_of(place.source_info)):
                what = f"{describe(obj)} inside of a function that is traced"
                raise TapeRecordingError(what=what)
    leaves, tree = jax.tree_util.tree_flatten(returned, is_leaf=is_quantum_object)
    tape = tape_of(queue, settings.shots)
    _check_measurements(settings.qnode, leaves, tape)
    return Recorded(tape, leaves, tree)


def _check_measurements(name: str, leaves: Sequence[Any], tape: Any) -> None:
    """Each measurement is returned, and nothing else; in any order, unlike in PennyLane."""
    measured = {id(leaf) for leaf in leaves if isinstance(leaf, MeasurementProcess)}
    if not measured or measured != set(map(id, tape.measurements)):
        raise UnmeasuredError(qnode=name, span=user_span())


@contextmanager
def _refusing_decisions() -> Generator[None]:
    """What PennyLane has to know while it records, and is traced, is refused as ours."""
    try:
        yield
    except DATA_DEPENDENT as error:
        function = is_inside_pennylane(error.__traceback__)
        if function is None:
            raise
        name = _FUNCTIONS.get(function, function)
        what = f"{name} of a traced value"
        raise TapeRecordingError(what=what, span=user_line(error.__traceback__)) from error


_FUNCTIONS: Mapping[str, str] = {
    "ForLoopCallable.__call__": "a for_loop",
    "WhileLoopCallable.__call__": "a while_loop",
    "CondCallable.__call__": "a cond",
}
"""What users call them."""
