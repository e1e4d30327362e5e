"""Operators as equations that noise can be added to, one for each gate of PennyLane's.

What waits (`Identity`) is a gate, and a prepared state is one equation, to which no noise belongs.

PennyLane's device decomposes what it has no gate for, and then its noise is added to each gate. So
the same is done here for noise of devices, though the engine has other gates (`IsingXX`, say, in
the place of three), and a gate of the device that the engine would take apart stays one, given by
its matrix.
"""

from collections.abc import Callable
from typing import Any

import pennylane as qml
from pennylane import ops
from pennylane.devices.default_mixed import stopping_condition

from diastase.primitives.quantum import gate_p
from diastase.quantum.operators.broadcasting import element_of
from diastase.quantum.operators.decompositions import decomposition_of
from diastase.quantum.operators.gate_operands import Controls, Recorder, silently, wires_of
from diastase.quantum.operators.gates import LARGEST_MATRIX, is_no_gate
from diastase_mlir import GATES

_MATRICES = frozenset({"PCPhase", "QubitCarry", "QubitSum", "BlockEncode"})
"""Gates of the device that the engine has not."""


def for_noise(then: Callable[..., None], of_device: bool) -> Callable[..., None]:
    """Record operators by `then`, those of which the device has no gate by gates of it."""

    def record(operator: Any, recorder: Recorder, controls: Controls = ()) -> None:
        operator = element_of(operator)
        if isinstance(operator, qml.Identity):
            return _record_identity(operator, recorder, controls)
        if isinstance(operator, qml.BasisState) and recorder.is_untouched and not controls:
            return then(_as_vector(operator), recorder, controls)
        if not of_device:
            return then(operator, recorder, controls)
        whole = operator
        if controls:
            wires, values = [wire for wire, _ in controls], [value for _, value in controls]
            whole = silently(operator, lambda: qml.ctrl(operator, wires, control_values=values))
        if _is_gate(whole) or is_no_gate(operator) or not _is_decomposed(operator):
            return then(_as_one(operator), recorder, controls)
        found = decomposition_of(
            whole, lambda function: recorder.run_decomposition(function, ()) or ()
        )
        if found.factors is None:
            return then(operator, recorder, controls)
        for factor in found.factors:
            record(factor, recorder, ())
        return None

    return record


def _is_gate(operator: Any) -> bool:
    return stopping_condition(operator) or (
        operator.name in GATES and not operator.has_decomposition
    )


def _is_decomposed(operator: Any) -> bool:
    is_plain = isinstance(operator, qml.operation.Operation | ops.Adjoint | ops.Controlled)
    special = (qml.operation.StatePrepBase, qml.Snapshot, qml.operation.Channel, qml.Barrier)
    return is_plain and not isinstance(operator, special) and operator.has_decomposition


def _as_vector(operator: Any) -> Any:
    def make() -> Any:
        vector = operator.state_vector(wire_order=operator.wires).reshape(-1)
        return qml.StatePrep(vector, wires=operator.wires)

    return silently(operator, make)


def _as_one(operator: Any) -> Any:
    if operator.name in _MATRICES and len(operator.wires) <= LARGEST_MATRIX:
        matrix = silently(operator, operator.matrix)
        return silently(operator, lambda: qml.QubitUnitary(matrix, wires=operator.wires))
    return operator


def _record_identity(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate like others, to which noise may be added: a wire that waits."""
    wires, _ = wires_of(operator, recorder, controls)
    for wire in wires:
        recorder.advance_on([wire], gate_p, name="Identity", num_parameters=0, control_values=())
