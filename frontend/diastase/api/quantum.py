"""Quantum operations that PennyLane does not have, or not for compiled programs."""

from typing import Any

from diastase.primitives.quantum import measure_p
from diastase.tracing.devices.capture import DeviceCircuit
from diastase.tracing.devices.outcomes import measure_on_device
from diastase.tracing.pennylane import (
    is_recording,
    native_adjoint,
    native_ctrl,
    native_measure,
    register_compiler,
)
from diastase.tracing.qnode import take_over_qnodes
from diastase.tracing.quantum_errors import OutsideProgramError, ParameterTypeError
from diastase.tracing.quantum_scope import CircuitScope
from diastase.tracing.regions import current_scope
from diastase.tracing.wires import split_positions
from diastase_mlir import at, user_span

take_over_qnodes()
register_compiler()


def measure(wires: Any, reset: bool = False, postselect: int | None = None) -> Any:
    """Measure one wire in the middle of a circuit; the outcome is a traced boolean.

    The state collapses, so everything after, the QNode's results included, is what it is *for the
    outcome found in this run* (not an average over outcomes, as `qml.measure` gives). With
    `reset=True` the qubit is put back to |0> afterwards; `postselect=0` or `1` forces the outcome.
    In circuits that PennyLane runs (uncompiled, or on other devices) it is `qml.measure` itself.

        >>> @qjit
        ... @qml.qnode(device)
        ... def circuit():
        ...     qml.Hadamard(0)
        ...     outcome = measure(0)
        ...     cond(outcome, lambda: qml.X(1))()
        ...     return outcome, qml.expval(qml.Z(1))
    """
    span = user_span()
    scope = current_scope()
    if not isinstance(scope, CircuitScope) and not is_recording():
        raise OutsideProgramError(construct="measure", span=span)
    if postselect not in (None, 0, 1):
        reason = f"postselect is 0, 1 or None, not {postselect!r}"
        raise ParameterTypeError(operation="measure", reason=reason, span=span)
    labels = _wire_labels(wires)
    if len(labels) != 1:
        reason = f"one wire at a time, not {len(labels)}"
        raise ParameterTypeError(operation="measure", reason=reason, span=span)
    if not isinstance(scope, CircuitScope):
        return native_measure(labels[0], bool(reset), postselect)
    scope.require_own_region("measure")
    if isinstance(scope.circuit, DeviceCircuit):
        with at(span):
            return measure_on_device(scope, labels[0], bool(reset), postselect)
    scope.flush()
    with at(span):
        known, operands = split_positions(scope.wires.positions(labels, "measure"))
    scope.circuit.measures = True
    scope.circuit.postselects |= postselect is not None
    scope.register, outcome = measure_p.bind(
        scope.register, *operands, wires=known, reset=bool(reset), postselect=postselect
    )
    return outcome


def adjoint(f: Any, lazy: bool = True) -> Any:
    """The adjoint of an operator, an operator class or a quantum function."""
    return native_adjoint(f, lazy)


def ctrl(
    f: Any,
    control: Any,
    control_values: Any = None,
    work_wires: Any = None,
    work_wire_type: str = "borrowed",
) -> Any:
    """The controlled form of an operator, an operator class or a quantum function."""
    return native_ctrl(
        f,
        control,
        control_values=control_values,
        work_wires=work_wires,
        work_wire_type=work_wire_type,
    )


def _wire_labels(wires: Any) -> list[Any]:
    """The wires given: one, or a collection."""
    if isinstance(wires, str) or not hasattr(wires, "__len__"):
        return [wires]
    if getattr(wires, "ndim", 1) == 0:
        return [wires]
    return list(wires)
