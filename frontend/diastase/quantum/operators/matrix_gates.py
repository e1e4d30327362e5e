"""Gates given by arrays: a matrix, a diagonal, or the matrix of an operator without other form.

The array may be traced; its shape is known, and must fit the operator's wires.
"""

from typing import Any

import numpy as np

from diastase.capture.pennylane_compat import describe
from diastase.capture.quantum_errors import ParameterTypeError
from diastase.primitives.quantum import diagonal_p, unitary_p
from diastase.quantum.operators.gate_operands import (
    LOOKS_AT_TRACED_VALUES,
    Controls,
    Recorder,
    complex_array,
    silently,
    unsupported,
    wires_of,
)

LARGEST_MATRIX = 8
"""Wires up to which an operator with neither name nor decomposition is applied as a matrix."""


def record_diagonal(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate given by its diagonal, which may be traced."""
    elements, size = operator.data[0], 2 ** len(operator.wires)
    if tuple(np.shape(elements)) != (size,):
        reason = f"a diagonal of shape {tuple(np.shape(elements))} on {len(operator.wires)} wires"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    targets, control_values = wires_of(operator, operator.wires, recorder, controls)
    recorder.advance(
        diagonal_p, complex_array(elements), *targets[1], wires=targets[0],
        control_values=control_values,
    )  # fmt: skip


def record_unitary(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate given by its matrix, which may be traced."""
    _record_matrix_gate(operator, operator.data[0], recorder, controls)


def record_matrix(
    operator: Any, recorder: Recorder, controls: Controls, failure: Exception | None = None
) -> None:
    """The matrix of a small operator; `failure` is why it has no decomposition."""
    if not operator.has_matrix and failure is not None:
        raise unsupported(operator, LOOKS_AT_TRACED_VALUES) from failure
    if not operator.has_matrix:
        raise unsupported(operator, "has neither a decomposition nor a matrix")
    if len(operator.wires) > LARGEST_MATRIX:
        raise unsupported(operator, f"has no decomposition, and {len(operator.wires)} wires")
    matrix = silently(operator, lambda: operator.matrix(wire_order=operator.wires))
    _record_matrix_gate(operator, matrix, recorder, controls)


def _record_matrix_gate(operator: Any, matrix: Any, recorder: Recorder, controls: Controls) -> None:
    size = 2 ** len(operator.wires)
    shape = tuple(np.shape(matrix))
    if shape != (size, size):
        reason = f"a matrix of shape {shape} on {len(operator.wires)} wires"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    targets, control_values = wires_of(operator, operator.wires, recorder, controls)
    recorder.advance(
        unitary_p, complex_array(matrix), *targets[1], wires=targets[0],
        control_values=control_values,
    )  # fmt: skip
