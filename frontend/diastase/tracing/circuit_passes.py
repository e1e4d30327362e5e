"""Which passes the compiler is to apply to a QNode's circuit.

A QNode carries its own (`diastase.passes`, decorators); one without has those that the program was
compiled with (`qjit(circuit_transform_pipeline=…)`). They run as soon as the body is traced, on its
jaxpr (`transformed`): whatever is made of the circuit then is made of what they have left.

The trap: PennyLane copies QNodes with all their attributes, except in `QNode.update`, which makes
one anew: passes are applied after it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pennylane as qml
from jax.extend.core import ClosedJaxpr

import diastase_mlir
from diastase.primitives.define import PRIMITIVES
from diastase.tracing.context import current_settings
from diastase_mlir.jax_internals import Tracer, is_extended

if TYPE_CHECKING:
    from diastase_mlir import PassCall

_KNOWN = (np.ndarray, np.generic, jax.Array, bool, int, float, complex)
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


def transformed(
    jaxpr: ClosedJaxpr, captured: Sequence[Any], passes: tuple[PassCall, ...], name: str
) -> ClosedJaxpr:
    """What passes make of a QNode's body, whose leading operands are `captured`."""
    if not passes:
        return jaxpr
    inputs = jaxpr.jaxpr.invars[: len(captured)]
    known = {
        variable: np.asarray(value)
        for variable, value in zip(inputs, captured, strict=True)
        if isinstance(value, _KNOWN) and not isinstance(value, Tracer)
        if not is_extended(variable.aval.dtype)
    }
    primitives = {name: record.primitive for name, record in PRIMITIVES.items()}
    body = diastase_mlir.TracedBody(name, jaxpr, known, primitives)
    options = current_settings().compiler or diastase_mlir.CompileOptions()
    return diastase_mlir.transform_circuit(body, passes, options)
