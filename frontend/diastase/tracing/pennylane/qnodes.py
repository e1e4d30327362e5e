"""Calls of QNodes, and the settings that a QNode has."""

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pennylane as qml
from pennylane.exceptions import PennyLaneDeprecationWarning

QNodeHandler = Callable[[qml.QNode, tuple[Any, ...], dict[str, Any]], Any]


def shots_of_call(qnode: qml.QNode, kwargs: dict[str, Any]) -> Any:
    """Shots of one call, by PennyLane's own precedence; `shots` is taken out of the keywords."""
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

    replayed: Any = copy.copy(qnode)
    replayed.func, replayed.diff_method, replayed.interface = circuit, None, "numpy"
    replayed._qfunc_uses_shots_arg = False
    replayed._set_shots(shots)
    found: Any = replayed()
    if replayed.shots.has_partitioned_shots:
        return [result for results in found for result in results]
    return list(found)


def intercept_qnodes(is_tracing: Callable[[], bool], handler: QNodeHandler) -> None:
    """Send each call of a QNode made while this thread is tracing to `handler`.

    PennyLane offers compilers no way to take over a call of a QNode.
    """
    original = qml.QNode.__call__

    def call(self: qml.QNode, *args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return original(self, *args, **kwargs)
        return handler(self, args, kwargs)

    call.__doc__ = original.__doc__
    qml.QNode.__call__ = call
