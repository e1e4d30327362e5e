"""Which passes the compiler is to apply to a QNode's circuit.

A QNode carries its own (`diastase.passes`, decorators); one without has those that the program was
compiled with (`qjit(circuit_transform_pipeline=…)`). They become a parameter of the `qnode`
equation, which is there only where there are any.

The trap: PennyLane copies QNodes with all their attributes, except in `QNode.update`, which makes
one anew: passes are applied after it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pennylane as qml

from diastase.tracing.context import current_settings

if TYPE_CHECKING:
    from diastase_mlir import PassCall

_ATTRIBUTE = "_diastase_passes"


def with_passes(qnode: qml.QNode, passes: Sequence[PassCall]) -> qml.QNode:
    """A copy of a QNode that has these passes after its own."""
    changed = copy.copy(qnode)
    setattr(changed, _ATTRIBUTE, (*getattr(qnode, _ATTRIBUTE, ()), *passes))
    return changed


def passes_of(qnode: qml.QNode) -> tuple[PassCall, ...]:
    """The passes of a QNode that is called now."""
    return getattr(qnode, _ATTRIBUTE, current_settings().passes)


def has_own_passes(qnode: qml.QNode) -> bool:
    """Whether passes were asked for this QNode itself."""
    return bool(getattr(qnode, _ATTRIBUTE, ()))


def passes_parameter(passes: tuple[PassCall, ...]) -> dict[str, Any]:
    """The parameter of a QNode's equation, if it has passes."""
    return {"passes": passes} if passes else {}
