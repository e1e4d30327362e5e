"""QNodes: calls taken over while tracing, their settings, and functions that look into a circuit.

`qml.matrix` knows a class called `QJIT` and looks at its `user_function`; what is drawn is in
`drawing`. `qml.specs` knows Catalyst's class only, and transforms refuse compiled functions; so
`look_through` gives `qml.specs` of them to who counts circuits, and registers `qml.snapshots`.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import pennylane as qml
from pennylane import CompilePipeline
from pennylane.exceptions import PennyLaneDeprecationWarning
from pennylane.queuing import AnnotatedQueue
from pennylane.tape import QuantumScript
from pennylane.transforms.core import BoundTransform

from diastase.capture.pennylane_compat.private import PENNYLANE, SHOTS_OF_CALLS, patch_while_tracing
from diastase_mlir.diagnostics import is_user_file

_PENNYLANE = str(Path(str(qml.__file__)).parent)

QNodeHandler = Callable[[qml.QNode, tuple[Any, ...], dict[str, Any]], Any]


def shots_of_call(qnode: qml.QNode, kwargs: dict[str, Any]) -> Any:
    """Shots of one call, by PennyLane's own precedence; `shots` is taken out of the keywords."""
    if "shots" not in kwargs:
        return qnode.shots
    PENNYLANE.require(SHOTS_OF_CALLS)
    with warnings.catch_warnings():
        # That `shots=` of a call is deprecated is said by PennyLane where the program runs on it.
        warnings.simplefilter("ignore", PennyLaneDeprecationWarning)
        return qnode._get_shots(kwargs)  # pyright: ignore[reportPrivateUsage]


def run_as_qnode(
    qnode: qml.QNode, shots: Any, operators: Sequence[Any], processes: Sequence[Any]
) -> list[Any]:
    """Run a circuit as PennyLane runs a QNode like this one; results in one list, flat.

    The QNode keeps its device, its transforms and its settings; numbers stay numpy's.
    """

    def circuit() -> list[Any]:
        for operator in operators:
            qml.apply(operator)
        return [qml.apply(process) for process in processes]

    replayed: Any = qnode.update_shots(shots)
    replayed.func, replayed.diff_method, replayed.interface = circuit, None, "numpy"
    replayed._qfunc_uses_shots_arg = False
    found: Any = replayed()
    if replayed.shots.has_partitioned_shots:
        return [result for results in found for result in results]
    return list(found)


def qnode_of_tape(qnode: qml.QNode, function: Callable[[], Any], shots: Any) -> qml.QNode:
    """A QNode like another one, of this function, without transforms."""
    made: Any = qnode.update_shots(shots)
    function.__name__ = getattr(qnode.func, "__name__", "qnode")
    made.func, made._compile_pipeline = function, CompilePipeline()
    made._qfunc_uses_shots_arg = False
    return made


def tape_of(queue: AnnotatedQueue, shots: Any) -> QuantumScript:
    """What a queue has recorded."""
    return QuantumScript.from_queue(queue, shots)


def transform_name(transform: Any) -> str:
    """What a transform is called."""
    function = transform.tape_transform
    return function.__name__ if function is not None else str(transform.pass_name)


def apply_transform(transform: Any, tapes: Sequence[Any]) -> tuple[Sequence[Any], Any]:
    """The tapes that one transform makes of several, and the function back for their results."""
    return CompilePipeline([transform])(tuple(tapes))


def is_inside_pennylane(traceback: TracebackType | None) -> str | None:
    """The function of PennyLane's in which an error was raised, if JAX raised it for PennyLane."""
    name = None
    while traceback is not None:
        file, code = traceback.tb_frame.f_code.co_filename, traceback.tb_frame.f_code
        if file.startswith(_PENNYLANE):
            name = name or code.co_qualname
        elif is_user_file(file):
            name = None
        traceback = traceback.tb_next
    return name


def intercept_qnodes(handler: QNodeHandler) -> None:
    """Send each call of a QNode made while this thread is tracing to `handler`; called once."""

    def call(_: Callable[..., Any], qnode: qml.QNode, *args: Any, **kwargs: Any) -> Any:
        return handler(qnode, args, kwargs)

    patch_while_tracing("qnode_calls", call)


_snapshot = PENNYLANE.module("pennylane.debugging.snapshot")


class CompiledFunction(Protocol):
    """What is known here of a compiled function."""

    @property
    def original_function(self) -> Callable[..., Any]:
        """What it was compiled from."""
        ...

    def like(self, function: Callable[..., Any]) -> Any:
        """Compile another function as this one was."""
        ...


def look_through(kind: type[CompiledFunction], specs_of: Callable[..., Any]) -> None:
    """Let PennyLane look at what functions of this class were compiled from; called once.

    `specs_of(original, function, …)` takes the place of `qml.specs` for them.
    """

    def or_of_compiled(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def specs(qnode: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(qnode, kind):
                return specs_of(original, qnode, *args, **kwargs)
            return original(qnode, *args, **kwargs)

        return specs

    PENNYLANE.patch("specs", or_of_compiled)

    def snapshots(compiled: CompiledFunction, *args: Any, **kwargs: Any) -> Any:
        return compiled.like(qml.snapshots(compiled.original_function, *args, **kwargs))

    qml.snapshots.register(kind)(snapshots)


def debugger_of(device: Any) -> Any:
    """Where `qml.snapshots` collects what a run on this device passes; None if nobody looks."""
    debugger = getattr(device, "_debugger", None)
    return debugger if debugger is not None and debugger.active else None


def splitting_at_snapshots(transforms: Sequence[Any]) -> list[Any]:
    """Transforms of a QNode that is debugged, with one that makes a tape of each snapshot.

    Its result is a dictionary, in which the result of the QNode is `execution_results`.
    """
    tagging = _snapshot._add_snapshot_tags.tape_transform
    own = [each for each in transforms if each.tape_transform is not tagging]
    return [*own, BoundTransform(qml.snapshots)]
