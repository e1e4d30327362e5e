"""The call of a QNode that has transforms.

In: the QNode, its settings, and `run`, which records the call of a QNode without transforms. The
tapes that the transforms make are run as such QNodes: like the first one, but for the function and
the shots.

For `qml.snapshots` PennyLane sets a debugger on the device, calls the QNode, and returns what the
debugger has. Our engine shows nothing on its way, so the tape is split at the snapshots, and the
results are put where a device would put them. The trap: PennyLane numbers snapshots without a tag,
so its dictionary has keys of two types, which JAX cannot sort; hence `Snapshots`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import pennylane as qml
from pennylane import ops
from pennylane.measurements import MeasurementProcess

from diastase.capture.device_errors import UnsupportedTransformError
from diastase.capture.pennylane_compat import (
    debugger_of,
    splitting_at_snapshots,
    transform_name,
)
from diastase.quantum.measurements.measurements import WithSnapshots
from diastase.quantum.settings.circuit_passes import with_steps
from diastase.quantum.settings.qnode_settings import QNodeSettings, classical_result
from diastase.quantum.tapes.tapes import Recorded, Transformed, record_tape, replay, transformed
from diastase_mlir import user_span


@dataclass(frozen=True)
class TransformedCall:
    """A call of a QNode, whose tapes have been made, and not run yet."""

    qnode: qml.QNode
    settings: QNodeSettings
    recorded: Recorded
    transformed: Transformed
    debugger: Any
    """Where the results of snapshots go, if somebody looks at them."""

    def run(self, run: Callable[[qml.QNode], Any], natively: bool) -> Any:
        """Run the tapes; the result has the structure that the quantum function returned.

        `natively`: on a device that runs in Python.
        """
        tapes = self.transformed.tapes
        if self.transformed.is_information:
            return self.transformed.postprocess(tapes)
        if not natively and _seen_by_snapshots(self.settings, tapes):
            seen, result = run(self._qnode(tapes[0], natively))
            return WithSnapshots(seen, self._structured(self.transformed.postprocess([result])))
        result = self.transformed.postprocess([run(self._qnode(tape, natively)) for tape in tapes])
        if self.debugger is not None:
            result = _deliver(self.debugger, result)
        return self._structured(_in_order(result))

    def _qnode(self, tape: Any, natively: bool) -> qml.QNode:
        steps = self.settings.steps.of_tapes
        return with_steps(self.qnode, replay(tape, natively), tape.shots, steps)

    def _structured(self, results: Any) -> Any:
        if self.recorded.tape.shots.has_partitioned_shots:
            return tuple(self._filled(part) for part in results)
        return self._filled(results)

    def _filled(self, results: Any) -> Any:
        """Results in the places of their measurements; as they are, if a transform changed them."""
        measured = self.recorded.tape.measurements
        given = [results] if len(measured) == 1 else results
        if not _are_results(given, len(measured)):
            return results
        of = {id(process): result for process, result in zip(measured, given, strict=True)}
        filled = [
            of[id(leaf)]
            if isinstance(leaf, MeasurementProcess)
            else classical_result(leaf, self.settings.qnode)
            for leaf in self.recorded.returned
        ]
        return jax.tree_util.tree_unflatten(self.recorded.tree, filled)


def _are_results(given: Any, number: int) -> bool:
    """Whether these are the results of so many measurements, not what a transform made of them."""
    if not isinstance(given, Sequence) or len(given) != number:
        return False
    return not any(isinstance(result, Sequence) for result in given)


def prepare(
    qnode: qml.QNode, settings: QNodeSettings, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TransformedCall:
    """Record the quantum function and apply the transforms: all that can fail by being traced."""
    recorded = record_tape(qnode, settings, args, kwargs)
    transforms, debugger = settings.steps.transforms, debugger_of(qnode.device)
    if debugger is not None:
        _refuse_outcomes(settings.qnode, recorded)
        transforms = splitting_at_snapshots(transforms)
    changed = transformed(settings.qnode, recorded.tape, transforms)
    return TransformedCall(qnode, settings, recorded, changed, debugger)


# --- snapshots -----------------------------------------------------------------------------------


class Snapshots(dict[Any, Any]):
    """A dictionary that stays in order, as a pytree."""


jax.tree_util.register_pytree_node(
    Snapshots,
    lambda snapshots: (list(snapshots.values()), tuple(snapshots)),
    lambda tags, values: Snapshots(zip(tags, values, strict=True)),
)


def _seen_by_snapshots(settings: QNodeSettings, tapes: Sequence[Any]) -> bool:
    """Whether a transformed circuit returns what its snapshots see; refuses several of them."""
    with_snapshots = [
        any(isinstance(operator, qml.Snapshot) for operator in tape.operations) for tape in tapes
    ]
    if any(with_snapshots) and len(tapes) > 1:
        reason = "makes several circuits of one with snapshots: use qml.snapshots"
        raise UnsupportedTransformError(
            qnode=settings.qnode, transform=transform_name(settings.steps.transforms[-1]),
            reason=reason, always=True, span=user_span(),
        )  # fmt: skip
    return any(with_snapshots)


def _refuse_outcomes(name: str, recorded: Recorded) -> None:
    """Snapshots are taken by runs of their own, which would find other outcomes each."""
    if any(isinstance(operator, ops.MidMeasure) for operator in recorded.tape.operations):
        reason = "does not go together with mid-circuit measurements"
        raise UnsupportedTransformError(
            qnode=name, transform="snapshots", reason=reason, always=True,
            span=user_span(),
        )  # fmt: skip


def _deliver(debugger: Any, results: Mapping[Any, Any]) -> Any:
    """Give the debugger all results but the QNode's own, which comes last; it is returned."""
    *snapshots, (_, result) = results.items()
    debugger.snapshots = Snapshots({**debugger.snapshots, **dict(snapshots)})
    return result


def _in_order(result: Any) -> Any:
    """A dictionary that JAX can handle, if it is one with keys of several types."""
    if type(result) is dict and len({type(key) for key in result}) > 1:
        return Snapshots(result)
    return result
