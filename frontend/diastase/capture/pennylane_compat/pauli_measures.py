"""`qml.pauli_measure`: PennyLane dispatches it to no compiler, so what it calls is replaced."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

_module: Any = import_module("pennylane.ops.mid_measure.pauli_measure")  # a function hides it
_implementation: Callable[..., Any] = _module._pauli_measure_impl


def native_pauli_measure(wires: Any, pauli_word: str, postselect: int | None) -> Any:
    """What `qml.pauli_measure` gives where no compiler is active."""
    return _implementation(wires, pauli_word, postselect)


def hook_pauli_measure(is_tracing: Callable[[], bool], handler: Callable[..., Any]) -> None:
    """Send each call made while this thread is tracing to `handler`; called once."""

    def measure(wires: Any, pauli_word: str, postselect: int | None = None) -> Any:
        if not is_tracing():
            return _implementation(wires, pauli_word, postselect)
        return handler(pauli_word, wires, postselect)

    _module._pauli_measure_impl = measure
