"""Channels on a register that is a state vector: recorded as operators that are drawn (`kraus_p`).

`with_channels` makes of a function that records operators one that knows channels, too.
"""

from collections.abc import Callable
from typing import Any

import pennylane as qml

from diastase.capture.noise_errors import NotUnitaryError
from diastase.capture.pennylane_compat import describe
from diastase.primitives.trajectories import kraus_p
from diastase.quantum.noise.kraus import kraus_of
from diastase.quantum.operators.gate_operands import Controls, unsupported, wires_of


def with_channels(record: Callable[..., None]) -> Callable[..., None]:
    """Record channels by drawing, and what is none as `record` does."""

    def recorded(operator: Any, recorder: Any, controls: Controls = ()) -> None:
        if isinstance(operator, qml.operation.Channel):
            _record_channel(operator, recorder, controls)
        elif isinstance(operator, qml.QubitDensityMatrix):
            raise unsupported(operator, "is no state vector: method='density' takes it")
        else:
            record(operator, recorder, controls)

    return recorded


def _record_channel(operator: Any, recorder: Any, controls: Controls) -> None:
    construct = recorder.unitary_in or ("ctrl" if controls else None)
    if construct is not None:
        raise NotUnitaryError(operation=describe(operator), construct=construct)
    matrices = kraus_of(operator)
    wires, _ = wires_of(operator, recorder, ())
    recorder.circuit.measures = True
    recorder.advance_on(wires, kraus_p, matrices, construct=operator.name)
