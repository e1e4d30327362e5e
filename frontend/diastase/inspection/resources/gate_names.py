"""What PennyLane calls the operations of a circuit, and on how many wires they act.

A gate of the gate table with controls is named as the operator that `qml.ctrl` makes of it:
`Toffoli`, `CRX`, `2C(RX)`, `C(Adjoint(S))`. So the names are those that `qml.specs` has for the
same circuit in plain PennyLane.
"""

from functools import cache
from typing import Any

import pennylane as qml
from pennylane import ops

from diastase.inspection.resources.pauli_products import word_of
from diastase.primitives.define import Role, has_role

MEASURED = {True: "MidMeasureMP", False: "PauliMeasure"}
"""By whether the measurement is one in the computational basis."""

_OF_ARRAYS = {
    "unitary": "QubitUnitary",
    "diagonal": "DiagonalQubitUnitary",
    "prepare": "StatePrep",
    "global_phase": "GlobalPhase",
    "replace": "QubitDensityMatrix",
}


def operation_name(equation: Any) -> str | None:
    """The name of an operation; None for what is none in PennyLane, such as a check of wires."""
    name, params = equation.primitive.name, equation.params
    if name == "measure":
        return MEASURED[word_of(equation) == "Z"]
    if has_role(equation, Role.CHANNEL):
        return params["construct"]
    controls = params.get("control_values", ())
    if name != "gate":
        base = _OF_ARRAYS.get(name)
        return None if base is None else _controlled(base, 0, controls, operation_size(equation))
    if word_of(equation) is not None:
        return _prefixed("PauliRot", len(controls))
    targets = operation_size(equation) - len(controls)
    return _controlled(params["name"], params["num_parameters"], controls, targets)


def operation_size(equation: Any) -> int:
    """On how many wires an operation acts, controls included; none: on no wire in particular."""
    return len(equation.params.get("wires", ()))


@cache
def _controlled(name: str, parameters: int, controls: tuple[bool, ...], targets: int) -> str:
    if not controls:
        return name
    if name == "QubitUnitary":
        return "ControlledQubitUnitary"
    inner = name.removeprefix("Adjoint(").removesuffix(")")
    kind = getattr(qml, inner, None)
    if kind is None or name == "DiagonalQubitUnitary":
        return _prefixed(name, len(controls))
    with qml.QueuingManager.stop_recording():
        base = kind(*[0.5] * parameters, wires=range(targets))
        operator = qml.adjoint(base) if inner != name else base
        wires = range(targets, targets + len(controls))
        made: Any = qml.ctrl(operator, wires, control_values=list(controls))
    is_generic = type(made) in (ops.Controlled, ops.ControlledOp)
    return _prefixed(name, len(controls)) if is_generic else str(made.name)


def _prefixed(name: str, controls: int) -> str:
    if not controls:
        return name
    return f"{'' if controls == 1 else controls}C({name})"
