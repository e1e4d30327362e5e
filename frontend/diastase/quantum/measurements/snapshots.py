"""`qml.Snapshot` in a compiled circuit: its QNode returns `(snapshots, results)`, as in Catalyst.

In: a snapshot where the circuit has it, at the top level of the QNode, and the register as it is
there. Out: what it sees, a classical value beside what the quantum function returns.

The trap: the size of a state is needed in the middle of the circuit, where a device without wires
does not know it; then the circuit is traced again (`wires.wire_discovery`).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from pennylane.measurements import StateMP
from pennylane.queuing import AnnotatedQueue

from diastase.capture.quantum_errors import UnsupportedMeasurementError, UnsupportedOperationError
from diastase.quantum.measurements.measurements import measure_process, process_name
from diastase.quantum.scope.circuit_scope import CircuitScope
from diastase.quantum.settings.qnode_settings import QNodeSettings


class WithSnapshots(NamedTuple):
    """What a QNode with snapshots returns."""

    snapshots: list[Any]
    results: Any


def measure_snapshot(settings: QNodeSettings, operator: Any, scope: CircuitScope) -> Any:
    """What a snapshot sees: exact, of the register as it is."""
    if not scope.is_outermost or scope.unitary_in is not None:
        raise _refusal(
            "is taken once, so it cannot stand in a loop, a branch, an adjoint or a ctrl"
        )
    if scope.has_measured and settings.mcm_method != "single-branch-statistics":
        raise _refusal(
            "after a mid-circuit measurement sees one run only, and there are many of them: "
            "move it, or use mcm_method='single-branch-statistics'"
        )
    process = operator.hyperparameters["measurement"]
    if not settings.is_analytic and not isinstance(process, StateMP):
        reason = "in a Snapshot is exact, and the QNode has shots"
        raise UnsupportedMeasurementError(measurement=process_name(process), reason=reason)
    if scope.wires.must_be_found_first():
        return jnp.zeros(())
    with AnnotatedQueue():
        return measure_process(process, scope)


def _refusal(reason: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(operation="Snapshot", reason=reason)
