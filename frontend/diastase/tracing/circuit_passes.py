"""Which passes the compiler is to apply to a QNode's circuit.

A QNode carries its own (`diastase.passes`, decorators); one without has those that the program was
compiled with (`qjit(circuit_transform_pipeline=…)`). They become a parameter of the `qnode`
equation, which is there only where there are any.

The trap: PennyLane copies QNodes with all their attributes, except in `QNode.update`, which makes
one anew: passes are applied after it.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pennylane as qml

if TYPE_CHECKING:
    from diastase_mlir import PassCall

_ATTRIBUTE = "_diastase_passes"


class _Default(threading.local):
    passes: tuple[PassCall, ...] = ()


_default = _Default()


@contextmanager
def default_passes(passes: Sequence[PassCall]) -> Generator[None]:
    """Give these passes to QNodes without their own that are called inside."""
    outer, _default.passes = _default.passes, tuple(passes) or _default.passes
    try:
        yield
    finally:
        _default.passes = outer


def with_passes(qnode: qml.QNode, passes: Sequence[PassCall]) -> qml.QNode:
    """A copy of a QNode that has these passes after its own."""
    changed = copy.copy(qnode)
    setattr(changed, _ATTRIBUTE, (*getattr(qnode, _ATTRIBUTE, ()), *passes))
    return changed


def passes_of(qnode: qml.QNode) -> tuple[PassCall, ...]:
    """The passes of a QNode that is called now."""
    return getattr(qnode, _ATTRIBUTE, _default.passes)


def has_own_passes(qnode: qml.QNode) -> bool:
    """Whether passes were asked for this QNode itself."""
    return bool(getattr(qnode, _ATTRIBUTE, ()))


def passes_parameter(passes: tuple[PassCall, ...]) -> dict[str, Any]:
    """The parameter of a QNode's equation, if it has passes."""
    return {"passes": passes} if passes else {}
