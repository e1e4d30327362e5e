"""Refusals of observables, and calls of PennyLane that may end in one.

The trap: PennyLane says that it has looked at a traced value by an error of JAX's, or by a
`ValueError` of its own.
"""

from collections.abc import Callable
from typing import Any

import jax
import pennylane as qml

from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import UnsupportedObservableError

DATA_DEPENDENT = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, ValueError)
"""What JAX, or PennyLane by a `ValueError`, raises where PennyLane looks at a traced value."""


def silently(observable: Any, function: Callable[[], Any]) -> Any:
    """Call PennyLane without recording what it makes; it may look at traced values: refused."""
    with qml.QueuingManager.stop_recording():
        try:
            return function()
        except DATA_DEPENDENT as error:
            reason = "is built by PennyLane in a way that depends on a traced value"
            raise unsupported(observable, reason) from error


def unsupported(observable: Any, reason: str) -> UnsupportedObservableError:
    """The refusal of an observable."""
    return UnsupportedObservableError(observable=describe(observable), reason=reason)
