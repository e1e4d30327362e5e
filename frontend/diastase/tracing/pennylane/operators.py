"""Operators: as messages call them, and what PennyLane itself makes of `adjoint` and `ctrl`."""

from typing import Any

import pennylane as qml
from pennylane.measurements import MeasurementProcess
from pennylane.ops.op_math.adjoint import create_adjoint_op
from pennylane.ops.op_math.controlled import create_controlled_op


def describe(operator: Any) -> str:
    """An operator in a message: its name and its wires."""
    wires = getattr(operator, "wires", ())
    labels = ["<traced>" if hasattr(wire, "aval") else repr(wire) for wire in wires]
    name = getattr(operator, "name", type(operator).__name__)
    return f"{name}(wires=[{', '.join(labels)}])" if labels else str(name)


def is_quantum_object(value: Any) -> bool:
    """Whether a value is PennyLane's own; PennyLane makes pytrees of them, so ask before JAX."""
    return isinstance(value, MeasurementProcess | qml.operation.Operator)


def is_operator(value: Any) -> bool:
    """Whether a value is an operator of PennyLane."""
    return isinstance(value, qml.operation.Operator)


def is_operator_class(value: Any) -> bool:
    """Whether a value is a class of operators, which is called to apply one."""
    return isinstance(value, type) and issubclass(value, qml.operation.Operator)


def native_adjoint(operator: Any, lazy: bool) -> Any:
    """What `qml.adjoint` gives where no compiler is active."""
    return create_adjoint_op(operator, lazy)


def native_ctrl(operator: Any, control: Any, **options: Any) -> Any:
    """What `qml.ctrl` gives where no compiler is active."""
    return create_controlled_op(operator, control, **options)
