"""`qml.snapshots` of a QNode that is compiled: a tape for each snapshot.

PennyLane sets a debugger on the device, calls the QNode, and returns what the debugger has. Our
engine shows nothing on its way, so the tape is split at the snapshots, and the results are put
where a device would put them.

The trap: PennyLane numbers snapshots without a tag, so its dictionary has keys of two types, which
JAX cannot sort; hence `Snapshots`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import pennylane as qml
from pennylane import ops

from diastase.capture.device_errors import UnsupportedTransformError
from diastase.capture.pennylane_compat import transform_name
from diastase.quantum.settings.qnode_settings import QNodeSettings
from diastase.quantum.tapes.recording import Recorded
from diastase_mlir import user_span


class Snapshots(dict[Any, Any]):
    """A dictionary that stays in order, as a pytree."""


jax.tree_util.register_pytree_node(
    Snapshots,
    lambda snapshots: (list(snapshots.values()), tuple(snapshots)),
    lambda tags, values: Snapshots(zip(tags, values, strict=True)),
)


def seen_by_snapshots(settings: QNodeSettings, tapes: Sequence[Any]) -> bool:
    """Whether a transformed circuit returns what its snapshots see; refuses several of them."""
    with_snapshots = [
        any(isinstance(operator, qml.Snapshot) for operator in tape.operations) for tape in tapes
    ]
    if any(with_snapshots) and len(tapes) > 1:
        reason = "makes several circuits of one with snapshots: use qml.snapshots"
        raise UnsupportedTransformError(
            qnode=settings.qnode, transform=transform_name(settings.transforms[-1]), reason=reason,
            always=True, span=user_span(),
        )  # fmt: skip
    return any(with_snapshots)


def refuse_outcomes(name: str, recorded: Recorded) -> None:
    """Snapshots are taken by runs of their own, which would find other outcomes each."""
    if any(isinstance(operator, ops.MidMeasure) for operator in recorded.tape.operations):
        reason = "does not go together with mid-circuit measurements"
        raise UnsupportedTransformError(
            qnode=name, transform="snapshots", reason=reason, always=True,
            span=user_span(),
        )  # fmt: skip


def deliver(debugger: Any, results: Mapping[Any, Any]) -> Any:
    """Give the debugger all results but the QNode's own, which comes last; it is returned."""
    *snapshots, (_, result) = results.items()
    debugger.snapshots = Snapshots({**debugger.snapshots, **dict(snapshots)})
    return result


def in_order(result: Any) -> Any:
    """A dictionary that JAX can handle, if it is one with keys of several types."""
    if type(result) is dict and len({type(key) for key in result}) > 1:
        return Snapshots(result)
    return result
