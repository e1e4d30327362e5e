"""`qml.pauli_measure`: PennyLane dispatches it to no compiler, so what it calls is replaced."""

from collections.abc import Callable
from typing import Any

from diastase.capture.pennylane_compat.private import PENNYLANE

_module = PENNYLANE.module("pennylane.ops.mid_measure.pauli_measure")


def native_pauli_measure(wires: Any, pauli_word: str, postselect: int | None) -> Any:
    """What `qml.pauli_measure` gives where no compiler is active."""
    return _module._pauli_measure_impl(wires, pauli_word, postselect)


def patch_pauli_measure(is_tracing: Callable[[], bool], handler: Callable[..., Any]) -> None:
    """Send each call made while this thread is tracing to `handler`; called once."""

    def handled(original: Callable[..., Any]) -> Callable[..., Any]:
        def measure(wires: Any, pauli_word: str, postselect: int | None = None) -> Any:
            if not is_tracing():
                return original(wires, pauli_word, postselect)
            return handler(pauli_word, wires, postselect)

        return measure

    PENNYLANE.patch("pauli_measure", handled)
