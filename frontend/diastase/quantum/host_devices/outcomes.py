"""Mid-circuit measurements of circuits that a device runs: PennyLane's own.

The outcome is PennyLane's `MeasurementValue`, which stands for a number that only the device will
know. It may decide about operators and be measured; whoever wants a number is refused.
"""

from typing import Any, NoReturn

from diastase.capture.device_errors import UnknownOutcomeError
from diastase.capture.pennylane_compat import is_native_outcome, is_traced_wire, native_measure
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase_mlir import user_span


def measure_on_device(scope: CircuitScope, wire: Any, reset: bool, postselect: int | None) -> Any:
    """Measure one wire; `scope` is the one in which it happens."""
    if not scope.is_outermost:
        raise UnknownOutcomeError(what="measure inside a loop or branch")
    if is_traced_wire(wire):
        raise UnknownOutcomeError(what="measure of a traced wire")
    return native_measure(wire, reset, postselect)


def refuse_outcomes(operator: Any) -> None:
    """Refuse an operator whose parameters are outcomes."""
    if any(map(is_native_outcome, operator.data)):
        raise UnknownOutcomeError(what=f"{operator.name} of a mid-circuit outcome")


def refuse_number() -> NoReturn:
    """Refuse an outcome where JAX needs a number."""
    what = "a mid-circuit outcome used as a number"
    raise UnknownOutcomeError(what=what, span=user_span())
