"""Which passes the compiler is to apply to a QNode's circuit.

A QNode carries its own (`diastase.passes`, decorators); one without has those that the program was
compiled with (`qjit(circuit_transform_pipeline=…)`). They run as soon as the body is traced, on its
jaxpr (`transformed`): whatever is made of the circuit then is made of what they have left.

The trap: PennyLane copies QNodes with all their attributes, except in `QNode.update`, which makes
one anew: passes are applied after it.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pennylane as qml
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

import diastase_mlir
from diastase.capture.context import current_settings
from diastase.primitives.define import PRIMITIVES
from diastase_mlir.jax_compat import (
    is_extended,
    is_recorded,
    is_recorded_variable,
    tracer_equation,
    tracer_variable,
)

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
    related = _related(dict(zip(inputs, captured, strict=True)))
    body = diastase_mlir.TracedBody(name, jaxpr, known, related, primitives)
    options = current_settings().compiler or diastase_mlir.CompileOptions()
    return diastase_mlir.transform_circuit(body, passes, options)


def _related(captured: Mapping[Any, Any]) -> dict[Any, tuple[Any, bool]]:
    """Inputs that are equal to one before them, or to its opposite, as `circuit(x, -x)` has."""
    first: dict[Hashable, tuple[Any, bool]] = {}
    related: dict[Any, tuple[Any, bool]] = {}
    for variable, value in captured.items():
        if not is_recorded(value) or not is_recorded_variable(value):
            continue
        is_negative, key = _signed(value)
        before, was_negative = first.setdefault(key, (variable, is_negative))
        if before is not variable:
            related[variable] = (before, is_negative != was_negative)
    return related


def _signed(tracer: Any) -> tuple[bool, Hashable]:
    """Whether a value is the opposite of what its key stands for: equal keys, equal values."""
    is_negative, moves = False, list[Hashable]()
    while (equation := tracer_equation(tracer)) is not None:
        operand = equation.in_tracers[0] if len(equation.in_tracers) == 1 else None
        if operand is None or not is_recorded_variable(operand) or not _is_float(tracer, operand):
            break
        if equation.primitive.name == "neg":
            is_negative = not is_negative
        elif equation.primitive.name in diastase_mlir.MOVING:
            moves.append((equation.primitive, str(equation.params)))
        else:
            break
        tracer = operand
    return is_negative, (tracer_variable(tracer), tuple(moves))


def _is_float(*tracers: Any) -> bool:
    dtypes = [getattr(tracer.aval, "dtype", None) for tracer in tracers]
    return all(isinstance(d, np.dtype) and np.issubdtype(d, np.inexact) for d in dtypes)
