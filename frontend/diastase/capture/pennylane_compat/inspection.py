"""PennyLane's functions that look at a circuit, given a compiled one.

`qml.draw`, `qml.draw_mpl` and `qml.matrix` know a class called `QJIT` and look at its
`user_function`. `qml.specs` knows Catalyst's class only, and transforms refuse compiled functions;
so `look_through` puts in front of `qml.specs` what the others do, and registers `qml.snapshots`.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol

import pennylane as qml
from pennylane.transforms.core import BoundTransform

from diastase.capture.pennylane_compat.private import PENNYLANE

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


def look_through(kind: type[CompiledFunction]) -> None:
    """Let PennyLane look at what functions of this class were compiled from; called once."""

    def of_its_function(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def specs(qnode: Any, *args: Any, **kwargs: Any) -> Any:
            given = qnode.original_function if isinstance(qnode, kind) else qnode
            return original(given, *args, **kwargs)

        return specs

    PENNYLANE.patch("specs", of_its_function)

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
