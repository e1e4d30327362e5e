"""A tape as a quantum function: the operators once more, measured as the tape says.

On the engine, PennyLane's mid-circuit measurements become ours, and what they decide about becomes
branches of ours; a device that runs in Python gets the tape as it is.
"""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from pennylane import ops
from pennylane.measurements import ProbabilityMP

from diastase.capture.pennylane_compat import is_native_outcome

Outcomes = Mapping[Any, Any]
"""What was found by each mid-circuit measurement of a tape, by its identity: traced booleans."""


def replay(tape: Any, natively: bool) -> Callable[[], Any]:
    """The tape as a quantum function; `natively` if its mid-circuit measurements stay as they are.

    Called where PennyLane's functions are ours (`qml.measure`, `qml.cond`).
    """

    def circuit() -> Any:
        outcomes: dict[Any, Any] = {}
        for operator in tape.operations:
            if natively:
                qml.apply(operator)
            else:
                _apply(operator, outcomes)
        apply = qml.apply if natively else partial(_measured, outcomes=outcomes)
        measured = tuple(apply(process) for process in tape.measurements)
        return measured if len(measured) != 1 else measured[0]

    return circuit


def _apply(operator: Any, outcomes: dict[Any, Any]) -> None:
    match operator:
        case ops.MidMeasure():
            outcomes[_identity(operator)] = qml.measure(
                operator.wires[0], reset=operator.reset, postselect=operator.postselect
            )
        case ops.PauliMeasure():
            outcomes[_identity(operator)] = qml.pauli_measure(
                operator.pauli_word, operator.wires, operator.postselect
            )
        case ops.Conditional():
            predicate = _value(operator.meas_val, outcomes).astype(bool)
            branch: Any = qml.cond(predicate, lambda: _apply_one(operator.base))
            branch()
        case qml.Projector():  # PennyLane's deferred measurements postselect by it
            for wire, bit in zip(operator.wires, np.asarray(operator.data[0]), strict=True):
                qml.measure(wire, postselect=int(bit))
        case _:
            qml.apply(operator)


def _apply_one(operator: Any) -> None:
    qml.apply(operator)


def _measured(process: Any, outcomes: Outcomes) -> Any:
    """A measurement process; of outcomes of ours, if it is of PennyLane's."""
    if process.mv is None:
        return qml.apply(process)
    single = is_native_outcome(process.mv)
    values = [process.mv] if single else list(process.mv)
    measurements = [measured for value in values for measured in value.measurements]
    if not all(_identity(measured) in outcomes for measured in measurements):
        return _deferred(process, single)
    found = [_value(value, outcomes) for value in values]
    process = copy.copy(process)
    process.mv = found[0] if single else found
    return qml.apply(process)


def _deferred(process: Any, single: bool) -> Any:
    """A measurement of outcomes that `defer_measurements` has left on wires of their own."""
    options = {"all_outcomes": process.all_outcomes} if hasattr(process, "all_outcomes") else {}
    if not single or isinstance(process, ProbabilityMP):
        return type(process)(wires=process.wires, **options)
    values = qml.Hermitian(np.diag(process.eigvals()), process.wires)
    return type(process)(obs=values, **options)


def _identity(measured: Any) -> Any:
    """What names a measurement, whichever wire a transform has moved it to.

    PennyLane's hash of it contains the wire; an expression of its outcome holds the one before.
    """
    return measured if measured.meas_uid is None else measured.meas_uid


def _value(expression: Any, outcomes: Outcomes) -> Any:
    """What an expression of outcomes is: looked up among its values for all outcomes."""
    found = [outcomes[_identity(measured)] for measured in expression.measurements]
    if not expression.has_processing:
        return found[0]
    index = jnp.asarray(0)
    for outcome in found:
        index = 2 * index + outcome
    values = np.asarray([np.asarray(value)[()] for value in expression.branches.values()])
    return jnp.asarray(values)[index]
