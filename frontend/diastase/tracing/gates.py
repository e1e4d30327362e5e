"""From a PennyLane operator to gate equations.

In this order: a gate of the gate table by its name (with any number of controls), a matrix gate,
the operator's decomposition (`decompositions`), recursively; its matrix. Anything else is refused,
with the operator's name.

`controls` are pairs of a wire label and the value that activates the gate. The trap: a global
phase under controls is a phase gate, so it can never be dropped.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax.core import Tracer
from pennylane import ops
from pennylane.allocation import Allocate, Deallocate

from diastase.primitives.quantum import (
    check_wires_p,
    diagonal_p,
    gate_p,
    global_phase_p,
    prepare_p,
    unitary_p,
)
from diastase.tracing.broadcasting import element_of
from diastase.tracing.decompositions import DATA_DEPENDENT, decomposition_of
from diastase.tracing.pennylane import describe
from diastase.tracing.quantum_errors import (
    ParameterTypeError,
    UnsupportedOperationError,
)
from diastase.tracing.state_preparation import amplitudes_of, check_state
from diastase.tracing.wires import WireMap, as_dtype, split_positions
from diastase_mlir import GATES

Controls = tuple[tuple[Any, bool], ...]

LARGEST_MATRIX = 8
"""Wires up to which an operator with neither name nor decomposition is applied as a matrix."""

_LOOKS_AT_TRACED_VALUES = "is built by PennyLane in a way that depends on a traced value"

_OBSERVABLES = (qml.Hermitian, qml.Projector, qml.SparseHamiltonian, ops.Sum, ops.SProd)
"""Operators that PennyLane has a matrix for, but that are no gates."""


def is_no_gate(operator: Any) -> bool:
    """Whether an operator can be an observable only."""
    if isinstance(operator, ops.Prod):
        return any(is_no_gate(factor) for factor in operator.operands)
    return isinstance(operator, _OBSERVABLES)


class Recorder(Protocol):
    """Where gate equations go."""

    wires: WireMap

    @property
    def is_outermost(self) -> bool:
        """Whether this is the QNode's body itself, not a loop or branch in it."""
        ...

    @property
    def is_untouched(self) -> bool:
        """Whether the register is known to be |0...0>."""
        ...

    def advance(self, primitive: Any, *operands: Any, **params: Any) -> None:
        """Apply a primitive `register, *operands -> register` to the current register."""
        ...

    def run_decomposition(
        self, function: Callable[[], Sequence[Any]], controls: Controls
    ) -> Sequence[Any]:
        """The factors that a user's function gives, but those that it has recorded itself."""
        ...


def record(operator: Any, recorder: Recorder, controls: Controls = ()) -> None:
    """Record an operator, under these controls."""
    _refuse_other_than_gates(operator)
    operator = element_of(operator)
    if operator.has_matrix or isinstance(operator, qml.operation.StatePrepBase):
        recorder.wires.take_note(operator.wires, operator.name)
    rule = next((rule for kinds, rule in _RULES if isinstance(operator, kinds)), None)
    if isinstance(operator, qml.Identity):
        _record_nothing(operator, recorder, controls)
    elif _is_named(operator):
        _record_named(operator, recorder, controls)
    elif rule is not None:
        rule(operator, recorder, controls)
    else:
        _record_decomposition(operator, recorder, controls)


def _is_named(operator: Any) -> bool:
    """Whether the engine has the gate by name."""
    return operator.name in GATES and _is_pennylanes(operator)


def _is_pennylanes(operator: Any) -> bool:
    """Whether a name means PennyLane's gate; a class of the user's may have the same one."""
    base = operator.base if isinstance(operator, ops.Adjoint) else operator
    return type(base) is getattr(qml, base.name, None)


def _refuse_other_than_gates(operator: Any) -> None:
    if isinstance(operator, _OBSERVABLES):
        raise _unsupported(operator, "is an observable, not a gate")
    if isinstance(operator, qml.operation.Channel):
        raise _unsupported(operator, "is noise, which a state vector cannot hold")
    if isinstance(operator, ops.MidMeasure):
        raise _unsupported(operator, "of PennyLane: use diastase.measure in compiled programs")
    if isinstance(operator, ops.Conditional):
        raise _unsupported(operator, "of PennyLane: use diastase.cond in compiled programs")


def _record_named(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A row of the gate table."""
    parameters = [_real_scalar(parameter, operator) for parameter in operator.data]
    targets, control_values = _wires(operator, operator.wires, recorder, controls)
    recorder.advance(
        gate_p, *parameters, *targets[1], name=operator.name, num_parameters=len(parameters),
        wires=targets[0], control_values=control_values,
    )  # fmt: skip


def _record_controlled(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Its controls come first; `CNOT`, `CRX`, … have rows of their own and never come here."""
    own = zip(operator.control_wires, map(bool, operator.control_values), strict=True)
    record(operator.base, recorder, (*controls, *own))


def _record_adjoint(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """The adjoint of the base: known to PennyLane, or of its decomposition in reverse order."""
    base = operator.base
    if isinstance(base, ops.Adjoint):
        return record(base.base, recorder, controls)
    if isinstance(base, Deallocate):  # of wires that are restored: they are in |0> before, too
        return recorder.wires.pool.allocate(base.wires, "zero", True, not recorder.is_outermost)
    if isinstance(base, Allocate):
        return recorder.wires.pool.deallocate(base.wires)
    if isinstance(base, ops.Controlled):
        own = zip(base.control_wires, map(bool, base.control_values), strict=True)
        inner = _silently(operator, lambda: ops.Adjoint(base.base))
        return record(inner, recorder, (*controls, *own))
    if base.has_adjoint:
        return record(_silently(operator, base.adjoint), recorder, controls)
    decomposition = decomposition_of(base)
    if decomposition.factors is None:
        return _record_matrix(operator, recorder, controls, decomposition.failure)
    for factor in reversed(decomposition.factors):
        record(_silently(operator, lambda factor=factor: ops.Adjoint(factor)), recorder, controls)
    return None


def _record_diagonal(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate given by its diagonal, which may be traced."""
    elements, size = operator.data[0], 2 ** len(operator.wires)
    if tuple(np.shape(elements)) != (size,):
        reason = f"a diagonal of shape {tuple(np.shape(elements))} on {len(operator.wires)} wires"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    targets, control_values = _wires(operator, operator.wires, recorder, controls)
    recorder.advance(
        diagonal_p, complex_array(elements), *targets[1], wires=targets[0],
        control_values=control_values,
    )  # fmt: skip


def _record_unitary(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A gate given by its matrix, which may be traced."""
    _record_matrix_gate(operator, operator.data[0], recorder, controls)


def _record_preparation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """A state prepared first is written into the register; later, PennyLane's circuit makes it."""
    first = recorder.is_untouched and not controls
    check_state(operator, first)
    if not first or isinstance(operator, qml.BasisState):
        return _record_decomposition(operator, recorder, controls)
    targets, _ = _wires(operator, operator.wires, recorder, ())
    vector = amplitudes_of(operator)
    return recorder.advance(prepare_p, complex_array(vector), *targets[1], wires=targets[0])


def _record_allocation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Choose wires; nothing happens to them, under controls or not."""
    in_region = not recorder.is_outermost
    recorder.wires.pool.allocate(operator.wires, operator.state, operator.restored, in_region)


def _record_deallocation(operator: Any, recorder: Recorder, controls: Controls) -> None:
    recorder.wires.pool.deallocate(operator.wires)


def _record_global_phase(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """exp(-i phi); under controls, a phase gate on the last one of them."""
    _record_nothing(operator, recorder, controls)
    phi = _real_scalar(operator.data[0], operator)
    if not controls:
        return recorder.advance(global_phase_p, phi)
    *others, (wire, value) = controls
    flip = () if value else (_silently(operator, lambda: qml.PauliX(wire)),)
    for gate in flip:
        record(gate, recorder)
    phase = _silently(operator, lambda: qml.PhaseShift(-phi, wire))
    record(phase, recorder, tuple(others))
    for gate in flip:
        record(gate, recorder)
    return None


def _record_nothing(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """Check the wires only, traced ones when the program runs."""
    (known, traced), _ = _wires(operator, operator.wires, recorder, controls)
    if traced:
        recorder.advance(check_wires_p, *traced, wires=known, construct=operator.name)


def _is_made_of_operators(operator: Any) -> bool:
    """Whether its wires are those of other operators, of which two may be one wire."""
    parts = [
        part
        for value in operator.hyperparameters.values()
        for part in (value if isinstance(value, list | tuple) else [value])
    ]
    symbolic = isinstance(operator, ops.CompositeOp | ops.SymbolicOp)
    return symbolic or any(isinstance(part, qml.operation.Operator) for part in parts)


def _record_decomposition(operator: Any, recorder: Recorder, controls: Controls) -> None:
    """The factors of an operator; its matrix, where it has none."""
    if recorder.wires.are_the_devices and not _is_made_of_operators(operator):
        _record_nothing(operator, recorder, controls)
    decomposition = decomposition_of(
        operator, lambda function: recorder.run_decomposition(function, controls)
    )
    if decomposition.factors is None:
        return _record_matrix(operator, recorder, controls, decomposition.failure)
    for factor in decomposition.factors:
        record(factor, recorder, controls)
    return None


def _record_matrix(
    operator: Any, recorder: Recorder, controls: Controls, failure: Exception | None = None
) -> None:
    """The matrix of a small operator; `failure` is why it has no decomposition."""
    if not operator.has_matrix and failure is not None:
        raise _unsupported(operator, _LOOKS_AT_TRACED_VALUES) from failure
    if not operator.has_matrix:
        raise _unsupported(operator, "has neither a decomposition nor a matrix")
    if len(operator.wires) > LARGEST_MATRIX:
        raise _unsupported(operator, f"has no decomposition, and {len(operator.wires)} wires")
    matrix = _silently(operator, lambda: operator.matrix(wire_order=operator.wires))
    _record_matrix_gate(operator, matrix, recorder, controls)


def _record_matrix_gate(operator: Any, matrix: Any, recorder: Recorder, controls: Controls) -> None:
    size = 2 ** len(operator.wires)
    shape = tuple(np.shape(matrix))
    if shape != (size, size):
        reason = f"a matrix of shape {shape} on {len(operator.wires)} wires"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    targets, control_values = _wires(operator, operator.wires, recorder, controls)
    recorder.advance(
        unitary_p, complex_array(matrix), *targets[1], wires=targets[0],
        control_values=control_values,
    )  # fmt: skip


def _wires(
    operator: Any, targets: Sequence[Any], recorder: Recorder, controls: Controls
) -> tuple[tuple[tuple[int | None, ...], list[Any]], tuple[bool, ...]]:
    """Positions of targets, then controls, as primitives take them; and the control values."""
    labels = [*targets, *(wire for wire, _ in controls)]
    positions = recorder.wires.positions(labels, operator.name)
    return split_positions(positions), tuple(value for _, value in controls)


def _real_scalar(parameter: Any, operator: Any) -> Any:
    """A parameter as f64: a number known now, or a traced scalar."""
    if isinstance(parameter, list | tuple):
        parameter = jnp.asarray(parameter)
    if np.ndim(parameter) != 0:
        reason = f"a parameter has the shape {tuple(np.shape(parameter))}, not ()"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    dtype = getattr(parameter, "dtype", None) or np.min_scalar_type(parameter)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        raise ParameterTypeError(operation=describe(operator), reason="a parameter is complex")
    is_number = jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
    if not (is_number or isinstance(parameter, int)):  # an int may have more than 64 bits
        reason = f"a parameter is no number: {parameter!r}"
        raise ParameterTypeError(operation=describe(operator), reason=reason)
    if isinstance(parameter, Tracer):
        return as_dtype(parameter, jnp.float64)
    return np.float64(parameter)


def complex_array(matrix: Any) -> Any:
    """A matrix as complex128: an array known now, or a traced one."""
    if isinstance(matrix, Tracer):
        return as_dtype(matrix, jnp.complex128)
    return np.asarray(matrix, dtype=np.complex128)


def _silently(operator: Any, function: Callable[[], Any]) -> Any:
    """Call PennyLane without recording what it makes; it may look at traced values: refused."""
    with qml.QueuingManager.stop_recording():
        try:
            return function()
        except DATA_DEPENDENT as error:
            raise _unsupported(operator, _LOOKS_AT_TRACED_VALUES) from error


def _unsupported(operator: Any, reason: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(operation=describe(operator), reason=reason)


_RULES: tuple[tuple[Any, Callable[[Any, Recorder, Controls], None]], ...] = (
    (Allocate, _record_allocation),
    (Deallocate, _record_deallocation),
    (qml.GlobalPhase, _record_global_phase),
    (qml.operation.StatePrepBase, _record_preparation),
    (ops.Adjoint, _record_adjoint),
    (ops.ControlledQubitUnitary, _record_controlled),
    (ops.Controlled, _record_controlled),
    (qml.QubitUnitary, _record_unitary),
    (qml.DiagonalQubitUnitary, _record_diagonal),
    (qml.SpecialUnitary, _record_matrix),  # its decomposition looks at the values of its angles
)
"""By class, for what is not in the gate table under its own name; the first that fits."""
